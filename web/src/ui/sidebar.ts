//! Whether the list of sessions is shown. On small screens it lies over the chat and begins closed.

import { useSyncExternalStore } from "react";
import { Store, useStore } from "../state/store";
import { remembered } from "./remembered";

const NARROW = "(max-width: 760px)";
const kept = remembered<boolean>("orlop.sidebar", true);
const shown = new Store<boolean>(isNarrow() ? false : kept.get());

export function isNarrow(): boolean {
  return matchMedia(NARROW).matches;
}

/** Whether the screen is small, also after it was turned. */
export function useNarrow(): boolean {
  return useSyncExternalStore((changed) => {
    const query = matchMedia(NARROW);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, isNarrow);
}

export function setSidebar(open: boolean): void {
  shown.set(open);
  if (!isNarrow()) kept.set(open);
}

export function sidebarShown(): boolean {
  return shown.get();
}

export function useSidebar(): boolean {
  return useStore(shown, (held) => held);
}
