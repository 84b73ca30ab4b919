import { expect, test, vi } from "vitest";
import type { Client } from "./client";
import { backoff, follow } from "./follow";
import { Problem } from "./problem";
import type { Event } from "./types";

type Answer = string | Problem | Response;

/** A server that gives one answer a call, and notes what it was asked for. */
function server(answers: Answer[]) {
  const asked: string[] = [];
  const raw = async (path: string, options: { body?: unknown; headers?: Record<string, string> }) => {
    asked.push(`${options.body ? "POST" : "GET"} ${path} ${options.headers?.["last-event-id"] ?? "-"}`);
    const answer = answers.shift();
    if (answer === undefined) throw new Error("asked too often");
    if (answer instanceof Problem) throw answer;
    return answer instanceof Response ? answer : new Response(answer);
  };
  return { asked, client: { raw } as unknown as Client };
}

function event(seq: number, type = "partial"): string {
  return `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ seq, type, at: "" })}\n\n`;
}

async function run(answers: Answer[], begin?: { path: string; body: string }) {
  const { asked, client } = server(answers);
  const seen: number[] = [];
  const links: string[] = [];
  let gaps = 0;
  let failure: unknown = null;
  await follow({
    client,
    path: (after) => `/events?after=${after}`,
    begin,
    once: true,
    onEvent: (event: Event) => seen.push(event.seq),
    onLink: (link) => links.push(link),
    onGap: () => (gaps += 1),
    signal: new AbortController().signal,
    pause: async () => undefined,
  }).catch((error: unknown) => {
    failure = error;
  });
  return { asked, seen, links, gaps, failure };
}

test("a stream that breaks begins again after the last number, and nothing is told twice", async () => {
  const ran = await run([event(1) + event(2), event(2) + event(3), event(4, "final")]);
  expect(ran.seen).toEqual([1, 2, 3, 4]);
  expect(ran.asked).toEqual(["GET /events?after=null -", "GET /events?after=2 2", "GET /events?after=3 3"]);
  expect(ran.links).toEqual(["open", "waiting", "open", "waiting", "open"]);
});

test("numbers that are missing after a new connection are told, others are not", async () => {
  expect((await run([event(1) + event(9), event(10) + event(20, "final")])).gaps).toBe(0);
  expect((await run([event(1), event(5), event(6, "final")])).gaps).toBe(1);
  // Numbers are kept for fragments that may come: what is stored after them stands far behind.
  expect((await run([event(1), event(4098, "tool_call"), event(4099, "final")])).gaps).toBe(0);
});

test("a request is posted once it was heard, and followed from then on", async () => {
  const unreachable = new Problem(0, "unreachable", "gone");
  const ran = await run([unreachable, event(5), event(6, "final")], { path: "/requests", body: "x" });
  expect(ran.asked).toEqual(["POST /requests -", "POST /requests -", "GET /events?after=5 5"]);
  expect(ran.seen).toEqual([5, 6]);
});

test("nothing is asked for again where nothing follows", async () => {
  const ran = await run([event(1), new Response(null, { status: 204 })]);
  expect(ran.asked).toHaveLength(2);
  expect(ran.failure).toBeNull();
});

test("what trying again cannot mend is thrown", async () => {
  const refused = new Problem(404, "not_found", "there is no request");
  expect((await run([refused])).failure).toBe(refused);
  const busy = new Problem(409, "conflict", "busy", 2);
  expect((await run([busy], { path: "/requests", body: "x" })).failure).toBe(busy);
});

test("a server that is down for a while is asked again", async () => {
  const down = new Problem(503, "unavailable", "starting");
  expect((await run([down, down, event(1, "final")])).seen).toEqual([1]);
});

/** Connections that stay open until somebody leaves them, each with some events. */
function lasting(...bodies: string[][]) {
  const asked: string[] = [];
  const raw = async (path: string, { signal }: { signal: AbortSignal }) => {
    asked.push(path);
    const pieces = bodies.shift() ?? [];
    const start = (stream: ReadableStreamDefaultController) => {
      for (const piece of pieces) stream.enqueue(new TextEncoder().encode(piece));
      signal.addEventListener("abort", () => stream.error(signal.reason));
    };
    return new Response(new ReadableStream({ start }));
  };
  return { asked, client: { raw } as unknown as Client };
}

test("a tab whose turn is over leaves its connection, looks in, and loses nothing", async () => {
  vi.useFakeTimers();
  const { asked, client } = lasting([event(1), event(2)], [], [event(3)], [event(4, "final")]);
  const turns = new Set<() => void>();
  let mine = true;
  const seen: number[] = [];
  const links: string[] = [];
  const done = follow({
    client,
    path: (after) => `after ${after}`,
    once: true,
    onEvent: ({ seq }) => {
      seen.push(seq);
      if (seq === 2) mine = false;
      for (const turn of [...turns]) turn();
    },
    onLink: (link) => links.push(link),
    signal: new AbortController().signal,
    tabs: { mayStream: () => mine, onTurn: (listener) => (turns.add(listener), () => turns.delete(listener)) },
  });
  await vi.advanceTimersByTimeAsync(20_000);
  await done;
  vi.useRealTimers();
  expect(seen).toEqual([1, 2, 3, 4]);
  expect(asked).toEqual(["after null", "after 2", "after 2", "after 3"]);
  // Nobody is told of a connection that is lost.
  expect(links).toEqual(["open", "open", "open", "open"]);
});

test("waits grow up to a bound", () => {
  const waits = [0, 1, 2, 5, 50].map((failures) => backoff(failures, 0.5));
  expect(waits).toEqual([500, 1000, 2000, 15000, 15000]);
});
