//! What was written and not sent, kept for each session in this browser.

import { type Owner, keepFor, keptBy } from "../state/owner";

const KEY = "orlop.drafts";

type Drafts = Record<string, string>;

let writer: Owner = "";

/** From now on these are the drafts of `owner`; those of somebody else are gone. */
export function openDrafts(owner: Owner): void {
  writer = owner;
  read();
}

function read(): Drafts {
  return keptBy<Drafts>(() => localStorage, KEY, writer) ?? {};
}

/** Forgets all of them, with whoever wrote them. */
export function forgetDrafts(): void {
  keepFor(() => localStorage, KEY, writer, null);
}

export function keptDraft(session: string | null): string {
  return read()[session ?? ""] ?? "";
}

export function keepDraft(session: string | null, text: string): void {
  const { [session ?? ""]: before, ...others } = read();
  if ((before ?? "") === text) return;
  keepFor<Drafts>(() => localStorage, KEY, writer, text === "" ? others : { ...others, [session ?? ""]: text });
}
