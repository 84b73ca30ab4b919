//! Whether the list of sessions is shown. On small screens it lies over the chat and begins closed.

import type { Page } from "../state/page";
import { Store, useStore } from "../state/store";
import { useMedia } from "./media";
import { remembered } from "./remembered";

const NARROW = "(max-width: 760px)";
/** Up to here the inspector takes the place of the list; the styles say so, too. */
const NO_ROOM = "(max-width: 1080px)";
const kept = remembered<boolean>("orlop.sidebar", true);
const shown = new Store<boolean>(isNarrow() ? false : kept.get());

export function isNarrow(): boolean {
  return matchMedia(NARROW).matches;
}

/** Whether the screen is small, also after it was turned. */
export function useNarrow(): boolean {
  return useMedia(NARROW);
}

/** Whether the list can be seen, which it cannot where it is shown and something took its place. */
export function useSidebarSeen(panel: boolean): boolean {
  const replaced = useMedia(NO_ROOM) && panel;
  return useSidebar() && !replaced;
}

export function setSidebar(open: boolean): void {
  shown.set(open);
  if (!isNarrow()) kept.set(open);
}

/** Shows the list. Where the inspector took its place, it takes it back. */
export function showSidebar(page: Page): void {
  if (isReplaced(page)) page.store.patch({ panel: null });
  setSidebar(true);
}

export function toggleSidebar(page: Page): void {
  if (isReplaced(page) || !shown.get()) showSidebar(page);
  else setSidebar(false);
}

function isReplaced(page: Page): boolean {
  return page.store.get().panel !== null && matchMedia(NO_ROOM).matches;
}

export function useSidebar(): boolean {
  return useStore(shown, (held) => held);
}
