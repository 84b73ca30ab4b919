import { expect, test } from "vitest";
import { blocksOf } from "./blocks";

test("paragraphs, fences and lists are blocks, and no character is lost", () => {
  const text = "One\ntwo\n\n```js\na\n\nb\n```\n\n- x\n\n- y\n  \n  more\n\nLast\n";
  const blocks = blocksOf(text);
  expect(blocks).toEqual(["One\ntwo\n\n", "```js\na\n\nb\n```\n\n", "- x\n\n- y\n  \n  more\n\n", "Last\n"]);
  expect(blocks.join("")).toBe(text);
});

test("a fence that is still open is one block, whatever is in it", () => {
  expect(blocksOf("a\n\n````\n```\n\nx\n\n# y")).toEqual(["a\n\n", "````\n```\n\nx\n\n# y"]);
});

test("display math keeps its empty lines", () => {
  expect(blocksOf("$$\na\n\nb\n$$\n\nc")).toEqual(["$$\na\n\nb\n$$\n\n", "c"]);
});

test("a text with link definitions stays whole", () => {
  const text = "see [a]\n\nmore\n\n[a]: https://example.test\n";
  expect(blocksOf(text)).toEqual([text]);
});

test("growing a text changes its last block only", () => {
  const text = "# Title\n\nSome words.\n\n1. one\n2. two\n\n```\ncode\n```\n\nEnd of it.";
  let before: string[] = [];
  for (let length = 1; length <= text.length; length += 1) {
    const now = blocksOf(text.slice(0, length));
    expect(now.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    before = now;
  }
});
