//! Which of the page's own dialogs is open.

import { Store, useStore } from "../state/store";

export type Overlay = "palette" | "settings" | "session-settings" | "shortcuts" | "rename" | "share" | null;

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
