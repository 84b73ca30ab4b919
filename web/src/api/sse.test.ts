import { expect, test } from "vitest";
import { SseParser } from "./sse";

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
