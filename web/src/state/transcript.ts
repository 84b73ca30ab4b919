//! Stored messages as items: calls joined with their results, empty texts left out.

import type { Message } from "../api/types";
import { isMap } from "../api/types";
import { callsOf } from "./calls";
import { type Item, type TextItem, type ToolItem, textOf } from "./items";

/** Stands for a message that is there and not loaded yet. */
export const NOT_LOADED: Message = { role: "system", content: null };

/** Items by message, so that what did not change keeps its identity and is not drawn again. */
const known = new WeakMap<Message, { index: number; items: Item[] }>();

/** The items of messages from position `from` on, up to `to`. */
export function itemsOf(messages: readonly Message[], from = 0, to = messages.length): Item[] {
  const items: Item[] = [];
  const open = new Map<string, { at: number; item: ToolItem }>();
  for (let index = from; index < to; index += 1) {
    const message = messages[index] as Message;
    if (message === NOT_LOADED) continue;
    if (message.role === "tool" && answer(message, index, open, items)) continue;
    for (const item of own(message, index)) {
      if (item.kind === "tool") open.set(item.callId, { at: items.length, item });
      items.push(item);
    }
  }
  return items;
}

function own(message: Message, index: number): Item[] {
  const held = known.get(message);
  if (held?.index === index) return held.items;
  const items = made(message, index);
  known.set(message, { index, items });
  return items;
}

function made(message: Message, index: number): Item[] {
  switch (message.role) {
    case "user":
      return [{ kind: "user", key: `m${index}`, index, message, pending: false }];
    case "system":
      return [{ kind: "system", key: `m${index}`, index, message }];
    case "tool":
      return [{ ...withResult(blankTool(`m${index}`, callIdOf(message) ?? `m${index}`, toolNameOf(message), {}), message), resultIndex: index }];
    case "assistant": {
      const items: Item[] = [];
      const text = textOf(message.content);
      const reasoning = typeof message.metadata?.reasoning === "string" ? message.metadata.reasoning : "";
      const calls = callsOf(message.metadata);
      if (text !== "" || reasoning !== "" || calls.length === 0) {
        items.push(textItem(`m${index}`, index, text, reasoning, message));
      }
      calls.forEach((call, place) => {
        const callId = call.id ?? `m${index}-${place}`;
        items.push({ ...blankTool(`c${callId}`, callId, call.name, call.arguments), callIndex: index });
      });
      return items;
    }
  }
}

function textItem(key: string, index: number, text: string, reasoning: string, message: Message): TextItem {
  return { kind: "text", key, index, text, reasoning, reasonedFor: null, live: false, message };
}

/** Puts a result to its call. */
function answer(message: Message, index: number, open: Map<string, { at: number; item: ToolItem }>, items: Item[]): boolean {
  const callId = callIdOf(message);
  const call = callId === null ? undefined : open.get(callId);
  if (!call) return false;
  items[call.at] = joined(call.item, message, index);
  return true;
}

const answered = new WeakMap<Message, { call: ToolItem; item: ToolItem }>();

function joined(call: ToolItem, message: Message, index: number): ToolItem {
  const held = answered.get(message);
  if (held?.call === call && held.item.resultIndex === index) return held.item;
  const item = { ...withResult(call, message), resultIndex: index };
  answered.set(message, { call, item });
  return item;
}

/** A call with what came of it. */
export function withResult(call: ToolItem, message: Message): ToolItem {
  const display = message.metadata?.display;
  const took = message.metadata?.duration_ms;
  return {
    ...call,
    status: statusOf(message),
    result: textOf(message.content),
    display: isMap(display) ? display : null,
    parts: message.multipartContent ?? [],
    approval: null,
    took: typeof took === "number" ? took : null,
  };
}

function statusOf({ metadata }: Message): ToolItem["status"] {
  // A tool that answered leaves its schema beside its name.
  const broke = metadata?.tool_plugin !== undefined && metadata.tool_schema === undefined;
  if (metadata?.tool_error !== true && !broke) return "done";
  return metadata?.tool_denied === true ? "denied" : "failed";
}

export function blankTool(key: string, callId: string, name: string, given: ToolItem["arguments"]): ToolItem {
  return {
    kind: "tool",
    key,
    callId,
    callIndex: null,
    resultIndex: null,
    name,
    arguments: given,
    preview: "",
    status: "running",
    output: "",
    result: null,
    display: null,
    parts: [],
    approval: null,
    decision: null,
    children: [],
    began: null,
    ended: null,
    took: null,
  };
}

/** The positions of a message and of the results of calls that it made, which nobody could place without it. */
export function withResults(messages: readonly Message[], index: number): number[] {
  const calls = new Set(callsOf(messages[index]?.metadata).map((call) => call.id));
  const results = messages.flatMap((message, place) => {
    const id = message.role === "tool" && place > index ? callIdOf(message) : null;
    return id !== null && calls.has(id) ? [place] : [];
  });
  return [index, ...results];
}

/** Whether two are the same message. What is noted about it may have become more since it was sent. */
export function isSame(one: Message, other: Message | undefined): boolean {
  const told = (message: Message) => JSON.stringify([message.role, message.content, callsOf(message.metadata), callIdOf(message)]);
  return one === other || (other !== undefined && told(one) === told(other));
}

/** Whether the last message waits for another one: a question without an answer, or a call without a result. */
export function isUnanswered(messages: readonly Message[]): boolean {
  const last = messages.at(-1);
  return last !== undefined && (last.role !== "assistant" || callsOf(last.metadata).length > 0);
}

function callIdOf(message: Message): string | null {
  const id = message.metadata?.tool_call_id;
  return typeof id === "string" ? id : null;
}

function toolNameOf(message: Message): string {
  const name = message.metadata?.tool_name;
  return typeof name === "string" ? name : "tool";
}
