//! A long text, its end folded away.

import { useState } from "react";

const FOLD_LINES = 24;

/** A text without its end, if it is long, and what says the rest. */
function useFold(text: string): { shown: string; toggle: React.ReactNode } {
  const [all, setAll] = useState(false);
  const lines = text.split("\n");
  if (lines.length <= FOLD_LINES + 4) return { shown: text, toggle: null };
  return {
    shown: all ? text : lines.slice(0, FOLD_LINES).join("\n"),
    toggle: (
      <button type="button" className="link-button" onClick={() => setAll(!all)} aria-expanded={all}>
        {all ? "Show less" : `Show all ${lines.length} lines`}
      </button>
    ),
  };
}

/** Text of a tool. */
export function Folded({ text }: { text: string }) {
  const { shown, toggle } = useFold(text);
  if (text.trim() === "") return <p className="muted">Nothing.</p>;
  return (
    <>
      <pre tabIndex={0}>{shown}</pre>
      {toggle}
    </>
  );
}

/** Text of a person, as it was written. */
export function FoldedWords({ text }: { text: string }) {
  const { shown, toggle } = useFold(text);
  return (
    <>
      {shown}
      {toggle && <div>{toggle}</div>}
    </>
  );
}
