import { expect, test } from "vitest";
import type { Event, Summary } from "../api/types";
import { afterEvent, badgesOf, grouped, upserted } from "./list";

const summary = (session_id: string, updated_at: string, more: Partial<Summary> = {}): Summary => ({
  session_id,
  updated_at,
  created_at: updated_at,
  agent_id: "a",
  title: session_id,
  revision: 1,
  message_count: 1,
  pinned: false,
  archived: false,
  ...more,
});

test("a session is in the list once, the newest change first", () => {
  const list = [summary("b", "2026-01-02"), summary("a", "2026-01-01")];
  expect(upserted(list, summary("a", "2026-01-03")).map((held) => held.session_id)).toEqual(["a", "b"]);
});

test("events change the list, or say that it must be asked for", () => {
  const list = [summary("a", "2026-01-01")];
  const event = (kind: object, session_id = "a") => ({ seq: 1, at: "2026-02-01", session_id, ...kind }) as Event;
  const session = { revision: 2, message_count: 4, title: "Named" };
  expect(afterEvent(list, event({ type: "session_updated", session, change: "title" }))?.[0]).toMatchObject({ title: "Named", message_count: 4 });
  expect(afterEvent(list, event({ type: "session_deleted" }))).toEqual([]);
  expect(afterEvent(list, event({ type: "session_created" }, "new"))).toBeNull();
  expect(afterEvent(list, event({ type: "final", session, messages: [] }, "new"))).toBeNull();
  expect(afterEvent(list, event({ type: "partial", message: { role: "assistant", content: "" } }))).toBe(list);
});

test("sessions stand under the day they changed, pinned ones above", () => {
  const now = new Date(2026, 5, 15, 12);
  const at = (days: number) => new Date(2026, 5, 15 - days, 8).toISOString();
  const list = [summary("today", at(0)), summary("yesterday", at(1)), summary("week", at(5)), summary("month", at(20)), summary("old", at(400))];
  const pinned = list.map((held) => ({ ...held, pinned: held.session_id === "old" }));
  const groups = grouped(pinned, now).map((group) => `${group.label}: ${group.sessions.map((held) => held.session_id).join(" ")}`);
  expect(groups).toEqual(["Pinned: old", "Today: today", "Yesterday: yesterday", "Last 7 days: week", "Last 30 days: month"]);
  expect(grouped(list, now).at(-1)?.label).toBe("May 2025");
});

// covers: K-12
test("what plugins add is shown as badges", () => {
  expect(badgesOf(summary("a", "2026", { review: { badge: "3 open" }, tags: ["x", "y"], odd: { n: 1 } }))).toEqual(["3 open", "x", "y"]);
});
