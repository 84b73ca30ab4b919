//! Listens for the keys of the page.

import { useEffect } from "react";
import { grouped, hitIn } from "../sessions/list";
import { type Page, usePage } from "../state/page";
import { isComposing } from "./keys";
import { currentOverlay, isDialogOpen, openOverlay } from "./overlay";
import { type ShortcutId, shortcutOf } from "./shortcuts";
import { toggleSidebar } from "./sidebar";

export function useShortcuts(): void {
  const page = usePage();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isComposing(event)) return;
      const id = shortcutOf(event);
      if (!id || (isDialogOpen() && !isOfDialogs(id)) || (id === "stop" && inOtherField(event.target))) return;
      if (run(id, page)) event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [page]);
}

/** Whether a key counts in front of the page, too: a dialog of the page gives way to another. Behind it nothing must change. */
function isOfDialogs(id: ShortcutId): boolean {
  return currentOverlay() !== null && (id === "palette" || id === "settings" || id === "shortcuts");
}

/** Whether a key was pressed in a field that has a use for Esc of its own: any but the one for messages. */
function inOtherField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.id !== "composer" && target.matches("input, textarea, select");
}

/** Does what a shortcut says; `false` leaves the key to the browser. */
function run(id: ShortcutId, page: Page): boolean {
  switch (id) {
    case "palette":
    case "settings":
    case "shortcuts":
      openOverlay(id);
      return true;
    case "new":
      page.go(null);
      return true;
    case "previous":
      return step(page, -1);
    case "next":
      return step(page, 1);
    case "composer":
      document.getElementById("composer")?.focus();
      return true;
    case "stop":
      return page.chat.stop();
    case "copy-code":
      return clickLast("[data-copy-code]");
    case "copy-answer":
      return clickLast('.answer [aria-label="Copy answer"]');
    case "sidebar":
      toggleSidebar(page);
      return true;
    case "inspector":
      page.store.patch({ panel: page.store.get().panel ? null : "inspector" });
      return true;
  }
}

function step(page: Page, by: number): boolean {
  const { list, openId } = page.store.get();
  const rows = grouped(list.sessions, new Date()).flatMap((group) => group.rows);
  const at = rows.findIndex(({ members }) => members.some(({ session_id }) => session_id === openId));
  const next = rows[at < 0 ? 0 : at + by]?.newest;
  if (next) page.go(next.session_id, hitIn(next));
  return true;
}

function clickLast(selector: string): boolean {
  const last = [...document.querySelectorAll<HTMLElement>(selector)].at(-1);
  last?.click();
  return last !== undefined;
}
