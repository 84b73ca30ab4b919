import { expect, test } from "vitest";
import type { Event, EventKind, Message, RequestState, Session } from "../api/types";
import { type Conversation, failing, isBusy, itemsShown, joining, loaded, newConversation, sending, told, toldAll } from "./conversation";
import { isSame, withResults } from "./transcript";

let seq = 0;
function event(kind: EventKind): Event {
  seq += 1;
  return { seq, at: "2026-01-01T00:00:00Z", session_id: "s", request_id: "r", ...kind };
}

const user = (content: string): Message => ({ role: "user", content, metadata: {} });
const assistant = (content: string, metadata = {}): Message => ({ role: "assistant", content, metadata });
const calls = (...ids: string[]) => ({ tool_calls: ids.map((id) => ({ id, name: "shell", arguments: { command: id } })) });
const tool = (id: string, content: string): Message => ({ role: "tool", content, metadata: { tool_call_id: id, tool_name: "shell" } });
const started = (message_index: number) => event({ type: "request_started", agent_id: "a", message_index });
const said = (content: string) => event({ type: "partial", message: { role: "assistant", content } });
const called = (call_id: string) => event({ type: "tool_call", call_id, name: "shell", call: { id: call_id, name: "shell" } });
const final = (...messages: Message[]) => event({ type: "final", messages, session: { revision: 1, message_count: 9 } });

function stored(...messages: Message[]): Session {
  return { session_id: "s", revision: 1, messages_revision: 1, message_count: messages.length, first_index: 0, messages, metadata: {} };
}

function opened(...messages: Message[]): Conversation {
  return loaded(newConversation("s"), stored(...messages));
}

function shown(conversation: Conversation): string[] {
  return itemsShown(conversation).items.map((item) => {
    switch (item.kind) {
      case "user":
        return `user${item.pending ? "…" : ""} ${String(item.message.content)}`;
      case "text":
        return `text${item.live ? "*" : ""} ${item.text}`;
      case "tool":
        return `tool ${item.callId} ${item.status} ${item.result ?? item.output}`;
      case "failure":
        return `failure ${item.error.message}`;
      default:
        return `${item.kind} ${"text" in item ? item.text : ""}`;
    }
  });
}

test("calls are shown with their results", () => {
  const conversation = opened(user("u"), assistant("Look.", calls("a", "b")), tool("b", "B"), tool("a", "A"), assistant("Done."));
  expect(shown(conversation)).toEqual(["user u", "text Look.", "tool a done A", "tool b done B", "text Done."]);
});

test("a message is shown at once, streams, and ends as it is stored", () => {
  let conversation = sending(opened(user("u"), assistant("a")), "r", user("next"));
  expect(shown(conversation).slice(2)).toEqual(["user… next"]);
  expect(isBusy(conversation)).toBe(true);
  conversation = toldAll(conversation, [started(2), said("An"), said("swer")]);
  expect(shown(conversation).slice(2)).toEqual(["user next", "text* Answer"]);
  conversation = told(conversation, final(assistant("Answer.")));
  expect(shown(conversation)).toEqual(["user u", "text a", "user next", "text Answer."]);
  expect(isBusy(conversation)).toBe(false);
});

test("a page that is loaded in the middle of an answer shows all of it", () => {
  let conversation = joining(opened(user("u"), assistant("First.", calls("a")), tool("a", "A")), "r", 0);
  // Fragments of stored messages may be told again or not; neither is seen twice.
  conversation = toldAll(conversation, [started(0), said("First."), called("a"), said("Sec"), said("ond")]);
  expect(shown(conversation)).toEqual(["user u", "text First.", "tool a done A", "text* Second"]);
  conversation = told(conversation, final(assistant("First.", calls("a")), tool("a", "A"), assistant("Second.")));
  expect(shown(conversation)).toEqual(["user u", "text First.", "tool a done A", "text Second."]);
});

