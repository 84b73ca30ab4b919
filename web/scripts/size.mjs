// Says how much JavaScript the chat view loads, compressed, and fails above the budget.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const BUDGET = 250_000;
const dist = join(dirname(fileURLToPath(import.meta.url)), "../dist");
const seen = new Set();

/** A script and those it imports at once; what it loads later does not count. */
function add(path) {
  if (seen.has(path)) return;
  seen.add(path);
  const text = readFileSync(join(dist, path), "utf8");
  for (const [, name] of text.matchAll(/(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g)) add(`assets/${name}`);
}

const html = readFileSync(join(dist, "index.html"), "utf8");
for (const [, path] of html.matchAll(/(?:src|href)="\/(assets\/[\w.-]+\.js)"/g)) add(path);
const size = [...seen].reduce((sum, path) => sum + gzipSync(readFileSync(join(dist, path)), { level: 9 }).length, 0);
console.log(`the chat view loads ${(size / 1000).toFixed(1)} kB of compressed JavaScript in ${seen.size} files; the budget is ${BUDGET / 1000} kB`);
if (/<(script|style)(?![^>]*\bsrc=)[^>]*>[^<]/.test(html)) {
  console.error("index.html has something inline, which the page's policy forbids");
  process.exit(1);
}
process.exit(size > BUDGET ? 1 : 0);
