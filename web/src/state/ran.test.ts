import { expect, test } from "vitest";
import type { Event, Message } from "../api/types";
import { itemsShown, loaded, newConversation, sending, told } from "./conversation";
import { textOf } from "./items";
import { isKeptIn, ranIn } from "./ran";

const stored = (command: string, output: string): Message => ({
  role: "user",
  content: `$ ${command}\n${output}\n[I ran this command myself.]`,
  metadata: { ran: { command } },
});
const printed = (command: string, output: string): Message => ({
  role: "assistant",
  content: output,
  metadata: { handled: { status: 200, data: { command: "!", display: { title: `$ ${command}`, body: output } } } },
});

test("a command and its lines are read out of the message that keeps them", () => {
  expect(ranIn(stored("ls", "a.txt\n  b [old]\n[done]"))).toEqual({ command: "ls", output: "a.txt\n  b [old]\n[done]" });
  expect(ranIn(stored("cat <<x\na\nx", "a"))).toEqual({ command: "cat <<x\na\nx", output: "a" });
  expect(ranIn(stored("true", ""))).toEqual({ command: "true", output: "" });
  expect(ranIn({ role: "user", content: "$ ls\na" })).toBeNull();
  expect(ranIn({ role: "user", content: "Something else", metadata: { ran: { command: "ls" } } })).toBeNull();
});

test("an answer is kept by the message of its own command only", () => {
  expect(isKeptIn(printed("ls", "a"), [stored("ls", "a")])).toBe(true);
  expect(isKeptIn(printed("ls", "a"), [stored("pwd", "/")])).toBe(false);
  expect(isKeptIn({ role: "assistant", content: "no", metadata: { handled: { status: 403, data: { command: "!" } } } }, [stored("ls", "a")])).toBe(false);
});

test("what a command printed is shown once: aside until the session has it", () => {
  const shown = (conversation: Parameters<typeof itemsShown>[0]) => itemsShown(conversation).items.map((item) => ("message" in item && item.message ? textOf(item.message.content) : item.kind));
  const session = (...messages: Message[]) => ({ session_id: "s", revision: 1, messages_revision: 1, message_count: messages.length, first_index: 0, messages, metadata: {} });
  const hello: Message = { role: "user", content: "hello" };
  let conversation = sending(loaded(newConversation("s"), session(hello)), "r", { role: "user", content: "!ls" });
  const final = { seq: 0, at: "2026-01-01T00:00:00Z", session_id: "s", request_id: "r", type: "final", messages: [printed("ls", "a\nb")], session: { revision: 0, message_count: 0 } };
  conversation = told(conversation, final as unknown as Event);
  expect(shown(conversation)).toEqual(["hello", "!ls", "a\nb"]);
  const kept = stored("ls", "a\nb");
  conversation = loaded(conversation, session(hello, kept));
  expect(shown(conversation)).toEqual(["hello", textOf(kept.content)]);
});
