import { expect, test, vi } from "vitest";
import { Problem } from "../api/problem";
import type { Api } from "../api/routes";
import type { SharedMessage } from "../api/types";
import { Reader, itemsRead } from "./reader";

const messages: SharedMessage[] = [
  { index: 4, role: "user", content: "mend it", metadata: { attachments: ["night.log"] } },
  { index: 5, role: "assistant", content: "", metadata: { tool_calls: [{ id: "c1", name: "shell", arguments: "{}" }] } },
  { index: 6, role: "tool", content: "done", metadata: { tool_call_id: "c1", tool_name: "shell", duration_ms: 1_500 } },
];

test("who reads by a link can do nothing with a message, and sees names of files and what is being said", () => {
  const items = itemsRead({ messages, live: "It is", whole: true });
  expect(items.map((item) => item.kind)).toEqual(["user", "tool", "text"]);
  expect(items[0]).toMatchObject({ index: null, message: { metadata: { attachments: [{ name: "night.log" }] } } });
  expect(items[1]).toMatchObject({ status: "done", took: 1_500 });
  expect(items[2]).toMatchObject({ live: true, text: "It is" });
});

/** A session that is read by a link, and the connections on which its readers hear of it. */
function session() {
  const lines: ReadableStreamDefaultController<Uint8Array>[] = [];
  const now = { messages: 2, away: false, lines };
  const api = {
    client: { raw: async () => new Response(new ReadableStream<Uint8Array>({ start: (line) => void lines.push(line) })) },
    sharedEventsPath: () => "/events",
    shared: async () => {
      if (now.away) throw new Problem(0, "unreachable", "Away.");
      return { title: null, revision: 1, message_count: now.messages, first_index: now.messages, messages: [] };
    },
  } as unknown as Api;
  const tell = (seq: number, type: string, content = "") =>
    lines.at(-1)?.enqueue(new TextEncoder().encode(`data: ${JSON.stringify({ seq, at: "", type, message: { content } })}\n\n`));
  return { now, reader: new Reader(api, "link"), tell };
}

const shown = (reader: Reader) => itemsRead(reader.store.get()).map((item) => (item.kind === "text" ? item.text : item.kind));

test("what is being said is shown from its beginning, or not at all", async () => {
  vi.stubGlobal("addEventListener", (_: string, online: () => void) => online());
  vi.stubGlobal("removeEventListener", () => undefined);
  const { now, reader, tell } = session();
  void reader.open();
  await expect.poll(() => now.lines.length).toBe(1);
  tell(0, "updated");
  tell(7, "partial", "and so on");
  await expect.poll(() => shown(reader)).toEqual(["…"]);
  now.messages = 3;
  tell(8, "updated");
  await expect.poll(() => shown(reader)).toEqual([]);
  tell(9, "partial", "High ");
  tell(10, "partial", "water");
  await expect.poll(() => shown(reader)).toEqual(["High water"]);
  // Something else happened than a message: what was said so far may count no more.
  tell(11, "updated");
  await expect.poll(() => shown(reader)).toEqual([]);
  tell(12, "partial", " at six");
  await expect.poll(() => shown(reader)).toEqual(["…"]);
  now.lines[0]?.close();
  await expect.poll(() => now.lines.length).toBe(2);
  expect(shown(reader)).toEqual([]);
  tell(20, "partial", "six");
  await expect.poll(() => shown(reader)).toEqual(["…"]);
  reader.close();
  vi.unstubAllGlobals();
});

test("a session that could not be read is read when its reader says so", async () => {
  const { now, reader } = session();
  now.away = true;
  await reader.open();
  expect(reader.store.get().phase).toBe("failed");
  now.away = false;
  reader.retry();
  await expect.poll(() => reader.store.get().phase).toBe("ready");
  reader.close();
});
