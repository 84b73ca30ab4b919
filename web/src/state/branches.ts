//! Branches of a conversation: sessions that share their beginning, kept in the metadata of each.
//!
//! `branches` maps the position of the message where they part to the ids of the sessions, oldest first.

import { type JsonMap, isMap } from "../api/types";

export type Branches = { [index: string]: string[] };

export function branchesOf(metadata: JsonMap): Branches {
  if (!isMap(metadata.branches)) return {};
  const entries = Object.entries(metadata.branches).map(([index, ids]) => {
    const listed = Array.isArray(ids) ? ids.filter((id): id is string => typeof id === "string") : [];
    return [index, listed] as const;
  });
  return Object.fromEntries(entries.filter(([, ids]) => ids.length > 0));
}

/** The sessions that part at a message. */
export function branchesAt(metadata: JsonMap, index: number): string[] {
  return branchesOf(metadata)[String(index)] ?? [];
}

/** With one more session that parts at a message. */
export function withBranch(metadata: JsonMap, index: number, from: string, made: string): Branches {
  const held = branchesAt(metadata, index);
  const before = held.length > 0 ? held : [from];
  return { ...branchesOf(metadata), [String(index)]: [...before.filter((id) => id !== made), made] };
}

export interface BranchPlace {
  ids: string[];
  /** Which of them is in view, from 0. */
  at: number;
}

/** Where a session stands among its branches at a message; `null` if there is one only. */
export function placeAmong(metadata: JsonMap, index: number, sessionId: string): BranchPlace | null {
  const ids = branchesAt(metadata, index);
  const at = ids.indexOf(sessionId);
  // A session forked from a branch later on stands where its branch stood.
  return ids.length < 2 ? null : { ids, at: at < 0 ? ids.length - 1 : at };
}
