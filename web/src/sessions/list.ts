//! The list of sessions as a value: upserts by id, groups by day, pinned ones first.

import type { Event, Summary } from "../api/types";
import type { AppState } from "../state/app";

/** With a session put in or changed; newest change first. */
export function upserted(sessions: readonly Summary[], summary: Summary): Summary[] {
  const others = sessions.filter((held) => held.session_id !== summary.session_id);
  return [...others, summary].sort((a, b) => b.updated_at.localeCompare(a.updated_at));
}

export function removed(sessions: readonly Summary[], id: string): Summary[] {
  return sessions.filter((held) => held.session_id !== id);
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
  sessions: Summary[];
}

const DAY = 86_400_000;

/** Groups by when a session last changed, in the order in which they are shown. */
export function grouped(sessions: readonly Summary[], now: Date): Group[] {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const groups = new Map<string, Summary[]>();
  const put = (label: string, summary: Summary) => {
    const held = groups.get(label);
    if (held) held.push(summary);
    else groups.set(label, [summary]);
  };
  const ordered = [...sessions].sort((a, b) => Number(b.pinned) - Number(a.pinned));
  for (const summary of ordered) {
    put(summary.pinned ? "Pinned" : dayLabel(Date.parse(summary.updated_at), today, now), summary);
  }
  return [...groups].map(([label, sessions]) => ({ label, sessions }));
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

const KNOWN = new Set(["session_id", "agent_id", "title", "created_at", "updated_at", "revision", "message_count", "message_index", "snippet"]);

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
