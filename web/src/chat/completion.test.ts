import { expect, test } from "vitest";
import { complete, isComplete, mayComplete, narrowed, readCompletions } from "./completion";

test("commands complete at the beginning, mentions at a word", () => {
  expect(["/", "/mo", "@", "see @src/ma", 'see @"my no'].map(mayComplete)).toEqual([true, true, true, true, true]);
  expect(["", "a /mo", "a@b", "/model x", "@a b"].map(mayComplete)).toEqual([false, false, false, false, false]);
});

// covers: J-27
test("a completion takes the place of characters before the cursor", () => {
  expect(complete("see @ma now", 7, -3, "@main.rs")).toEqual({ text: "see @main.rs now", cursor: 12 });
  expect(complete("a", 1, 0, "b")).toEqual({ text: "ab", cursor: 2 });
  // Characters, not units of UTF-16, and never more than there are.
  expect(complete("👋@é", 4, -2, "@x")).toEqual({ text: "👋@x", cursor: 4 });
  expect(complete("ab", 2, -9, "c")).toEqual({ text: "c", cursor: 1 });
});

// covers: J-25
test("what is no completion is dropped", () => {
  expect(readCompletions([1, "x", { display: "no text" }, { replacement: "/model ", start: -1, display: "/model" }])).toMatchObject([{ replacement: "/model ", start: -1, display: "/model" }]);
});

test("of completions for a text that grew, those are left that it leads to", () => {
  const found = readCompletions(["/tell ", "/title "].map((replacement) => ({ replacement, start: -2 })));
  expect(narrowed(found, "/t", "/t")).toBe(found);
  expect(narrowed(found, "/t", "/tI")).toMatchObject([{ replacement: "/title ", start: -3 }]);
  expect(narrowed(found, "/t", "/title")).toMatchObject([{ replacement: "/title ", start: -6 }]);
  expect(narrowed(found, "/t", "/tu")).toEqual([]);
  expect(narrowed(found, "/t", "/m")).toEqual([]);
  const [left] = narrowed(found, "/t", "/title");
  expect(left && complete("/title", 6, left.start, left.replacement).text).toBe("/title ");
});

test("a command that is typed in full needs no completion", () => {
  const [title] = readCompletions([{ replacement: "/title ", start: -6 }]);
  expect(title && isComplete("/title", 6, title)).toBe(true);
  expect(title && isComplete("x /titl", 7, { ...title, start: -5 })).toBe(false);
});
