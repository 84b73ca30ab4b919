//! What a key means where somebody writes.

import { usesFingers } from "./media";

interface Press {
  key: string;
  keyCode: number;
  isComposing: boolean;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
}

/** Whether a key belongs to a word that is being put together. Some browsers say so by a number only. */
export function isComposing({ isComposing, keyCode }: Pick<Press, "isComposing" | "keyCode">): boolean {
  return isComposing || keyCode === 229;
}

/** Whether a key sends what is written. With fingers there is a button for that, and Enter is a new line. */
export function isSending(press: Press, fingers = usesFingers()): boolean {
  if (press.key !== "Enter" || isComposing(press)) return false;
  return press.ctrlKey || press.metaKey || (!press.shiftKey && !fingers);
}
