import { expect, test } from "vitest";
import type { TraceEntry } from "../api/types";
import { timelineSvg } from "./timelineSvg";
import { changeOf, timelineOf } from "./timeline";

const entry = (parts: Partial<TraceEntry>): TraceEntry => ({ kind: "hook", start_us: 0, duration_us: 0, outcome: "ok", ...parts });

const trace = [
  entry({ plugin: "mentions", hook: "context_providers", start_us: 10, duration_us: 50, change: null }),
  entry({ plugin: "slow", hook: "get_actions", start_us: 1, duration_us: 9_000, change: [{}] }),
  entry({ plugin: "scripted", hook: "initialize_request", start_us: 150, duration_us: 60, change: { native_messages: null, state: { patch: {} } } }),
  entry({ kind: "model_call", detail: { step: 0, provider: "openai", model: "gpt", usage: { input_tokens: 12, output_tokens: 3, cost: 0.01 } }, start_us: 100, duration_us: 5_000 }),
  entry({ kind: "tool_call", detail: { step: 0, call_id: "c1", tool: "shell" }, start_us: 5_200, duration_us: 300 }),
  entry({ plugin: "shell", hook: "stream_tool", start_us: 5_210, duration_us: 200, change: "out" }),
  entry({ plugin: "todo", hook: "context_providers", start_us: 5, duration_us: 40, change: ["x"] }),
  entry({ plugin: "todo", hook: "execute_action", action: "a", lifecycle: "request_complete", start_us: 6_000, duration_us: 2_000, outcome: "error" }),
];

test("rows stand in the order they began, hooks inside of their call, and what only answers questions is left out", () => {
  const { rows, length, hidden } = timelineOf(trace, false);
  expect(rows.map((row) => `${"> ".repeat(row.depth)}${row.group} ${row.label} ${row.detail} ${row.change}`.trim())).toEqual([
    "hook todo context_providers 1 item",
    "model Model call 1 openai/gpt",
    "> hook scripted initialize_request state",
    "tool shell",
    "hook todo a at request_complete",
  ]);
  expect(rows[1]?.usage).toEqual({ input_tokens: 12, output_tokens: 3, cost: 0.01 });
  expect(length).toBe(9_001);
  expect(hidden).toBe(3);
});

test("every hook is there for those who want to see it", () => {
  const { rows, hidden } = timelineOf(trace, true);
  expect(hidden).toBe(0);
  expect(rows.map((row) => row.label)).toEqual(["slow", "todo", "mentions", "Model call 1", "scripted", "shell", "shell", "todo"]);
});

test("what each plugin did is summed up", () => {
  expect(timelineOf(trace, false).byPlugin).toEqual([
    { plugin: "slow", calls: 1, time: 9_000, changes: 0, failures: 0 },
    { plugin: "todo", calls: 2, time: 2_040, changes: 1, failures: 1 },
    { plugin: "shell", calls: 1, time: 200, changes: 0, failures: 0 },
    { plugin: "scripted", calls: 1, time: 60, changes: 1, failures: 0 },
    { plugin: "mentions", calls: 1, time: 50, changes: 0, failures: 0 },
  ]);
});

test("a change is told in few words", () => {
  const words = (hook: string, change: TraceEntry["change"]) => changeOf(entry({ plugin: "p", hook, change }));
  expect(words("execute_action", { decision: "allow" })).toBe("decision allow");
  expect(words("execute_action", { status: "noop", message: "there is room" })).toBe("");
  expect(words("finalize", { state: {}, messages: [1] })).toBe("messages");
  expect(words("call_api", { final_messages: [1] })).toBe("");
  expect(words("before_tool_call", "x".repeat(80))).toBe(`${"x".repeat(60)}…`);
});

test("a timeline is a picture of its own, and names are names in it", () => {
  const svg = timelineSvg(timelineOf([...trace, entry({ plugin: "<script>", hook: "finalize", start_us: 1, duration_us: 2_000, change: "x" })], false));
  expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" /);
  expect(svg).toContain("Model call 1");
  expect(svg).toContain("&lt;script&gt;");
  expect(svg).not.toContain("<script>");
});

test("what a plugin was refused is told with its name", () => {
  const refused = entry({ kind: "refused", outcome: "error", detail: { plugin: "probe", operation: "send_request" } });
  expect(timelineOf([refused], true).rows).toMatchObject([{ label: "refused", detail: "probe send_request", failed: true }]);
});