test("loading the session again while it is being answered shows nothing twice", () => {
  let conversation = sending(opened(), "r", user("u"));
  conversation = toldAll(conversation, [started(0), said("First."), called("a"), said("Sec")]);
  const before = shown(conversation);
  conversation = loaded(conversation, stored(user("u"), assistant("First.", calls("a"))));
  expect(shown(conversation)).toEqual(before);
  expect(before).toEqual(["user u", "text First.", "tool a running ", "text* Sec"]);
});

test("a failure is told after what is stored", () => {
  let conversation = sending(opened(), "r", user("u"));
  conversation = toldAll(conversation, [started(0), event({ type: "request_failed", error: { type: "provider", message: "down", retryable: true } })]);
  expect(shown(conversation)).toEqual(["user u", "failure down"]);
  conversation = loaded(conversation, stored(user("u"), assistant("half")));
  expect(shown(conversation)).toEqual(["user u", "text half", "failure down"]);
});

test("that an answer was stopped is told once", () => {
  const conversation = toldAll(sending(opened(), "r", user("u")), [started(0), event({ type: "request_cancelled", reason: "enough" })]);
  expect(shown(conversation)).toEqual(["user u", "notice Stopped."]);
  const half = assistant("half", { interrupted: true });
  expect(shown(loaded(conversation, stored(user("u"), half)))).toEqual(["user u", "text half"]);
});

test("events of other requests change nothing", () => {
  const conversation = sending(opened(), "r", user("u"));
  expect(told(conversation, { ...said("x"), request_id: "other" })).toBe(conversation);
});

test("messages that stay the same keep their items", () => {
  const messages = () => [user("u"), assistant("a", calls("c")), tool("c", "C")];
  const first = opened(...messages());
  const second = loaded(first, stored(...messages(), user("more")));
  expect(itemsShown(second).items.slice(0, 3).every((item, place) => item === itemsShown(first).items[place])).toBe(true);
});

test("the end of a long session is shown first, and what comes before it later", () => {
  const all = [user("a"), assistant("b"), user("c"), assistant("d")];
  const end = loaded(newConversation("s"), { ...stored(...all.slice(2)), first_index: 2 });
  expect(shown(end)).toEqual(["user c", "text d"]);
  expect(itemsShown(end).items[0]).toMatchObject({ index: 2 });
  const whole = loaded(end, stored(...all));
  expect(shown(whole)).toEqual(["user a", "text b", "user c", "text d"]);
  expect(itemsShown(whole).items[2]).toBe(itemsShown(end).items[0]);
});

test("a fragment costs what its request has said, not what the session holds", () => {
  const long = Array.from({ length: 1_000 }, (_, n) => (n % 2 ? assistant(`a${n}`) : user(`u${n}`)));
  const conversation = opened(...long, user("now"), assistant("Look.", calls("c")));
  let read = 0;
  const messages = new Proxy(conversation.messages, {
    get: (all, place) => {
      if (typeof place === "string" && Number(place) < 1_000) read += 1;
      return Reflect.get(all, place) as unknown;
    },
  });
  const running = toldAll(joining({ ...conversation, messages }, "r", 1_000), [started(1_000), called("c"), said("An")]);
  expect(itemsShown(running)).toMatchObject({ settled: 1_000, items: { length: 1_004 } });
  expect(read).toBeGreaterThan(0);
  read = 0;
  const more = told(running, said("swer"));
  expect(shown(more).slice(1_000)).toEqual(["user now", "text Look.", "tool c running ", "text* Answer"]);
  expect(read).toBe(0);
});

test("a message is removed with the results of its calls", () => {
  const messages = [user("u"), assistant("", calls("a", "b")), tool("a", "A"), tool("b", "B"), assistant("", calls("c")), tool("c", "C")];
  expect(withResults(messages, 1)).toEqual([1, 2, 3]);
  expect(withResults(messages, 0)).toEqual([0]);
});

const aside = (text: string) => ({ ...event({ type: "final", messages: [assistant(text)], session: { revision: 0, message_count: 0 } }), seq: 0 });

