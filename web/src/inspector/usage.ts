//! What the plugin `usage` counted, as numbers to draw. Pure.

import { type Json, type JsonMap, isMap } from "../api/types";

export interface Sum {
  name: string;
  calls: number;
  input: number;
  output: number;
  cost: number;
}

export interface UsageFigures {
  session: Sum | null;
  days: Sum[];
  agents: Sum[];
  models: Sum[];
  plugins: Sum[];
}

export function figuresOf(usage: Json | undefined): UsageFigures {
  const fields = isMap(usage) ? usage : {};
  const days = isMap(fields.days) ? Object.entries(fields.days).filter((day): day is [string, JsonMap] => isMap(day[1])) : [];
  const session = isMap(fields.session) ? sumOf("This session", fields.session.total) : null;
  const over = (key: string) => added(days.flatMap(([, day]) => named(day[key])));
  return {
    session,
    days: days.map(([day, figures]) => sumOf(day, figures.total)).sort((a, b) => a.name.localeCompare(b.name)),
    agents: over("agents"),
    models: over("models"),
    plugins: over("plugins"),
  };
}

function named(value: Json | undefined): Sum[] {
  return isMap(value) ? Object.entries(value).map(([name, tally]) => sumOf(name, tally)) : [];
}

function sumOf(name: string, tally: Json | undefined): Sum {
  const number = (key: string) => (isMap(tally) && typeof tally[key] === "number" ? (tally[key] as number) : 0);
  return { name, calls: number("requests"), input: number("input_tokens"), output: number("output_tokens"), cost: number("cost") };
}

function added(sums: Sum[]): Sum[] {
  const held = new Map<string, Sum>();
  for (const sum of sums) {
    const before = held.get(sum.name);
    held.set(
      sum.name,
      before ? { name: sum.name, calls: before.calls + sum.calls, input: before.input + sum.input, output: before.output + sum.output, cost: before.cost + sum.cost } : sum,
    );
  }
  return [...held.values()].sort((a, b) => b.input + b.output - a.input - a.output);
}

const DAY_MS = 86_400_000;

/** The last days up to today, or up to the last one with use, and those without use among them. Days are those of UTC, as they are counted. */
export function lastDays(days: readonly Sum[], today: string, count: number): Sum[] {
  const held = new Map(days.map((day) => [day.name, day]));
  const last = Math.max(Date.parse(today), ...days.map((day) => Date.parse(day.name)).filter((at) => !Number.isNaN(at)));
  return Array.from({ length: count }, (_, place) => {
    const name = new Date(last - (count - 1 - place) * DAY_MS).toISOString().slice(0, 10);
    return held.get(name) ?? sumOf(name, undefined);
  });
}

/** A table for other programs: what was summed up, its name, and the figures. */
export function csvOf({ days, agents, models, plugins }: UsageFigures): string {
  const rows = (kind: string, sums: Sum[]) => sums.map((sum) => [kind, field(sum.name), sum.calls, sum.input, sum.output, sum.cost].join(","));
  const all = [...rows("day", days), ...rows("agent", agents), ...rows("model", models), ...rows("plugin", plugins)];
  return `${["by,name,requests,input_tokens,output_tokens,cost_dollars", ...all].join("\r\n")}\r\n`;
}

/** A name that spreadsheets take for a name: in quotes where it must be, and never for a formula. */
function field(name: string): string {
  const plain = /^[=+\-@\t\r]/.test(name) ? `'${name}` : name;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
