import { expect, test } from "vitest";
import { OwnRuns } from "./own";

test("the event of an action that ran here is not news, whether it comes before or after the answer", () => {
  let now = 0;
  const runs = new OwnRuns(() => now);
  const answered = runs.begin("s", "probe", "show");
  expect(runs.tells("s", "probe", "show")).toBe(true);
  answered();
  expect(runs.tells("s", "probe", "show")).toBe(false);
  runs.begin("s", "probe", "show")();
  now = 1_000;
  expect(runs.tells("other", "probe", "show")).toBe(false);
  expect(runs.tells("s", "probe", "show")).toBe(true);
});

test("a run whose event never came is forgotten", () => {
  let now = 0;
  const runs = new OwnRuns(() => now);
  runs.begin("s", "probe", "show")();
  now = 30_001;
  expect(runs.tells("s", "probe", "show")).toBe(false);
});
