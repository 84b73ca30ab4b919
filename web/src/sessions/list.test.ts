import { expect, test } from "vitest";
import type { Event, Summary } from "../api/types";
import { afterEvent, badgesOf, branchesIn, grouped, rowsOf, upserted } from "./list";

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
  const groups = grouped(pinned, now).map((group) => `${group.label}: ${group.rows.map((row) => row.key).join(" ")}`);
  expect(groups).toEqual(["Pinned: old", "Today: today", "Yesterday: yesterday", "Last 7 days: week", "Last 30 days: month"]);
  expect(grouped(list, now).at(-1)?.label).toBe("May 2025");
});

// covers: K-12
test("what plugins add is shown as badges", () => {
  expect(badgesOf(summary("a", "2026", { review: { badge: "3 open" }, tags: ["x", "y"], odd: { n: 1 } }))).toEqual(["3 open", "x", "y"]);
});

const shown = (list: Summary[]) => rowsOf(list).map(({ newest, members, pinned }) => `${newest.session_id} of ${members.length}${pinned ? " pinned" : ""}`);

test("branches are one row with what changed last, and a pin of one is a pin of all", () => {
  const branch = (id: string, at: string, more: Partial<Summary> = {}) => summary(id, at, { branch_of: "root", ...more });
  const list = [branch("c", "2026-01-04"), summary("other", "2026-01-03"), branch("b", "2026-01-02"), summary("root", "2026-01-01")];
  expect(shown(list)).toEqual(["c of 3", "other of 1"]);
  expect(shown(list.slice(0, 3))).toEqual(["c of 2", "other of 1"]);
  const pinned = list.map((held) => ({ ...held, pinned: held.session_id === "root" }));
  expect(shown([...pinned].reverse())).toEqual(["c of 3 pinned", "other of 1"]);
  expect(branchesIn(list, "root").map((held) => held.session_id)).toEqual(["c", "b", "root"]);
  expect(branchesIn(list, "elsewhere")).toEqual([]);
  expect(badgesOf(branch("c", "2026"))).toEqual([]);
});

test("what was found in one branch only has a row of its own; what is common to all is found once", () => {
  const hit = (id: string, message_index: number, snippet: string) => summary(id, "2026", { branch_of: "root", message_index, snippet });
  expect(shown([hit("a", 0, "the tide"), hit("b", 0, "the tide"), hit("b", 3, "low tide"), summary("root", "2026")])).toEqual(["a of 2", "b of 1", "root of 1"]);
});
