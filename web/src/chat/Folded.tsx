//! Text of a tool, its end folded away if it is long.

import { useState } from "react";

const FOLD_LINES = 24;

export function Folded({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  const lines = text.split("\n");
  const long = lines.length > FOLD_LINES + 4;
  if (text.trim() === "") return <p className="muted">Nothing.</p>;
  return (
    <>
      <pre tabIndex={0}>{long && !all ? lines.slice(0, FOLD_LINES).join("\n") : text}</pre>
      {long && (
        <button type="button" className="link-button" onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? "Show less" : `Show all ${lines.length} lines`}
        </button>
      )}
    </>
  );
}
