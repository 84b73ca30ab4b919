//! Formulas that are wider than the text scroll: browsers do not scroll what they draw them in.

import type { Element, ElementContent, Root, RootContent } from "hast";

/** So many letters of a formula in a line may be wider than a phone. */
const LONG = 30;

/** A rehype plugin for what KaTeX made. */
export function rehypeFormulas() {
  return (tree: Root) => tree.children.forEach(frame);
}

function frame(node: RootContent | ElementContent): void {
  if (node.type !== "element") return;
  const shown = node.tagName === "span" ? formulaIn(node) : null;
  if (shown?.properties.display === "block") {
    Object.assign(node, { tagName: "div" });
    node.properties = { className: ["formula"], tabIndex: 0, role: "group", ariaLabel: "Formula" };
  } else {
    if (node.tagName === "p" && node.children.some(isLong)) Object.assign(node.properties, { className: ["has-formula"], tabIndex: 0 });
    node.children.forEach(frame);
  }
}

function formulaIn(node: ElementContent): Element | null {
  const inside = node.type === "element" ? node.children[0] : undefined;
  return inside?.type === "element" && inside.tagName === "math" ? inside : null;
}

/** Whether it is a formula in a line, as long as many letters. */
function isLong(node: ElementContent): boolean {
  const formula = formulaIn(node);
  return formula !== null && sourceIn(formula).length > LONG;
}

/** What a formula is written as, which stands beside what is drawn. */
function sourceIn(node: Element): string {
  const texts = node.children.map((child) => {
    if (child.type === "text") return node.tagName === "annotation" ? child.value : "";
    return child.type === "element" ? sourceIn(child) : "";
  });
  return texts.join("");
}
