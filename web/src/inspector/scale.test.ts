import { expect, test } from "vitest";
import { ticksOf, ticksOver } from "./scale";

test("marks are round numbers, few of them, and never beyond the end", () => {
  expect(ticksOf(593, 4)).toEqual([0, 200, 400]);
  expect(ticksOf(1_000, 4)).toEqual([0, 500, 1_000]);
  expect(ticksOf(0.9, 4)).toEqual([0, 0.5]);
  expect(ticksOf(0, 4)).toEqual([0]);
});

test("a scale to draw columns against reaches over the highest", () => {
  expect(ticksOver(593, 4)).toEqual([0, 200, 400, 600]);
  expect(ticksOver(600, 3)).toEqual([0, 200, 400, 600]);
  expect(ticksOver(0, 3)).toEqual([0, 1]);
});
