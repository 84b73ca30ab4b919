//! The list of sessions as a value: upserts by id, one row for all branches, groups by day, pinned ones first.

import type { Event, Summary } from "../api/types";
import type { AppState } from "../state/app";

/** With a session put in or changed; newest change first. */
export function upserted(sessions: readonly Summary[], summary: Summary): Summary[] {
  const others = sessions.filter((held) => held.session_id !== summary.session_id);
  return [...others, summary].sort((a, b) => b.updated_at.localeCompare(a.updated_at));
}

export function removed(sessions: readonly Summary[], ...ids: string[]): Summary[] {
  return sessions.filter((held) => !ids.includes(held.session_id));
}

/** A row of the list: a session, or all branches of one. */
export interface Row {
  key: string;
  /** The one that changed last. */
  newest: Summary;
  members: Summary[];
  pinned: boolean;
}

/** The rows of a list, in the order in which their first session stands there. Of those found by their words, each message that was found is one. */
export function rowsOf(sessions: readonly Summary[]): Row[] {
  const rows = new Map<string, Summary[]>();
  for (const summary of sessions) {
    const hit = hitIn(summary);
    const key = hit === null ? familyOf(summary) : `${familyOf(summary)} ${hit} ${String(summary.snippet)}`;
    rows.set(key, [...(rows.get(key) ?? []), summary]);
  }
  return [...rows].map(([key, members]) => {
    const newest = members.reduce((one, other) => (other.updated_at > one.updated_at ? other : one));
    return { key, newest, members, pinned: members.some(({ pinned }) => pinned) };
  });
}

/** The session that all branches of one come from, itself where there are none. */
function familyOf({ session_id, branch_of }: Summary): string {
  return branch_of ?? session_id;
}

/** A session of the list and its branches there, the one that changed last first. */
export function branchesIn(sessions: readonly Summary[], id: string | null): Summary[] {
  const own = sessions.find((held) => held.session_id === id);
  if (!own) return [];
  return sessions.filter((held) => familyOf(held) === familyOf(own)).sort((a, b) => b.updated_at.localeCompare(a.updated_at));
}

/** Where the words stand that a session was found by. */
export function hitIn(summary: Summary): number | null {
  return typeof summary.message_index === "number" ? summary.message_index : null;
}

/** The list after an event; `null` if only the server knows what it looks like now. */
export function afterEvent(sessions: readonly Summary[], event: Event): Summary[] | null {
  const id = event.session_id;
  if (!id) return sessions as Summary[];
  const held = sessions.find((summary) => summary.session_id === id);
  switch (event.type) {
    case "session_deleted":
      return held ? removed(sessions, id) : (sessions as Summary[]);
    case "session_created":
      return null;
    case "final":
    case "session_updated": {
      if (!held) return null;
      const { revision, message_count, title } = event.session;
      return upserted(sessions, { ...held, revision, message_count, title: title ?? held.title ?? null, updated_at: event.at });
    }
    case "agent_switched":
      return held ? upserted(sessions, { ...held, agent_id: event.next_agent_id, updated_at: event.at }) : null;
    default:
      return sessions as Summary[];
  }
}

export interface Group {
  label: string;
  rows: Row[];
}

const DAY = 86_400_000;

/** Groups by when a session last changed, in the order in which they are shown. */
export function grouped(sessions: readonly Summary[], now: Date): Group[] {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const groups = new Map<string, Row[]>();
  const put = (label: string, row: Row) => {
    const held = groups.get(label);
    if (held) held.push(row);
    else groups.set(label, [row]);
  };
  const ordered = rowsOf(sessions).sort((a, b) => Number(b.pinned) - Number(a.pinned));
  for (const row of ordered) {
    put(row.pinned ? "Pinned" : dayLabel(Date.parse(row.newest.updated_at), today, now), row);
  }
  return [...groups].map(([label, rows]) => ({ label, rows }));
}

function dayLabel(at: number, today: number, now: Date): string {
  if (at >= today) return "Today";
  if (at >= today - DAY) return "Yesterday";
  if (at >= today - 7 * DAY) return "Last 7 days";
  if (at >= today - 30 * DAY) return "Last 30 days";
  const date = new Date(at);
  const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return date.toLocaleDateString("en", { month: "long", year });
}

/** What people call a session. */
export function titleOf(summary: { title?: string | null }): string {
  return summary.title?.trim() || "New session";
}

/** What people call the session in view, also where the list does not reach it; `null` for one that has no name, or is not there yet. */
export function titleInView({ openId, list, conversation }: Pick<AppState, "openId" | "list" | "conversation">): string | null {
  if (openId === null) return null;
  const held = list.sessions.find((summary) => summary.session_id === openId);
  return (held ? held.title : conversation?.title)?.trim() || null;
}

const KNOWN = new Set(["session_id", "agent_id", "title", "created_at", "updated_at", "revision", "message_count", "branch_of", "message_index", "snippet"]);

/** The texts that plugins put beside a session in the list. */
export function badgesOf(summary: Summary): string[] {
  return Object.entries(summary).flatMap(([key, value]) => (KNOWN.has(key) ? [] : badge(value)));
}

function badge(value: unknown): string[] {
  if (typeof value === "string" || typeof value === "number") return value === "" ? [] : [String(value)];
  if (Array.isArray(value)) return value.flatMap(badge);
  if (typeof value !== "object" || value === null) return [];
  const fields = value as Record<string, unknown>;
  const text = fields.badge ?? fields.label ?? fields.text ?? fields.badges;
  return text === undefined ? [] : badge(text);
}
