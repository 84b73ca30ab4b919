import { expect, test } from "vitest";
import type { Attachment } from "./app";
import { type Outbox, type Outgoing, again, hold, messageOf, moved, put, requestOf, waitingIn, without } from "./outbox";

const entry = (id: string): Outgoing => ({ id, text: `say ${id}`, attachments: [], parts: [] });
const ids = (outbox: Outbox, session: string) => waitingIn(outbox, session).entries.map((held) => held.id);

test("each session has messages of its own, in the order in which they were written", () => {
  const outbox = put(put(put({}, "s", entry("a")), "t", entry("b")), "s", entry("c"));
  expect([ids(outbox, "s"), ids(outbox, "t")]).toEqual([["a", "c"], ["b"]]);
  expect(ids(put(outbox, "s", entry("d"), "first"), "s")).toEqual(["d", "a", "c"]);
  expect(ids(without(outbox, "s", "a"), "s")).toEqual(["c"]);
  expect(without(outbox, "t", "b")).not.toHaveProperty("t");
});

test("what is held waits until somebody sends, and is not overtaken", () => {
  const held = hold(put({}, "s", entry("a")), "s", "The answer was stopped.");
  expect(waitingIn(held, "s").held).toBe("The answer was stopped.");
  const sent = put(held, "s", entry("b"));
  expect([ids(sent, "s"), waitingIn(sent, "s").held]).toEqual([["a", "b"], null]);
  // Where nothing waits there is nothing to hold.
  expect(hold({}, "s", "why")).toEqual({});
});

test("what was written before its session existed goes with it", () => {
  const outbox = moved(put(put({}, "", entry("a")), "", entry("b")), "", "s");
  expect([ids(outbox, "s"), ids(outbox, "")]).toEqual([["a", "b"], []]);
});

const file: Attachment = { id: "x", name: "dot.png", size: 8, mediaType: "image/png", phase: "ready", problem: null, assetId: "asset", preview: "blob:x" };

test("a message goes with its files, also when it is said again", () => {
  expect(requestOf({ ...entry("r"), attachments: [file] })).toEqual({ content: "say r", request_id: "r", stream: true, queue: true, attachments: ["asset"] });
  expect(messageOf({ ...entry("r"), attachments: [file] }).metadata).toEqual({ attachments: [{ id: "asset", name: "dot.png", media_type: "image/png", size: 8 }] });
  const own = { type: "text", text: "of the caller" };
  const stored = { role: "user" as const, content: "look", metadata: { attachments: [{ id: "asset", name: "dot.png", size: 8, parts: 1 }] }, multipartContent: [own, { type: "image_url" }] };
  const said = again(stored, "look again");
  expect([said.text, said.attachments.map((it) => it.assetId), said.parts]).toEqual(["look again", ["asset"], [own]]);
  expect(again({ role: "user", content: "x", metadata: {}, multipartContent: [own] }, "x").parts).toEqual([own]);
});
