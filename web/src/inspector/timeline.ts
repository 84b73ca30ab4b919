//! The trace of a request as rows of a timeline: model calls and tools, with the hooks that ran inside of them. Pure.

import { type Json, type JsonMap, type TraceEntry, isMap } from "../api/types";

export interface Row {
  key: number;
  /** What the bar is coloured by. */
  group: "model" | "tool" | "hook" | "lifecycle" | "other";
  label: string;
  detail: string;
  /** 1 for a hook that ran inside of a model call or a tool. */
  depth: 0 | 1;
  start: number;
  duration: number;
  failed: boolean;
  /** What it changed, in few words; empty if nothing. */
  change: string;
  /** Token counts and cost of a model call. */
  usage: JsonMap | null;
  entry: TraceEntry;
}

export interface Timeline {
  rows: Row[];
  /** How many rows are left out. */
  hidden: number;
  /** Microseconds from the first start to the last end. */
  length: number;
  byPlugin: { plugin: string; calls: number; time: number; changes: number; failures: number }[];
}

/** A hook that took less and changed nothing is not worth a row of its own. */
const WORTH_US = 1_000;

/** Rows in the order they began, hooks behind the call they ran in. What only answers questions, or did next to nothing, is left out unless `all` are wanted. */
export function timelineOf(trace: readonly TraceEntry[], all: boolean): Timeline {
  const rows = trace.map(rowOf).sort((a, b) => a.start - b.start || b.duration - a.duration);
  const length = Math.max(1, ...rows.map((row) => row.start + row.duration));
  const shown = all ? rows : rows.filter(isTelling);
  return { rows: nested(shown), hidden: rows.length - shown.length, length, byPlugin: sums(trace) };
}

function isTelling(row: Row): boolean {
  if (row.group === "model" || row.group === "tool" || row.failed || row.change !== "") return true;
  return !asksOnly(row.entry) && row.duration >= WORTH_US;
}

/** Each hook behind the model call or tool in whose time it ran; of several, the one that began last. */
function nested(rows: Row[]): Row[] {
  const calls = rows.filter(isCall);
  const inside = new Map<number, Row[]>();
  const outside: Row[] = [];
  for (const row of rows) {
    const call = isCall(row) ? undefined : calls.findLast((held) => held.start <= row.start && row.start + row.duration <= held.start + held.duration);
    if (!call) outside.push(row);
    else inside.set(call.key, [...(inside.get(call.key) ?? []), { ...row, depth: 1 }]);
  }
  return outside.flatMap((row) => [row, ...(inside.get(row.key) ?? [])]);
}

function isCall(row: Row): boolean {
  return row.group === "model" || row.group === "tool";
}

function rowOf(entry: TraceEntry, key: number): Row {
  const group = groupOf(entry);
  const { detail } = entry;
  return {
    key,
    group,
    ...wordsOf(entry, group),
    depth: 0,
    start: entry.start_us,
    duration: entry.duration_us,
    failed: entry.outcome !== "ok",
    change: entry.outcome === "ok" ? changeOf(entry) : "",
    usage: group === "model" && isMap(detail) && isMap(detail.usage) ? detail.usage : null,
    entry,
  };
}

/** What a row says, and what it says beside it. */
function wordsOf(entry: TraceEntry, group: Row["group"]): { label: string; detail: string } {
  const { detail } = entry;
  const fields = isMap(detail) ? detail : {};
  const text = (key: string) => (typeof fields[key] === "string" ? (fields[key] as string) : "");
  const plain = typeof detail === "string" || typeof detail === "number" ? String(detail) : "";
  switch (group) {
    case "hook":
      return { label: entry.plugin ?? "plugin", detail: [entry.action ?? entry.hook, entry.lifecycle && `at ${entry.lifecycle}`, (entry.calls ?? 1) > 1 && `${entry.calls} times`].filter(Boolean).join(" ") };
    case "model": {
      const number = typeof fields.step === "number" ? String(fields.step + 1) : plain;
      return { label: `Model call ${number}`.trim(), detail: [text("provider"), text("model")].filter(Boolean).join("/") };
    }
    case "tool":
      return { label: text("tool") || plain || "Tool", detail: "" };
    case "lifecycle":
      return { label: plain, detail: "" };
    case "other":
      return { label: entry.kind, detail: [text("plugin"), text("operation")].filter(Boolean).join(" ") || plain };
  }
}

/** Hooks that are asked what there is, or turn one form into another, answer something each time and change nothing. */
function asksOnly(entry: TraceEntry): boolean {
  return /^(get_|to_|from_|inspect_|format_|describe)/.test(entry.hook ?? "");
}

/** The provider's answer and a tool's result are what a call is for, not what a plugin changed about it. */
function isTheWork(entry: TraceEntry): boolean {
  return /^(call_api|stream_api|execute_tool|stream_tool)$/.test(entry.hook ?? "");
}

/** What a hook changed, in few words. */
export function changeOf(entry: TraceEntry): string {
  const { change } = entry;
  if (change === undefined || change === null || asksOnly(entry) || isTheWork(entry)) return "";
  if (!isMap(change)) return Array.isArray(change) ? `${change.length} ${change.length === 1 ? "item" : "items"}` : shortly(change);
  if (change.status === "noop") return "";
  const fields = Object.entries(change).filter(([, value]) => value !== null && value !== undefined && !isEmpty(value));
  return fields.map(([name, value]) => (typeof value === "object" ? name : `${name} ${shortly(value as Json)}`)).join(", ");
}

function isEmpty(value: Json): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function shortly(value: Json): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function groupOf(entry: TraceEntry): Row["group"] {
  if (entry.kind.includes("model")) return "model";
  if (entry.kind.includes("tool")) return "tool";
  return entry.kind === "hook" || entry.kind === "lifecycle" ? entry.kind : "other";
}

function sums(trace: readonly TraceEntry[]): Timeline["byPlugin"] {
  const held = new Map<string, Timeline["byPlugin"][number]>();
  for (const entry of trace) {
    if (!entry.plugin) continue;
    const sum = held.get(entry.plugin) ?? { plugin: entry.plugin, calls: 0, time: 0, changes: 0, failures: 0 };
    sum.calls += entry.calls ?? 1;
    sum.time += entry.duration_us;
    sum.changes += entry.outcome === "ok" && changeOf(entry) !== "" ? 1 : 0;
    sum.failures += entry.outcome === "ok" ? 0 : 1;
    held.set(entry.plugin, sum);
  }
  return [...held.values()].sort((a, b) => b.time - a.time);
}
