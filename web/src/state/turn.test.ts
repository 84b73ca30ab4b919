import { expect, test } from "vitest";
import type { Event, EventKind } from "../api/types";
import type { Item } from "./items";
import { applyEvent, begunAgain, newTurn, openApprovals } from "./turn";

let seq = 0;
function event(kind: EventKind, request = "r"): Event {
  seq += 1;
  return { seq, at: "2026-01-01T00:00:00Z", session_id: "s", request_id: request, ...kind };
}

const said = (content: string, metadata = {}): EventKind => ({ type: "partial", message: { role: "assistant", content, metadata } });
const called = (call_id: string, name = "shell"): EventKind => ({
  type: "tool_call",
  call_id,
  name,
  call: { id: call_id, name, arguments: { command: "ls" } },
  preview: "ls",
});
const answered = (call_id: string, content: string, metadata = {}): EventKind => ({
  type: "tool_result",
  call_id,
  message: { role: "tool", content, metadata: { tool_call_id: call_id, tool_name: "shell", ...metadata } },
});

function after(...kinds: EventKind[]) {
  return kinds.reduce((turn, kind) => applyEvent(turn, event(kind)), newTurn("r"));
}

function lines(items: Item[]): string[] {
  return items.map((item) => {
    switch (item.kind) {
      case "text":
        return `text${item.live ? "*" : ""} ${item.reasoning ? `(${item.reasoning}) ` : ""}${item.text}`;
      case "tool":
        return `tool ${item.name} ${item.status} ${item.result ?? item.output}`;
      default:
        return `${item.kind} ${"text" in item ? item.text : ""}`;
    }
  });
}

test("fragments are one text, and reasoning stands beside it", () => {
  const turn = after(said("", { reasoning: "hm" }), said("Hel"), said("lo"));
  expect(lines(turn.items)).toEqual(["text* (hm) Hello"]);
});

test("an event counts once, whatever order it comes in", () => {
  const first = event(said("a"));
  const second = event(said("b"));
  const turn = [first, second, first, second].reduce((turn, event) => applyEvent(turn, event), newTurn("r"));
  expect(lines(turn.items)).toEqual(["text* ab"]);
});

test("a call stands after the text before it, and its result comes to it", () => {
  const turn = after(said("Look: "), called("c"), { type: "tool_partial", call_id: "c", part: { text: "a.txt\n" } });
  expect(lines(turn.items)).toEqual(["text Look: ", "tool shell running a.txt\n"]);
  const done = [answered("c", "a.txt"), said("There.")].reduce((turn, kind) => applyEvent(turn, event(kind)), turn);
  expect(lines(done.items)).toEqual(["text Look: ", "tool shell done a.txt", "text* There."]);
  expect(lines(after(called("c"), answered("c", "no", { tool_error: true })).items)).toEqual(["tool shell failed no"]);
});

test("a tool that broke has failed, whether it says so or not", () => {
  const status = (metadata = {}) => lines(after(called("c"), answered("c", "Tool error: on fire", metadata)).items);
  expect(status({ tool_plugin: "shell" })).toEqual(["tool shell failed Tool error: on fire"]);
  expect(status({ tool_plugin: "shell", tool_schema: { name: "shell" } })).toEqual(["tool shell done Tool error: on fire"]);
});

test("a call that was not allowed is told from one that failed", () => {
  const refused = "Error: this call was not allowed: not today";
  const status = (metadata = {}) => lines(after(called("c"), answered("c", refused, metadata)).items);
  expect(status({ tool_error: true, tool_denied: true })).toEqual([`tool shell denied ${refused}`]);
  // A tool that says the same has failed.
  expect(status({ tool_error: true })).toEqual([`tool shell failed ${refused}`]);
  expect(status()).toEqual([`tool shell done ${refused}`]);
});

test("calls under construction are shown until the call is there", () => {
  const fragment = (text: string) => said("", { tool_calls: [{ index: 0, function: { name: "shell", arguments: text } }] });
  const turn = after(said("I look."), fragment('{"comm'), fragment('and":'));
  expect(lines(turn.items)).toEqual(["text I look.", "tool shell writing "]);
  expect(turn.items[1]).toMatchObject({ arguments: '{"command":' });
  expect(lines(applyEvent(turn, event(called("c"))).items)).toEqual(["text I look.", "tool shell running "]);
});

