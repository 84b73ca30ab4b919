//! A diff as people read it: numbered lines, marked where they came or went; the heads of the format are left out.

import { useMemo, useState } from "react";
import { plainText } from "../actions/safe";
import { type DiffFile, countOf, filesOf } from "./diff";

const FOLD_LINES = 40;

export function looksLikeDiff(text: string): boolean {
  return /^(--- |\+\+\+ |@@ )/m.test(text) && /^[+-]/m.test(text);
}

export function Diff({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  const files = useMemo(() => filesOf(plainText(text)), [text]);
  const lines = files.reduce((sum, file) => sum + file.lines.length, 0);
  const long = lines > FOLD_LINES + 6;
  const { added, removed } = countOf(files);
  return (
    <div className="diff" role="group" aria-label={`Changes: ${added} lines added, ${removed} removed`}>
      {shownOf(files, long && !all ? FOLD_LINES : lines).map((file, place) => (
        <FileDiff key={place} file={file} named={files.filter((held) => held.path !== null).length > 1} />
      ))}
      {long && (
        <button type="button" className="link-button" onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? "Show less" : `Show all ${lines} lines`}
        </button>
      )}
    </div>
  );
}

/** The first so many lines. */
function shownOf(files: readonly DiffFile[], most: number): DiffFile[] {
  let left = most;
  return files.flatMap((file) => {
    const lines = file.lines.slice(0, Math.max(0, left));
    left -= file.lines.length;
    return lines.length > 0 ? [{ ...file, lines }] : [];
  });
}

const CHANGES = { changed: "", new: "new", gone: "removed", moved: "moved" };
const SIGNS = { same: " ", added: "+", removed: "-", gap: "", note: "" };

function FileDiff({ file, named }: { file: DiffFile; named: boolean }) {
  const plain = file.lines.every((line) => line.kind === "note");
  if (plain) return <p className="diff-note">{file.lines.map((line) => line.text).join("\n")}</p>;
  return (
    <div className="diff-file">
      {named && file.path !== null && (
        <div className="diff-path">
          {file.path} {CHANGES[file.change] && <span className="muted">{CHANGES[file.change]}</span>}
        </div>
      )}
      <pre tabIndex={0} aria-label={file.path ?? "Changes"}>
        {file.lines.map((line, place) => (
          <span key={place} data-kind={line.kind}>
            <i aria-hidden data-number={line.before ?? ""} />
            <i aria-hidden data-number={line.after ?? ""} />
            {line.kind === "gap" ? `⋯ ${line.text}` : `${SIGNS[line.kind]} ${line.text}`}
            {"\n"}
          </span>
        ))}
      </pre>
    </div>
  );
}
