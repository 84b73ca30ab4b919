//! Notes of the system for somebody who looks elsewhere: a long turn ended, or waits for a decision. Only where the user asked for them.

import { remembered } from "../ui/remembered";

export const notifies = remembered<boolean>("orlop.notify", false);

/** A turn that took less is not worth a note. */
const LONG_MS = 10_000;

export function canNotify(): boolean {
  return typeof Notification !== "undefined";
}

/** Asks the browser for the right, which it gives only after a click. Says whether it did. */
export async function allowNotes(): Promise<boolean> {
  const allowed = canNotify() && (await Notification.requestPermission()) === "granted";
  notifies.set(allowed);
  return allowed;
}

export interface Told {
  kind: "done" | "failed" | "asking";
  /** Milliseconds that the turn took so far. */
  took: number;
  hidden: boolean;
}

/** Whether somebody should be told. */
export function worthANote({ kind, took, hidden }: Told): boolean {
  return hidden && (kind === "asking" || took >= LONG_MS);
}

const TEXT = { done: "The answer is there.", failed: "The request failed.", asking: "Waits for your decision." };

/** Tells. A note of the same session takes the place of the one before. */
export function note(kind: Told["kind"], session: { id: string; title: string }, look: () => void): void {
  if (!notifies.get() || !canNotify() || Notification.permission !== "granted") return;
  const shown = new Notification(session.title, { body: TEXT[kind], tag: session.id });
  shown.onclick = () => {
    window.focus();
    shown.close();
    look();
  };
}
