//! Where the keyboard goes when what it was on goes away.

import { usesFingers } from "./media";

/** To the place to write. Where that would bring up a keyboard that nobody asked for, to the conversation. */
export function focusChat(): void {
  document.querySelector<HTMLElement>(usesFingers() ? ".scroller" : "#composer")?.focus({ preventScroll: true });
}

/** Whether nobody has the keyboard: what had it is gone, or is disabled. */
export function isFocusLost(): boolean {
  const { activeElement } = document;
  return !activeElement || activeElement === document.body || activeElement.matches(":disabled");
}
