//! The files of messages that are being written, kept in this browser beside their drafts: the server has them, and the page their ids.

import type { AppState, Attachment } from "../state/app";
import { type Owner, keepFor, keptBy } from "../state/owner";

const KEY = "orlop.files";

type Files = AppState["files"];

export function keptFiles(owner: Owner): Files {
  return keptBy<Files>(() => localStorage, KEY, owner) ?? {};
}

/** Keeps what changed between two states; other tabs keep the files of other sessions. */
export function keepFiles(owner: Owner, before: Files, now: Files): void {
  const kept = keptFiles(owner);
  for (const session of new Set([...Object.keys(before), ...Object.keys(now)])) {
    if (before[session] === now[session]) continue;
    const files = (now[session] ?? []).filter((file) => file.phase === "ready").map(plain);
    if (files.length > 0) kept[session] = files;
    else delete kept[session];
  }
  keepFor(() => localStorage, KEY, owner, Object.keys(kept).length > 0 ? kept : null);
}

/** A preview is an address that ends with the page. */
function plain(file: Attachment): Attachment {
  return { ...file, preview: null };
}

export function forgetFiles(owner: Owner): void {
  keepFor(() => localStorage, KEY, owner, null);
}
