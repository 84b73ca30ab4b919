//! A unified diff, taken apart: files, and lines with their numbers before and after. Pure.

import { type JsonMap, isMap } from "../api/types";

export interface DiffLine {
  kind: "same" | "added" | "removed" | "gap" | "note";
  text: string;
  before: number | null;
  after: number | null;
}

export interface DiffFile {
  /** Where the file is now, or where it was if it is gone; `null` if the diff does not say. */
  path: string | null;
  change: "changed" | "new" | "gone" | "moved";
  lines: DiffLine[];
}

export function filesOf(text: string): DiffFile[] {
  const files: DiffFile[] = [];
  let file: DiffFile | null = null;
  let [before, after, leftBefore, leftAfter] = [0, 0, 0, 0];
  let was: string | null = null;
  const begin = (path: string | null, change: DiffFile["change"]) => {
    file = { path, change, lines: [] };
    files.push(file);
    return file;
  };
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const inside = leftBefore > 0 || leftAfter > 0;
    if (!inside && line.startsWith("--- ")) {
      was = pathOf(line);
      continue;
    }
    if (!inside && line.startsWith("+++ ")) {
      const now = pathOf(line);
      begin(now ?? was, was === null ? "new" : now === null ? "gone" : was === now ? "changed" : "moved");
      continue;
    }
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/.exec(line);
    if (!inside && hunk) {
      const held: DiffFile = file ?? begin(null, "changed");
      [before, after] = [Number(hunk[1]), Number(hunk[3])];
      [leftBefore, leftAfter] = [Number(hunk[2] ?? 1), Number(hunk[4] ?? 1)];
      const skipped = held.lines.length > 0 || Math.max(before, after) > 1;
      if (skipped) held.lines.push({ kind: "gap", text: hunk[5] ?? "", before: null, after: null });
      continue;
    }
    const held: DiffFile = file ?? begin(null, "changed");
    if (inside && line.startsWith("+")) {
      held.lines.push({ kind: "added", text: line.slice(1), before: null, after });
      [after, leftAfter] = [after + 1, leftAfter - 1];
    } else if (inside && line.startsWith("-")) {
      held.lines.push({ kind: "removed", text: line.slice(1), before, after: null });
      [before, leftBefore] = [before + 1, leftBefore - 1];
    } else if (inside && (line.startsWith(" ") || line === "")) {
      held.lines.push({ kind: "same", text: line.slice(1), before, after });
      [before, after, leftBefore, leftAfter] = [before + 1, after + 1, leftBefore - 1, leftAfter - 1];
    } else {
      // Words of the tool around hunks, or where it left something out: the hunk ends here.
      [leftBefore, leftAfter] = [0, 0];
      held.lines.push({ kind: "note", text: line, before: null, after: null });
    }
  }
  return files;
}

function pathOf(line: string): string | null {
  const path = line.slice(4).split("\t", 1)[0] ?? "";
  return path === "/dev/null" ? null : path.replace(/^[ab]\//, "");
}

/** How many lines came and went, as the display of a tool says, or else its diff, which may have been cut. */
export function changesOf(display: JsonMap): { added: number; removed: number } {
  const told = Array.isArray(display.files) ? display.files.filter(isMap) : [];
  if (told.length === 0) return countOf(filesOf(typeof display.diff === "string" ? display.diff : ""));
  const sum = (key: string) => told.reduce((all, file) => all + (typeof file[key] === "number" ? file[key] : 0), 0);
  return { added: sum("added"), removed: sum("removed") };
}

export function countOf(files: readonly DiffFile[]): { added: number; removed: number } {
  const lines = files.flatMap((file) => file.lines);
  return { added: lines.filter((line) => line.kind === "added").length, removed: lines.filter((line) => line.kind === "removed").length };
}
