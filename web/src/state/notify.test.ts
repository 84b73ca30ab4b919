import { expect, test } from "vitest";
import { worthANote } from "./notify";

test("somebody who looks elsewhere is told of long turns and of questions", () => {
  const told = (kind: "done" | "failed" | "asking", took: number, hidden = true) => worthANote({ kind, took, hidden });
  expect([told("done", 12_000), told("failed", 10_000), told("asking", 0)]).toEqual([true, true, true]);
  expect([told("done", 9_999), told("done", 60_000, false), told("asking", 0, false)]).toEqual([false, false, false]);
});
