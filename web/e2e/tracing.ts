//! What the main thread of a page did, by Chromium's own tracing.

import type { Browser, Page } from "playwright-core";

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  /** Of it, the time on a processor. */
  tdur?: number;
  args?: { name?: string };
}

export interface Worked {
  /** How much of the time the main thread was at work, from 0 to 1; waiting for a processor does not count. */
  share: number;
  seconds: number;
  /** The longest task, in milliseconds: nothing else happens meanwhile. */
  longest: number;
}

/** Records while `work` is done, and sums up the tasks of the busiest main thread, which is that of the page. */
export async function mainThread(browser: Browser, page: Page, work: () => Promise<void>): Promise<Worked> {
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"] });
  const began = performance.now();
  let recorded: Buffer;
  let seconds: number;
  try {
    await work();
  } finally {
    seconds = (performance.now() - began) / 1_000;
    recorded = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(recorded.toString()) as { traceEvents: TraceEvent[] };
  const key = ({ pid, tid }: TraceEvent) => `${pid}/${tid}`;
  const mains = new Set(traceEvents.filter((event) => event.name === "thread_name" && event.args?.name === "CrRendererMain").map(key));
  const tasks = new Map<string, TraceEvent[]>();
  for (const event of traceEvents) {
    if (event.name !== "RunTask" || event.ph !== "X" || !mains.has(key(event))) continue;
    const held = tasks.get(key(event));
    if (held) held.push(event);
    else tasks.set(key(event), [event]);
  }
  const worked = (event: TraceEvent) => event.tdur ?? event.dur ?? 0;
  const sum = (events: TraceEvent[]) => events.reduce((total, event) => total + worked(event), 0);
  const busiest = [...tasks.values()].sort((a, b) => sum(b) - sum(a))[0];
  if (!busiest) throw new Error("the trace tells of no task");
  return { share: sum(busiest) / 1e6 / seconds, seconds, longest: Math.max(...busiest.map(worked)) / 1e3 };
}
