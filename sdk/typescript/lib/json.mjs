// JSON that loses no integer: what a number cannot hold becomes a BigInt, and goes out as it came.

import { randomUUID } from "node:crypto";

// Nobody can write it into a text by chance or on purpose.
const MARK = `int ${randomUUID()} `;
const LENGTH = 16; // Integers with fewer digits fit into a number.
const STRING_OR_INTEGER = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");

/** Reads JSON. */
export function parse(text) {
  if (!mayHaveLongInteger(text)) return JSON.parse(text);
  const safe = (token) => token[0] === '"' || Number.isSafeInteger(Number(token));
  const marked = text.replace(STRING_OR_INTEGER, (token) => (safe(token) ? token : `"${MARK}${token}"`));
  return JSON.parse(marked, (_, value) =>
    typeof value === "string" && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value);
}

/** Writes JSON on one line. */
export function stringify(value) {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!String(error.message).includes("BigInt")) throw error;
    const marked = JSON.stringify(value, (_, it) => (typeof it === "bigint" ? `${MARK}${it}` : it));
    return marked.replace(MARKED, "$1");
  }
}

/** Looks at every sixteenth letter only, for a long integer has one of them. It is on the path of every line. */
function mayHaveLongInteger(text) {
  for (let at = LENGTH - 1; at < text.length; at += LENGTH) {
    if (!isDigit(text, at)) continue;
    let [start, end] = [at, at + 1];
    while (isDigit(text, start - 1)) start -= 1;
    while (isDigit(text, end)) end += 1;
    if (end - start >= LENGTH && /[[:,\s-]/.test(text[start - 1]) && /[\],}\s]/.test(text[end])) return true;
  }
  return false;
}

function isDigit(text, at) {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}