test("what a host plugin answers stands where it was asked, beside what is stored", () => {
  let conversation = sending(opened(user("u"), assistant("a")), "r", user("/help"));
  conversation = told(conversation, aside("Commands: ..."));
  expect(isBusy(conversation)).toBe(false);
  expect(shown(conversation)).toEqual(["user u", "text a", "user /help", "text Commands: ..."]);
  conversation = sending(conversation, "r2", user("next"));
  expect(shown(conversation).slice(2)).toEqual(["user /help", "text Commands: ...", "user… next"]);
  conversation = loaded(conversation, stored(user("u"), assistant("a"), user("next"), assistant("b")));
  expect(shown({ ...conversation, turn: null })).toEqual(["user u", "text a", "user /help", "text Commands: ...", "user next", "text b"]);
});

test("what was said aside stays when messages before it are taken away, and parts no call from its result", () => {
  let conversation = sending(opened(user("u"), assistant("", calls("a")), tool("a", "A"), assistant("b")), "r", user("/compact"));
  conversation = told(conversation, aside("Done."));
  expect(shown(loaded(conversation, stored(user("summary")))).slice(0, 3)).toEqual(["user summary", "user /compact", "text Done."]);
  const cut = { ...loaded(conversation, stored(user("u"), assistant("", calls("a")), tool("a", "A"))), asides: [{ ...conversation.asides[0]!, after: 2 }] };
  expect(shown(cut)).toEqual(["user u", "tool a done A", "user /compact", "text Done."]);
});

test("an answer of a host plugin that is stored is a message like others", () => {
  const conversation = sending(opened(user("u"), assistant("a")), "r", user("/help"));
  const after = told(conversation, { ...event({ type: "final", messages: [assistant("Commands")], session: { revision: 4, message_count: 4 } }), seq: 0 });
  expect(after.asides).toEqual([]);
  expect(after.messages.map((message) => message.content)).toEqual(["u", "a", "/help", "Commands"]);
});

test("a message is the same once more is noted about it, and not if it says something else", () => {
  expect(isSame(user("a"), { ...user("a"), metadata: { at: "noon" } })).toBe(true);
  expect([isSame(user("a"), user("b")), isSame(user("a"), assistant("a")), isSame(tool("1", "a"), tool("2", "a")), isSame(user("a"), undefined)]).toEqual([false, false, false, false]);
  expect(isSame(assistant("", calls("1")), assistant("", calls("2")))).toBe(false);
});

test("a session shows that its last request failed, as long as it ends with what was asked", () => {
  const request = { request_id: "r", message_index: 0, status: "failed", error: { type: "provider", message: "on fire", retryable: false } } as RequestState;
  expect(shown(failing(opened(user("a"), assistant("half")), request))).toEqual(["user a", "text half", "failure on fire"]);
  expect(shown(failing(opened(user("a"), assistant("b"), user("c")), request))).toEqual(["user a", "text b", "user c"]);
  expect(shown(failing(opened(), request))).toEqual([]);
});

test("positions hold until messages change, also where they say the same", () => {
  const hello = () => [user("hello"), assistant("Aye.")];
  const at = (revision: number, messages_revision: number, ...messages: Message[]) => ({ ...stored(...messages), revision, messages_revision });
  const before = loaded(newConversation("s"), at(5, 3, ...hello(), ...hello()));
  expect(before.placed).toBe(5);
  // A name or a pin moves nothing, however many there were.
  const renamed = loaded(before, at(7, 3, ...hello(), ...hello()));
  expect([renamed.placed, renamed.revision]).toEqual([5, 7]);
  // An answer comes behind what is there, and may be told of before the name that came after it.
  const answered = toldAll(sending(renamed, "r", user("hello")), [started(4), final(assistant("Aye."))]);
  expect([answered.placed, answered.revision]).toEqual([5, 1]);
  expect(loaded({ ...answered, revision: 8 }, at(9, 8, ...hello(), ...hello(), ...hello())).placed).toBe(5);
  // Anything else may have moved them.
  expect(loaded(before, at(6, 6, ...hello(), ...hello())).placed).toBe(6);
  expect(loaded(renamed, at(8, 8, ...hello())).placed).toBe(8);
});
