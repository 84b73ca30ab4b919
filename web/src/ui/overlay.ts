//! Which of the page's own dialogs is open.

import { Store, useStore } from "../state/store";

export type Overlay = "palette" | "settings" | "session-settings" | "shortcuts" | "rename" | "share" | null;

/** Those that do something with the session in view. */
const OF_SESSION: readonly Overlay[] = ["session-settings", "rename", "share"];

const overlay = new Store<Overlay>(null);

export function openOverlay(which: Overlay): void {
  overlay.set(which);
}

export function currentOverlay(): Overlay {
  return overlay.get();
}

export function useOverlay(): Overlay {
  return useStore(overlay, (held) => held);
}

/** Closes a dialog that was opened for a session which is not in view any more. */
export function leaveSession(): void {
  if (OF_SESSION.includes(overlay.get())) overlay.set(null);
}

/** Whether any dialog is open, of the page or of a plugin. */
export function isDialogOpen(): boolean {
  return document.querySelector('[role="dialog"]') !== null;
}
