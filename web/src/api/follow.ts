//! A stream of events that survives its connections: it begins again after the last number it has seen.

import type { Client } from "./client";
import { Problem, asProblem } from "./problem";
import { serverEvents } from "./sse";
import type { Tabs } from "./tabs";
import { type Event, type Json, endsRequest } from "./types";

export type Link = "open" | "waiting";

type Turns = Pick<Tabs, "mayStream" | "onTurn">;

export interface FollowOptions {
  client: Client;
  /** Where to read; `after` is the last number seen, if any. */
  path: (after: number | null) => string;
  /** The first call, where it is not a plain GET of `path`. */
  begin?: { path: string; body: Json };
  after?: number | null;
  /** Whether the last event of a request ends the stream. */
  once: boolean;
  onEvent: (event: Event) => void;
  onLink?: (link: Link) => void;
  /** After a new connection a fragment does not follow the last one: the server has begun again with what was under way. */
  onGap?: () => void;
  signal: AbortSignal;
  /** Whether this tab may keep a connection; without, it may. */
  tabs?: Turns;
  /** Waits; replaced in tests. */
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** A connection that says nothing for so long is taken for dead; servers send a heartbeat more often. */
const SILENCE_MS = 45_000;

/** A tab that may not keep a connection looks in this often, and for so long. */
const LOOK_IN_MS = 2_000;
const LOOK_MS = 200;

/** How long to wait before try number `failures`, with some chance in it so that tabs do not come at once. */
export function backoff(failures: number, chance = Math.random()): number {
  return Math.min(500 * 2 ** Math.min(failures, 6), 15_000) * (0.75 + chance / 2);
}

/** Follows to the end of the request, or until the signal. Throws what trying again cannot mend. */
export async function follow(options: FollowOptions): Promise<void> {
  const { client, path, once, onEvent, onLink, onGap, signal, tabs, pause = waitOrWake } = options;
  let { begin, after = null } = options;
  let failures = 0;
  while (!signal.aborted) {
    const connection = new AbortController();
    const stop = () => connection.abort();
    signal.addEventListener("abort", stop);
    let heard = Date.now();
    const alive = () => {
      heard = Date.now();
    };
    const watchdog = setInterval(() => Date.now() - heard > SILENCE_MS && stop(), SILENCE_MS / 9);
    // What is being sent stays until the server has it.
    let connected = false;
    const leave = () => connected && tabs?.mayStream() === false && stop();
    const unsubscribe = tabs?.onTurn(leave);
    let looking: ReturnType<typeof setTimeout> | undefined;
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (after !== null) headers["last-event-id"] = String(after);
      const response = begin
        ? await client.raw(begin.path, { body: begin.body, headers, signal: connection.signal })
        : await client.raw(path(after), { headers, signal: connection.signal });
      // Everything was told already.
      if (response.status === 204) return;
      if (!response.body) throw new Problem(0, "unreachable", "The server's answer has no body.");
      begin = undefined;
      connected = true;
      onLink?.("open");
      alive();
      looking = setTimeout(leave, LOOK_MS);
      let first = after !== null;
      for await (const { data } of serverEvents(response.body, alive)) {
        failures = 0;
        const event = read(data);
        if (!event || (after !== null && event.seq <= after)) continue;
        // Fragments of one answer have numbers in a row; other events have gaps before them.
        if (first && event.type === "partial" && event.seq !== (after ?? 0) + 1) onGap?.();
        first = false;
        after = event.seq;
        onEvent(event);
        if (once && endsRequest(event)) return;
      }
    } catch (error) {
      const problem = asProblem(error);
      if (signal.aborted) return;
      if (problem.status !== 0 && !problem.retryable && problem.status < 500) throw problem;
      if (begin && problem.status !== 0) throw problem;
      if (problem.retryAfter !== null) failures = Math.max(failures, 2);
    } finally {
      clearInterval(watchdog);
      clearTimeout(looking);
      unsubscribe?.();
      signal.removeEventListener("abort", stop);
      connection.abort();
    }
    if (signal.aborted) return;
    if (connected && tabs && !tabs.mayStream()) {
      await untilTurn(tabs, signal);
      continue;
    }
    onLink?.("waiting");
    await pause(backoff(failures), signal);
    failures += 1;
  }
}

/** Waits until this tab may stream, or it is time to look in. */
function untilTurn(tabs: Turns, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      unsubscribe();
      signal.removeEventListener("abort", done);
      resolve();
    };
    // Some chance in it, so that tabs do not come at once.
    const timer = setTimeout(done, LOOK_IN_MS * (0.75 + Math.random() / 2));
    const unsubscribe = tabs.onTurn(() => tabs.mayStream() && done());
    signal.addEventListener("abort", done);
  });
}

/** The events that one connection tells, for what is over already. */
export async function told(client: Client, path: string, signal: AbortSignal): Promise<Event[]> {
  const response = await client.raw(path, { headers: { accept: "text/event-stream" }, signal });
  const events: Event[] = [];
  if (!response.body) return events;
  for await (const { data } of serverEvents(response.body, () => undefined)) {
    const event = read(data);
    if (event) events.push(event);
    if (event && endsRequest(event)) break;
  }
  return events;
}

function read(data: string): Event | null {
  try {
    const event = JSON.parse(data) as Event;
    return typeof event.seq === "number" && typeof event.type === "string" ? event : null;
  } catch {
    return null;
  }
}

/** Waits, but not when the network comes back or the page is looked at again. */
function waitOrWake(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
