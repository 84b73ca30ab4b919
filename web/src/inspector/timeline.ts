//! The trace of a request as rows of a timeline. Pure.

import type { TraceEntry } from "../api/types";

export interface Row {
  key: number;
  /** What the bar is coloured by. */
  group: "model" | "tool" | "hook" | "lifecycle" | "other";
  label: string;
  detail: string;
  start: number;
  duration: number;
  failed: boolean;
  changed: boolean;
  entry: TraceEntry;
}

export interface Timeline {
  rows: Row[];
  /** Microseconds from the first start to the last end. */
  length: number;
  byPlugin: { plugin: string; calls: number; time: number; changes: number; failures: number }[];
}

/** Rows in the order they began. Hooks that took no time and changed nothing are counted and not shown. */
export function timelineOf(trace: readonly TraceEntry[], all: boolean): Timeline {
  const rows = trace.map(rowOf).sort((a, b) => a.start - b.start || b.duration - a.duration);
  const length = Math.max(1, ...rows.map((row) => row.start + row.duration));
  const telling = (row: Row) => row.group !== "hook" || row.changed || row.failed || row.duration >= 1_000;
  return { rows: all ? rows : rows.filter(telling), length, byPlugin: sums(trace) };
}

function rowOf(entry: TraceEntry, key: number): Row {
  const group = groupOf(entry);
  const what = typeof entry.detail === "string" || typeof entry.detail === "number" ? String(entry.detail) : "";
  const label =
    group === "hook" ? (entry.plugin ?? "plugin") : group === "model" ? `Model call ${what}`.trim() : group === "tool" ? what || "Tool" : group === "lifecycle" ? what : entry.kind;
  const detail = group === "hook" ? [entry.hook, entry.action, entry.lifecycle && `at ${entry.lifecycle}`].filter(Boolean).join(" ") : (entry.operation ?? "");
  return {
    key,
    group,
    label,
    detail,
    start: entry.start_us,
    duration: entry.duration_us,
    failed: entry.outcome !== "ok",
    changed: isChange(entry),
    entry,
  };
}

/** Hooks that are asked what there is answer something each time, and change nothing. */
function isChange(entry: TraceEntry): boolean {
  const asks = /^(get_|to_native|from_native|inspect_|format_|describe)/.test(entry.hook ?? "");
  return !asks && entry.change !== undefined && entry.change !== null;
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
    sum.calls += 1;
    sum.time += entry.duration_us;
    sum.changes += isChange(entry) ? 1 : 0;
    sum.failures += entry.outcome === "ok" ? 0 : 1;
    held.set(entry.plugin, sum);
  }
  return [...held.values()].sort((a, b) => b.time - a.time);
}
