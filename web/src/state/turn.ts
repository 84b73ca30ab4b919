//! One request as its events tell it: what was said and done so far. A pure reducer.

import { type Event, type JsonMap, type Message, type ModelName, type RequestError, isMap } from "../api/types";
import { readCall } from "./calls";
import type { Item, TextItem, ToolItem } from "./items";
import { blankTool, withResult } from "./transcript";

export interface Turn {
  requestId: string;
  sessionId: string | null;
  agentId: string | null;
  /** Where the user's message stands, once it is known. */
  messageIndex: number | null;
  status: "sending" | "running" | "done" | "failed" | "cancelled";
  items: Item[];
  /** The last number seen; an event is applied once. The only event of what a host plugin answers has number 0. */
  seq: number;
  /** What the request added, once it is done. */
  messages: Message[] | null;
  usage: JsonMap | null;
  model: ModelName | null;
  error: RequestError | null;
  failedAt: number | null;
  reason: string | null;
  began: number | null;
}

export function newTurn(requestId: string, known: Partial<Turn> = {}): Turn {
  return {
    requestId,
    sessionId: null,
    agentId: null,
    messageIndex: null,
    status: "sending",
    items: [],
    seq: -1,
    messages: null,
    usage: null,
    model: null,
    error: null,
    failedAt: null,
    reason: null,
    began: null,
    ...known,
  };
}

export function isOver(turn: Turn): boolean {
  return turn.status === "done" || turn.status === "failed" || turn.status === "cancelled";
}

/** Whether a person is asked for something in an item, or by an agent inside of it. */
export function asksIn(item: Item): boolean {
  return item.kind === "tool" && (item.approval !== null || item.children.some((child) => child.items.some(asksIn)));
}

/** The questions of a turn that wait for a person, those of agents inside of it included. */
export function openApprovals(turn: Turn): ToolItem[] {
  return turn.items.flatMap((item) =>
    item.kind === "tool" ? [...(item.approval ? [item] : []), ...item.children.flatMap(openApprovals)] : [],
  );
}

/** The turn after an event. `stored` are the calls that the session's messages tell of already. */
export function applyEvent(turn: Turn, event: Event, stored: ReadonlySet<string> = new Set()): Turn {
  if (event.seq <= turn.seq || isOver(turn)) return turn;
  const next = { ...turn, seq: event.seq };
  const at = Date.parse(event.at);
  switch (event.type) {
    case "request_started":
      return {
        ...next,
        status: "running",
        agentId: event.agent_id,
        sessionId: event.session_id ?? turn.sessionId,
        messageIndex: event.message_index ?? null,
        began: Number.isNaN(at) ? null : at,
      };
    case "partial":
      return { ...next, status: "running", items: withFragment(turn.items, event.message, turn.requestId, at) };
    case "tool_call": {
      // A reader that came late gets fragments of a message that is stored by now.
      const items = stored.has(event.call_id) ? withoutLive(turn.items) : closed(turn.items);
      return {
        ...next,
        items: upsert(withoutDrafts(items), event.call_id, event.name, event.call, (tool) => ({
          ...tool,
          preview: event.preview ?? "",
          status: "running",
          began: at,
        })),
      };
    }
    case "tool_partial":
      return { ...next, items: change(turn.items, event.call_id, (tool) => withPart(tool, event.part, event)) };
    case "tool_result":
      return {
        ...next,
        items: upsert(turn.items, event.call_id, toolName(event.message), {}, (tool) => ({
          ...withResult(tool, event.message),
          ended: at,
        })),
      };
    case "approval_requested":
      return {
        ...next,
        items: upsert(closed(turn.items), event.call_id, event.name, event.call, (tool) => ({
          ...tool,
          status: "waiting",
          approval: {
            requestId: event.request_id ?? turn.requestId,
            input: event.input,
            reason: event.reason,
            choices: event.choices,
            form: event.form ?? null,
            remember: event.remember ?? [],
          },
        })),
      };
    case "approval_resolved":
      return {
        ...next,
        items: change(turn.items, event.call_id, (tool) => ({
          ...tool,
          status: tool.status === "waiting" ? "running" : tool.status,
          approval: null,
          decision: { decision: event.decision, by: event.by },
        })),
      };
    case "model_fallback": {
      const why = isMap(event.error) && typeof event.error.message === "string" ? `: ${event.error.message}` : "";
      return { ...next, items: noticed(turn.items, event.seq, `${named(event.from)} could not be asked${why}. ${named(event.to)} is asked now.`) };
    }
    case "output_rejected":
      return {
        ...next,
        items: noticed(withoutLive(turn.items), event.seq, `The answer did not fit and is asked for again: ${event.problems.join("; ")}`),
      };
    case "answer_restarted":
      return { ...next, items: noticed(withoutLive(turn.items), event.seq, "The answer was cut off and is asked for again.") };
    case "final":
      return {
        ...next,
        status: "done",
        items: closed(turn.items),
        messages: event.messages,
        usage: event.usage ?? null,
        model: event.model ?? null,
      };
    case "request_failed":
      return { ...next, status: "failed", items: closed(turn.items), error: event.error, failedAt: Number.isNaN(at) ? null : at };
    case "request_cancelled":
      return { ...next, status: "cancelled", items: closed(turn.items), reason: event.reason };
    default:
      return next;
  }
}

/** The model is asked again for what was under way; it says it from the beginning. */
export function begunAgain(turn: Turn): Turn {
  return { ...turn, items: withoutDrafts(withoutLive(turn.items)) };
}

