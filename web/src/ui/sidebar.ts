//! Whether the list of sessions is shown. On small screens it lies over the chat and begins closed.

import { Store, useStore } from "../state/store";
import { remembered } from "./remembered";

const kept = remembered<boolean>("orlop.sidebar", true);
const shown = new Store<boolean>(isNarrow() ? false : kept.get());

export function isNarrow(): boolean {
  return matchMedia("(max-width: 760px)").matches;
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
