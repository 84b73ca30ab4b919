import { expect, test } from "vitest";
import { csvOf, figuresOf, lastDays } from "./usage";

const tally = (input_tokens: number, output_tokens: number, cost: number) => ({ requests: 1, input_tokens, output_tokens, cost });

const usage = {
  session: { total: tally(5, 6, 0.1) },
  days: {
    "2026-01-02": { total: tally(30, 3, 0.3), agents: { mate: tally(20, 2, 0.2), '=odd,"name"': tally(10, 1, 0.1) }, models: {}, plugins: { titles: tally(1, 1, 0) } },
    "2026-01-01": { total: tally(10, 1, 0.1), agents: { mate: tally(10, 1, 0.1) } },
  },
};

test("figures are summed over the days, the largest first", () => {
  const { session, days, agents } = figuresOf(usage);
  expect(session?.input).toBe(5);
  expect(days.map((day) => `${day.name} ${day.input}`)).toEqual(["2026-01-01 10", "2026-01-02 30"]);
  expect(agents.map((agent) => `${agent.name} ${agent.input} ${agent.calls}`)).toEqual(["mate 30 2", '=odd,"name" 10 1']);
});

test("a spreadsheet gets names as names", () => {
  const lines = csvOf(figuresOf(usage)).split("\r\n");
  expect(lines[0]).toBe("by,name,requests,input_tokens,output_tokens,cost_dollars");
  expect(lines).toContain("day,2026-01-01,1,10,1,0.1");
  expect(lines).toContain(`agent,"'=odd,""name""",1,10,1,0.1`);
  expect(lines.at(-1)).toBe("");
});

test("days without use are days, too", () => {
  const { days } = figuresOf(usage);
  const shown = lastDays(days, "2026-01-04", 5).map((day) => `${day.name} ${day.input}`);
  expect(shown).toEqual(["2025-12-31 0", "2026-01-01 10", "2026-01-02 30", "2026-01-03 0", "2026-01-04 0"]);
  expect(lastDays(days, "2026-01-01", 2).map((day) => day.name)).toEqual(["2026-01-01", "2026-01-02"]);
});

test("plugins that asked models of their own are counted by name", () => {
  expect(figuresOf(usage).plugins).toEqual([{ name: "titles", calls: 1, input: 1, output: 1, cost: 0 }]);
});
