//! An open session: its stored messages, the request that runs on it, and both as one list of items.

import type { ContextUse, Event, JsonMap, Message, RequestState, Session } from "../api/types";
import { type Item, type UserItem, textOf } from "./items";
import { isKeptIn } from "./ran";
import { NOT_LOADED, itemsOf } from "./transcript";
import { type Turn, applyEvent, isOver, newTurn } from "./turn";

/** A question that a host plugin answered in place of the agent, `/help` for instance. Nobody stores it. */
export interface Aside {
  requestId: string;
  question: Message | null;
  answers: Message[];
  /** How many stored messages stood before it. */
  after: number;
}

export interface Conversation {
  sessionId: string;
  phase: "loading" | "ready" | "missing" | "failed";
  problem: string | null;
  title: string | null;
  /** Of the session as it is stored, as far as the page knows. */
  revision: number;
  /** The revision since which no message has another position: what was named before it may be another one now. */
  placed: number;
  messages: Message[];
  asides: Aside[];
  metadata: JsonMap;
  /** The request that runs, or the last one if it did not end well. */
  turn: Turn | null;
  /** What was sent and is not part of the stored messages yet. */
  sent: Message | null;
  /** How full the window was after the last answer, where the model server counts. */
  context: ContextUse | null;
}

export function newConversation(sessionId: string): Conversation {
  return { sessionId, phase: "loading", problem: null, title: null, revision: 0, placed: 0, messages: [], asides: [], metadata: {}, turn: null, sent: null, context: null };
}

/** With the session as it is stored now. What runs goes on. */
export function loaded(held: Conversation, session: Session): Conversation {
  const messages = keepSame(held.messages, [...Array<Message>(session.first_index).fill(NOT_LOADED), ...session.messages]);
  const { turn } = held;
  const known = turn?.messageIndex !== null && turn?.messageIndex !== undefined && turn.messageIndex < messages.length;
  const { title = null, revision, messages_revision, metadata } = session;
  const same = held.phase === "ready" && messages_revision <= held.revision;
  return { ...held, phase: "ready", problem: null, title, revision, placed: same ? held.placed : revision, messages, metadata, sent: known ? null : held.sent };
}

/** Messages that say the same keep their identity, so that they are not drawn again. */
function keepSame(held: Message[], now: Message[]): Message[] {
  return now.map((message, index) => {
    const before = held[index];
    if (message === NOT_LOADED) return before ?? message;
    return before && before.role === message.role && JSON.stringify(before) === JSON.stringify(message) ? before : message;
  });
}

/** A request of this page, before the server has said anything. */
export function sending(held: Conversation, requestId: string, message: Message): Conversation {
  return { ...held, sent: message, turn: newTurn(requestId, { sessionId: held.sessionId }) };
}

/** A request that somebody else began, or that ran before the page was loaded. */
export function joining(held: Conversation, requestId: string, messageIndex: number | null): Conversation {
  if (held.turn?.requestId === requestId) return held;
  // What was sent belongs to another request.
  return { ...held, sent: null, turn: newTurn(requestId, { sessionId: held.sessionId, messageIndex, status: "running" }) };
}

/** With the failure of the last request, if the session still ends with what was asked. */
export function failing(held: Conversation, { request_id, message_index, error, updated_at }: RequestState): Conversation {
  const asked = held.messages.findLastIndex((message) => message.role === "user");
  if (held.turn || !error || asked < 0 || asked !== message_index) return held;
  const turn = newTurn(request_id, { sessionId: held.sessionId, messageIndex: asked, status: "failed", error, failedAt: Date.parse(updated_at ?? "") || null });
  return { ...held, turn };
}

/** After an event of the running request. */
export function told(held: Conversation, event: Event): Conversation {
  if (!held.turn || event.request_id !== held.turn.requestId) return held;
  const turn = applyEvent(held.turn, event, storedCalls(held));
  if (turn === held.turn) return held;
  if (turn.status !== "done" || !turn.messages) return { ...held, turn };
  if (event.type === "final" && isAside(event)) {
    const aside: Aside = { requestId: turn.requestId, question: held.sent, answers: turn.messages, after: held.messages.length };
    return { ...held, turn, sent: null, asides: [...held.asides, aside] };
  }
  const before = messagesBefore({ ...held, turn });
  const messages = [...before, ...turn.messages];
  if (event.type !== "final") return { ...held, turn, messages, sent: null };
  const { revision, context } = event.session;
  return { ...held, turn, messages, sent: null, revision, context: context ?? held.context };
}

/** Whether what a request said is not part of the session: that has fewer messages than were said. */
export function isAside(event: Extract<Event, { type: "final" }>): boolean {
  return event.session.message_count < event.messages.length;
}

/** After several events, at the cost of one change of the view. */
export function toldAll(held: Conversation, events: readonly Event[]): Conversation {
  return events.reduce(told, held);
}

/** The messages up to the user's of the running request, which is put in if it is not stored yet. */
function messagesBefore({ messages, turn, sent }: Conversation): Message[] {
  const place = turn?.messageIndex;
  if (place === null || place === undefined) return sent ? [...messages, sent] : messages;
  const before = messages.slice(0, place + 1);
  return before.length <= place && sent ? [...before, sent] : before;
}

function storedCalls({ messages, turn }: Conversation): Set<string> {
  const from = turn?.messageIndex ?? messages.length;
  const calls = itemsOf(messages, from + 1).flatMap((item) => (item.kind === "tool" ? [item.callId] : []));
  return new Set(calls);
}

