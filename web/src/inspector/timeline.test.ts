import { expect, test } from "vitest";
import type { TraceEntry } from "../api/types";
import { timelineOf } from "./timeline";

const entry = (parts: Partial<TraceEntry>): TraceEntry => ({ kind: "hook", start_us: 0, duration_us: 0, outcome: "ok", ...parts });

const trace = [
  entry({ plugin: "mentions", hook: "context_providers", start_us: 10, duration_us: 50, change: null }),
  entry({ plugin: "mentions", hook: "get_actions", start_us: 1, duration_us: 1, change: [{}] }),
  entry({ kind: "model_call", detail: { step: 0, provider: "openai", model: "gpt" }, start_us: 100, duration_us: 5_000 }),
  entry({ kind: "tool_call", detail: { step: 0, call_id: "c1", tool: "shell" }, start_us: 5_200, duration_us: 300 }),
  entry({ plugin: "todo", hook: "context_providers", start_us: 5, duration_us: 40, change: ["x"] }),
  entry({ plugin: "todo", hook: "execute_action", action: "a", lifecycle: "request_complete", start_us: 6_000, duration_us: 2_000, outcome: "error" }),
];

test("rows stand in the order they began, and quiet hooks are left out", () => {
  const { rows, length } = timelineOf(trace, false);
  expect(rows.map((row) => `${row.group} ${row.label} ${row.detail}`.trim())).toEqual([
    "hook todo context_providers",
    "model Model call 1 openai/gpt",
    "tool shell",
    "hook todo execute_action a at request_complete",
  ]);
  expect(length).toBe(8_000);
  expect(timelineOf(trace, true).rows).toHaveLength(6);
});

test("what each plugin did is summed up", () => {
  expect(timelineOf(trace, false).byPlugin).toEqual([
    { plugin: "todo", calls: 2, time: 2_040, changes: 1, failures: 1 },
    { plugin: "mentions", calls: 2, time: 51, changes: 0, failures: 0 },
  ]);
});
