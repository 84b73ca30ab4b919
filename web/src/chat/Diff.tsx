//! A unified diff with its lines marked.

import { useState } from "react";
import { plainText } from "../actions/safe";

const FOLD_LINES = 40;

export function looksLikeDiff(text: string): boolean {
  return /^(--- |\+\+\+ |@@ )/m.test(text) && /^[+-]/m.test(text);
}

export function Diff({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  const lines = plainText(text).replace(/\n$/, "").split("\n");
  const long = lines.length > FOLD_LINES + 6;
  const shown = long && !all ? lines.slice(0, FOLD_LINES) : lines;
  const added = lines.filter((line) => kind(line) === "added").length;
  const removed = lines.filter((line) => kind(line) === "removed").length;
  return (
    <div className="diff">
      <div className="diff-head">
        <span className="added">+{added}</span> <span className="removed">−{removed}</span>
      </div>
      <pre tabIndex={0} aria-label={`Changes: ${added} lines added, ${removed} removed`}>
        {shown.map((line, place) => (
          <span key={place} data-kind={kind(line)}>
            {line || " "}
            {"\n"}
          </span>
        ))}
      </pre>
      {long && (
        <button type="button" className="link-button" onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? "Show less" : `Show all ${lines.length} lines`}
        </button>
      )}
    </div>
  );
}

function kind(line: string): "added" | "removed" | "place" | "file" | undefined {
  if (line.startsWith("+++ ") || line.startsWith("--- ")) return "file";
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  return line.startsWith("@@") ? "place" : undefined;
}
