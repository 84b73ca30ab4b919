//! Where completions apply, and what the text is once one was taken. Pure.

import { type Completion, type Json, isMap } from "../api/types";

/** The completions in an answer, without what cannot be shown. */
export function readCompletions(found: readonly Json[]): Completion[] {
  return found.filter(isMap).flatMap((item) => {
    const replacement = typeof item.replacement === "string" ? item.replacement : typeof item.text === "string" ? item.text : null;
    if (replacement === null) return [];
    const display = typeof item.display === "string" ? item.display : replacement;
    const meta = item.display_meta ?? item.meta ?? item.description;
    return [{ ...item, replacement, display, start: typeof item.start === "number" ? item.start : 0, meta: typeof meta === "string" ? meta : undefined } as Completion];
  });
}

/** Whether the text before the cursor may have completions: after `/` at the beginning, or `@` at a word. */
export function mayComplete(before: string): boolean {
  return /^\/\S*$/.test(before) || /(^|\s)@("[^"]*|\S*)$/.test(before);
}

export interface Edited {
  text: string;
  cursor: number;
}

/** The text with a completion in it. `start` counts characters before the cursor, as a negative number. */
export function complete(text: string, cursor: number, start: number, replacement: string): Edited {
  const before = [...text.slice(0, cursor)];
  const kept = before.slice(0, before.length + Math.min(0, Math.max(start, -before.length))).join("");
  return { text: kept + replacement + text.slice(cursor), cursor: kept.length + replacement.length };
}

/** Whether a completion has nothing to add to what is written. */
export function isComplete(text: string, cursor: number, { start, replacement }: Completion): boolean {
  return complete(text, cursor, start, replacement).text.trim() === text.trim();
}

/** What is left of completions that were found behind `then`, now that the text goes up to `now`: those that what was typed since leads to. */
export function narrowed(list: readonly Completion[], then: string, now: string): readonly Completion[] {
  if (now === then) return list;
  if (!now.startsWith(then)) return [];
  const written = [...now];
  const more = written.length - [...then].length;
  return list.flatMap((completion) => {
    const start = completion.start - more;
    const typed = written.slice(start).join("").toLowerCase();
    return completion.replacement.toLowerCase().startsWith(typed) ? [{ ...completion, start }] : [];
  });
}
