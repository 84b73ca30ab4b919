//! What the screen and the hand are like.

import { useSyncExternalStore } from "react";

/** Fingers: their keyboards lie over the page, and have one key for a new line and for sending. */
const FINGERS = "(pointer: coarse)";

export function usesFingers(): boolean {
  return matchMedia(FINGERS).matches;
}

export function useFingers(): boolean {
  return useMedia(FINGERS);
}

/** Whether a query holds, also after a screen was turned or a mouse was found. */
export function useMedia(text: string): boolean {
  return useSyncExternalStore(
    (changed) => {
      const query = matchMedia(text);
      query.addEventListener("change", changed);
      return () => query.removeEventListener("change", changed);
    },
    () => matchMedia(text).matches,
  );
}
