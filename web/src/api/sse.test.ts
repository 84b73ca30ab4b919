import { afterEach, expect, test, vi } from "vitest";
import { SseParser, serverEvents } from "./sse";

afterEach(() => {
  vi.restoreAllMocks();
});

function parse(...pieces: string[]) {
  const parser = new SseParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

test("an event is its fields up to an empty line", () => {
  expect(parse('id: 7\nevent: partial\ndata: {"a":1}\n\n')).toEqual([{ id: "7", event: "partial", data: '{"a":1}' }]);
});

test("pieces may be cut anywhere, between CR and LF too", () => {
  const text = "id: 1\r\ndata: one\r\n\r\nid: 2\r\ndata: two\r\n\r\n";
  const whole = parse(text);
  expect(whole.map((event) => [event.id, event.data])).toEqual([
    ["1", "one"],
    ["2", "two"],
  ]);
  for (let at = 0; at <= text.length; at += 1) expect(parse(text.slice(0, at), text.slice(at))).toEqual(whole);
  expect(parse(...text)).toEqual(whole);
});

test("comments are no events, and several data lines are one text", () => {
  expect(parse(": heartbeat\n\ndata: a\ndata: b\n\n")).toEqual([{ id: null, event: "message", data: "a\nb" }]);
});

test("the id stays until another one comes", () => {
  expect(parse("id: 3\ndata: a\n\ndata: b\n\n").map((event) => event.id)).toEqual(["3", "3"]);
});

/** What reading three pieces does, where each read takes so long: "-" is a pause. */
async function readings(ms: number): Promise<string[]> {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += ms));
  const done: string[] = [];
  const pieces = ["a", "b", "c"].map((data) => new TextEncoder().encode(`data: ${data}\n\n`));
  const body = new ReadableStream<Uint8Array>({
    start: (stream) => {
      for (const piece of pieces) stream.enqueue(piece);
      stream.close();
    },
  });
  for await (const { data } of serverEvents(body, () => undefined, () => void done.push("-"))) done.push(data);
  return done;
}

test("what has come already is read without a pause, or a fast stream would fall behind", async () => {
  expect(await readings(0)).toEqual(["a", "b", "c"]);
});

test("a stream that was waited for is left alone for a while, after what came was handed on", async () => {
  expect(await readings(5)).toEqual(["a", "-", "b", "-", "c", "-"]);
});