export function isBusy(held: Conversation): boolean {
  return held.turn !== null && !isOver(held.turn);
}

/** Whether a message is stored, and stays as it is until somebody does something new. */
export function isSettled(held: Conversation | null, index: number): boolean {
  return held !== null && index < held.messages.length && !isBusy(held) && held.turn?.status !== "failed";
}

/** What is shown of a session. */
export interface Shown {
  /** Everything, in order. */
  items: Item[];
  /** So many of them, from the first on, no event of the request changes. */
  settled: number;
}

export const NOTHING_SHOWN: Shown = { items: [], settled: 0 };

/** Everything to show. A fragment of an answer costs what its request has said, however long the session is. */
export function itemsShown(held: Conversation): Shown {
  const { messages, turn, sent } = held;
  const stored = storedItems(held);
  if (!turn) return { items: stored, settled: stored.length };
  const settled = settledBefore(stored, held, turn);
  const own = stored.slice(settled);
  const items = isOver(turn) ? withSeen(own, turn).items : merged(own, turn);
  if (turn.status !== "done" && sent && (turn.messageIndex === null || turn.messageIndex >= messages.length)) {
    const place = isOver(turn) ? items.length : own.length;
    const user: UserItem = { kind: "user", key: `m${messages.length}`, index: null, message: sent, pending: turn.status === "sending" };
    items.splice(place, 0, user);
  }
  if (turn.status === "failed" && turn.error) items.push({ kind: "failure", key: `${turn.requestId}-failed`, error: turn.error, since: turn.failedAt ?? 0 });
  if (turn.status === "cancelled" && !saysStopped(items.at(-1))) {
    items.push({ kind: "notice", key: `${turn.requestId}-cancelled`, tone: "info", text: "Stopped." });
  }
  return { items: stored.slice(0, settled).concat(items), settled };
}

/** Whether it says itself that it was stopped. */
function saysStopped(item: Item | undefined): boolean {
  return item?.kind === "text" && item.message?.metadata?.interrupted === true;
}

/** How many of the stored items stood before a request. */
function settledBefore(stored: readonly Item[], { messages }: Conversation, { messageIndex }: Turn): number {
  if (messageIndex === null) return 0;
  if (messageIndex >= messages.length) return stored.length;
  return Math.max(0, stored.findLastIndex((item) => item.kind === "user" && item.index === messageIndex));
}

const storedItemsKnown = new WeakMap<readonly Message[], { asides: readonly Aside[]; items: Item[] }>();

/** What is stored, with what was said aside where it was said. */
function storedItems({ messages, asides }: Conversation): Item[] {
  const known = storedItemsKnown.get(messages);
  if (known?.asides === asides) return known.items;
  let from = 0;
  const parts: Item[][] = [];
  for (const aside of asides) {
    if (aside.answers.some((answer) => isKeptIn(answer, messages.slice(aside.after)))) continue;
    let place = Math.max(from, Math.min(aside.after, messages.length));
    // Messages may have been taken away since; a call and its results stay together.
    while (messages[place]?.role === "tool") place += 1;
    parts.push(itemsOf(messages, from, place), asideItems(aside));
    from = place;
  }
  const items = [...parts, itemsOf(messages, from)].flat();
  storedItemsKnown.set(messages, { asides, items });
  return items;
}

const asideItemsKnown = new WeakMap<Aside, Item[]>();

function asideItems(aside: Aside): Item[] {
  const known = asideItemsKnown.get(aside);
  if (known) return known;
  const { requestId, question, answers } = aside;
  const asked: Item[] = question ? [{ kind: "user", key: `${requestId}-asked`, index: null, message: question, pending: false }] : [];
  const said = answers.map((message, place): Item => {
    const metadata = { ...message.metadata, handled: message.metadata?.handled ?? {} };
    return { kind: "text", key: `${requestId}-said${place}`, index: null, text: textOf(message.content), reasoning: "", reasonedFor: null, live: false, message: { ...message, metadata } };
  });
  const items = [...asked, ...said];
  asideItemsKnown.set(aside, items);
  return items;
}

/** Stored items, with what the events of the request told of their calls and nobody stores: times, output, agents inside. */
function withSeen(stored: Item[], turn: Turn): { items: Item[]; seen: Set<string> } {
  const live = new Map(turn.items.flatMap((item) => (item.kind === "tool" ? [[item.callId, item] as const] : [])));
  const seen = new Set<string>();
  const items = stored.map((item) => {
    const told = item.kind === "tool" ? live.get(item.callId) : undefined;
    if (item.kind !== "tool" || !told) return item;
    seen.add(item.callId);
    const { children, output, began, ended, decision } = told;
    return item.result === null ? { ...told, key: item.key, arguments: item.arguments } : { ...item, children, output, began, ended, decision };
  });
  return { items, seen };
}

/** What is stored of a running request, and what its events tell beyond it. */
function merged(stored: Item[], turn: Turn): Item[] {
  const { items, seen } = withSeen(stored, turn);
  // What was told before a call that is stored is stored, too.
  const isSeen = (item: Item) => item.kind === "tool" && seen.has(item.callId);
  const rest = turn.items.slice(turn.items.findLastIndex(isSeen) + 1);
  const unseen = turn.items.filter((item) => item.kind === "tool" && !seen.has(item.callId) && !rest.includes(item));
  return [...items, ...unseen, ...rest];
}