test("fragments of a message that is stored by now are dropped", () => {
  const late = [event(said("Look: ")), event(called("c"))];
  const turn = late.reduce((turn, event) => applyEvent(turn, event, new Set(["c"])), newTurn("r"));
  expect(lines(turn.items)).toEqual(["tool shell running "]);
});

test("a question waits until somebody decides", () => {
  const asked: EventKind = {
    type: "approval_requested",
    call_id: "c",
    name: "shell",
    call: {},
    input: { command: "ls" },
    reason: "shell asks",
    choices: ["allow", "deny"],
    remember: [{ scope: "session", rule: "shell(ls *)" }],
  };
  const turn = after(called("c"), asked);
  expect(openApprovals(turn).map((tool) => tool.approval?.reason)).toEqual(["shell asks"]);
  const decided = applyEvent(turn, event({ type: "approval_resolved", call_id: "c", decision: "allow", by: "ana" }));
  expect(openApprovals(decided)).toEqual([]);
  expect(decided.items[0]).toMatchObject({ status: "running", decision: { decision: "allow", by: "ana" } });
});

test("what a delegated agent does stands inside of the call, its questions too", () => {
  const inside = (kind: EventKind): EventKind => ({
    type: "tool_partial",
    call_id: "d",
    part: { type: "event", agent: "reviewer", event: event(kind, "child") as never },
  });
  const introduced: EventKind = {
    type: "tool_partial",
    call_id: "d",
    part: { type: "delegate", agent: "reviewer", session_id: "s2", request_id: "child" },
  };
  const asked: EventKind = { type: "approval_requested", call_id: "x", name: "shell", call: {}, input: {}, reason: "?", choices: [] };
  const turn = after(called("d", "delegate"), introduced, inside(said("I re")), inside(said("view.")), inside(asked));
  const child = turn.items[0]?.kind === "tool" ? turn.items[0].children[0] : undefined;
  expect(child).toMatchObject({ agentId: "reviewer", sessionId: "s2" });
  expect(lines(child?.items ?? [])).toEqual(["text I review.", "tool shell waiting "]);
  expect(openApprovals(turn)[0]?.approval?.requestId).toBe("child");
});

test("an answer that was rejected is gone, and the reason is told", () => {
  const turn = after(said("bad"), { type: "output_rejected", problems: ["no JSON"] }, said("{}"));
  expect(lines(turn.items)).toEqual(["notice The answer did not fit and is asked for again: no JSON", "text* {}"]);
});

test("an answer that begins anew after a restart of the server is shown once", () => {
  const turn = after(said("one tw"), { type: "answer_restarted" }, said("one two"));
  expect(lines(turn.items)).toEqual(["notice The answer was cut off and is asked for again.", "text* one two"]);
});

test("another model and another try are told", () => {
  const fallback: EventKind = { type: "model_fallback", from: { provider: "p", model: "a" }, to: { model: "b" }, error: { type: "provider", retryable: true, message: "down" } };
  expect(lines(after(fallback).items)).toEqual(["notice p/a could not be asked: down. b is asked now."]);
  expect(lines(after(said("", { retry: { message: "503" } }), said("ok")).items)).toEqual([
    "notice The model server failed and is asked again: 503",
    "text* ok",
  ]);
});

test("after its end a turn does not change", () => {
  const failed = after(said("half"), { type: "request_failed", error: { type: "provider", message: "down", retryable: true } });
  expect(failed.status).toBe("failed");
  expect(lines(failed.items)).toEqual(["text half"]);
  expect(applyEvent(failed, event(said("more")))).toBe(failed);
});

test("what was under way when a server ended is said again, once", () => {
  const turn = begunAgain(after(said("First."), called("c"), answered("c", "ok"), said("Sec")));
  expect(lines(applyEvent(turn, event(said("Second"))).items)).toEqual(["text First.", "tool shell done ok", "text* Second"]);
});

test("a failure keeps when it came and how long to wait", () => {
  const failed = (error: Extract<EventKind, { type: "request_failed" }>["error"]) => after(said("Half"), { type: "request_failed", error });
  const told = { type: "provider", message: "too many", retryable: true, retry_after_seconds: 9 };
  expect(failed(told)).toMatchObject({ status: "failed", error: told, failedAt: Date.parse("2026-01-01T00:00:00Z") });
  expect(failed({ type: "provider", message: "down", retryable: false }).error?.retry_after_seconds).toBeUndefined();
});