function toolName(message: Message): string {
  return typeof message.metadata?.tool_name === "string" ? message.metadata.tool_name : "tool";
}

function named(model: ModelName): string {
  return [model.provider, model.model].filter(Boolean).join("/") || "The model";
}

/** Adds a fragment to the text that is being written, or begins one. */
function withFragment(items: Item[], fragment: { content: string; metadata?: JsonMap }, requestId: string, at: number): Item[] {
  const metadata = fragment.metadata ?? {};
  const retry = metadata.retry;
  if (retry !== undefined) items = noticed(items, items.length, retryText(retry));
  const reasoning = typeof metadata.reasoning === "string" ? metadata.reasoning : "";
  if (fragment.content !== "" || reasoning !== "") {
    const last = items.at(-1);
    const live: TextItem & { reasoningSince?: number } =
      last?.kind === "text" && last.live ? last : blankText(`${requestId}-t${items.length}`);
    const since = live.reasoningSince ?? (reasoning !== "" ? at : undefined);
    const grown = {
      ...live,
      text: live.text + fragment.content,
      reasoning: live.reasoning + reasoning,
      reasoningSince: since,
      reasonedFor: since === undefined || live.text !== "" ? live.reasonedFor : at - since,
    };
    items = live === last ? [...items.slice(0, -1), grown] : [...items, grown];
  }
  return Array.isArray(metadata.tool_calls) ? metadata.tool_calls.filter(isMap).reduce(withDraft, items) : items;
}

function retryText(retry: JsonMap[string]): string {
  const reason = isMap(retry) && typeof retry.message === "string" ? `: ${retry.message}` : "";
  return `The model server failed and is asked again${reason}`;
}

function blankText(key: string): TextItem {
  return { kind: "text", key, index: null, text: "", reasoning: "", reasonedFor: null, live: true, message: null };
}

/** A call while the model writes it. Fragments of one call share an index or an id. */
function withDraft(items: Item[], fragment: JsonMap): Item[] {
  const read = readCall(fragment);
  const place = fragment.index ?? read?.id ?? "0";
  const callId = `draft-${String(place)}`;
  const inner = isMap(fragment.function) ? fragment.function : fragment;
  const piece = inner.arguments ?? inner.partial_json ?? "";
  const text = typeof piece === "string" ? piece : JSON.stringify(piece);
  const held = items.some((item) => item.kind === "tool" && item.callId === callId);
  if (!held) {
    const draft = { ...blankTool(callId, callId, read?.name ?? "tool", text), status: "writing" as const };
    return [...closed(items), draft];
  }
  return change(items, callId, (tool) => ({ ...tool, arguments: `${typeof tool.arguments === "string" ? tool.arguments : ""}${text}` }));
}

function withoutDrafts(items: Item[]): Item[] {
  return items.some(isDraft) ? items.filter((item) => !isDraft(item)) : items;
}

function isDraft(item: Item): boolean {
  return item.kind === "tool" && item.status === "writing";
}

/** No text is being written any more. */
function closed(items: Item[]): Item[] {
  if (!items.some((item) => item.kind === "text" && item.live)) return items;
  return items.map((item) => (item.kind === "text" && item.live ? { ...item, live: false } : item));
}

function withoutLive(items: Item[]): Item[] {
  return items.filter((item) => item.kind !== "text" || !item.live);
}

function noticed(items: Item[], number: number, text: string): Item[] {
  return [...closed(items), { kind: "notice", key: `n${number}`, tone: "warning", text }];
}

function change(items: Item[], callId: string, edit: (tool: ToolItem) => ToolItem): Item[] {
  let changed = false;
  const next = items.map((item) => {
    if (item.kind !== "tool" || item.callId !== callId) return item;
    changed = true;
    return edit(item);
  });
  return changed ? next : items;
}

function upsert(items: Item[], callId: string, name: string, call: JsonMap, edit: (tool: ToolItem) => ToolItem): Item[] {
  if (items.some((item) => item.kind === "tool" && item.callId === callId)) return change(items, callId, edit);
  const read = readCall(call);
  return [...items, edit(blankTool(`c${callId}`, callId, name, read?.arguments ?? {}))];
}

/** What a running tool says: text, or the event of a request that it works through. */
function withPart(tool: ToolItem, part: unknown, event: Event): ToolItem {
  if (!isMap(part)) return typeof part === "string" ? { ...tool, output: tool.output + part } : tool;
  if (isMap(part.event)) return { ...tool, children: withChildEvent(tool.children, part.event as unknown as Event) };
  if (part.type === "delegate" && typeof part.request_id === "string") {
    const child = newTurn(part.request_id, {
      agentId: typeof part.agent === "string" ? part.agent : null,
      sessionId: typeof part.session_id === "string" ? part.session_id : null,
      began: Date.parse(event.at),
    });
    return tool.children.some((held) => held.requestId === child.requestId)
      ? tool
      : { ...tool, children: [...tool.children, child] };
  }
  const text = part.text ?? part.output ?? part.message ?? part.part;
  return { ...tool, output: tool.output + (typeof text === "string" ? text : `${JSON.stringify(text ?? part)}\n`) };
}

function withChildEvent(children: Turn[], event: Event): Turn[] {
  const requestId = event.request_id;
  if (!requestId) return children;
  const held = children.some((child) => child.requestId === requestId);
  const all = held ? children : [...children, newTurn(requestId)];
  return all.map((child) => (child.requestId === requestId ? applyEvent(child, event) : child));
}
