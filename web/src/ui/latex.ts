//! LaTeX's own brackets, `\\(x\\)` and `\\[x\\]`, as the dollars that remark-math understands; code, links and formulas stay as they are.

import type { Nodes, Root } from "mdast";
import type { Processor } from "unified";

type Range = readonly [start: number, end: number];

/** A remark plugin: reads a text twice, first to learn what must not be touched. */
export function remarkLatexBrackets(this: Processor): void {
  const { parser } = this;
  if (!parser) return;
  this.parser = (text, file) => {
    const changed = inDollars(text, untouchable(parser(text, file) as Root));
    return parser(changed, file);
  };
}

const UNTOUCHABLE = new Set<string>(["code", "inlineCode", "math", "inlineMath", "html", "link", "image", "definition"]);

function untouchable(node: Nodes): Range[] {
  const { start, end } = node.position ?? {};
  if (UNTOUCHABLE.has(node.type) && start?.offset !== undefined && end?.offset !== undefined) return [[start.offset, end.offset]];
  return "children" in node ? node.children.flatMap(untouchable) : [];
}

function inDollars(text: string, ranges: readonly Range[]): string {
  let at = 0;
  let changed = "";
  for (const [start, end] of [...ranges, [text.length, text.length] as const]) {
    changed += replaced(text.slice(at, start), text.slice(text.lastIndexOf("\n", at - 1) + 1, at)) + text.slice(start, end);
    at = end;
  }
  return changed;
}

/** `before` is what stands on the line before the text. */
function replaced(text: string, before: string): string {
  const shown = text.replace(/(?<!\\)\\\[([\s\S]+?)\\\]/g, (whole: string, inner: string, at: number) => {
    const begins = (before + text.slice(0, at)).split("\n").at(-1) ?? "";
    const ends = text.slice(at + whole.length).split("\n", 1)[0] ?? "";
    // On lines of its own it is a block, as deep in lists and quotations as it was.
    const isBlock = /^[\s>]*$/.test(begins) && ends.trim() === "";
    return isBlock ? `$$\n${begins}${inner.trim()}\n${begins}$$` : `$$${inner.trim().replace(/\s+/g, " ")}$$`;
  });
  return shown.replace(/(?<!\\)\\\((.+?)\\\)/g, (_, inner: string) => `$${inner.trim()}$`);
}
