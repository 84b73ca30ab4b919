//! The trace of a request as rows of a timeline. Pure.

import { type TraceEntry, isMap } from "../api/types";

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

/** Rows in the order they began. Model calls and tools are all shown; of the rest, what took no time and changed nothing is counted only. */
export function timelineOf(trace: readonly TraceEntry[], all: boolean): Timeline {
  const rows = trace.map(rowOf).sort((a, b) => a.start - b.start || b.duration - a.duration);
  const length = Math.max(1, ...rows.map((row) => row.start + row.duration));
  const telling = (row: Row) => row.group === "model" || row.group === "tool" || row.changed || row.failed || row.duration >= 1_000;
  return { rows: all ? rows : rows.filter(telling), length, byPlugin: sums(trace) };
}

function rowOf(entry: TraceEntry, key: number): Row {
  const group = groupOf(entry);
  return {
    key,
    group,
    ...wordsOf(entry, group),
    start: entry.start_us,
    duration: entry.duration_us,
    failed: entry.outcome !== "ok",
    changed: isChange(entry),
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
      return { label: entry.plugin ?? "plugin", detail: [entry.hook, entry.action, entry.lifecycle && `at ${entry.lifecycle}`].filter(Boolean).join(" ") };
    case "model": {
      const number = typeof fields.step === "number" ? String(fields.step + 1) : plain;
      return { label: `Model call ${number}`.trim(), detail: [text("provider"), text("model")].filter(Boolean).join("/") };
    }
    case "tool":
      return { label: text("tool") || plain || "Tool", detail: "" };
    case "lifecycle":
      return { label: plain, detail: entry.operation ?? "" };
    case "other":
      return { label: entry.kind, detail: entry.operation ?? "" };
  }
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
