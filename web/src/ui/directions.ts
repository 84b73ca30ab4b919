//! Each block of a text reads in the direction of its own words.

import type { Element, ElementContent, Root, RootContent } from "hast";

const BLOCKS = new Set(["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "blockquote", "table"]);

/** A rehype plugin: a list, a quotation or a table has one direction, on whose side its marks stand; what is inside of it looks at its own words by style. */
export function rehypeDirections() {
  return (tree: Root) => tree.children.forEach(direct);
}

function direct(node: RootContent | ElementContent): void {
  if (node.type !== "element") return;
  if (BLOCKS.has(node.tagName)) (node as Element).properties.dir = "auto";
  else node.children.forEach(direct);
}
