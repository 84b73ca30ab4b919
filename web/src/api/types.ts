//! What crosses the wire, as the page reads it. Values from plugins are `Json` until a rule has looked at them.

import type { components } from "./schema";

export type Json = null | boolean | number | string | Json[] | JsonMap;
export type JsonMap = { [key: string]: Json | undefined };

type Schemas = components["schemas"];

/** A type of the document, in which any value is JSON, and a mapping without fields is any mapping. */
type Read<T> = unknown extends T
  ? Json
  : T extends (infer Item)[]
    ? Read<Item>[]
    : T extends Record<string, never>
      ? JsonMap
      : T extends object
        ? { [Key in keyof T]: Read<T[Key]> }
        : T;

export type Role = Schemas["Role"];
export type RememberScope = Schemas["Remember"];
export type RememberOffer = Schemas["RememberOffer"];
export type ModelName = Schemas["ModelName"];
export type SessionState = Schemas["SessionState"];
export type ActionOwner = Schemas["ActionOwner"];
export type Agent = Schemas["AgentView"];
export type PluginNames = Schemas["PluginNames"];
export type Asset = Schemas["AssetView"];
/** A session in the list. Plugins add keys of their own. */
export type Summary = Read<Schemas["SessionSummary"]>;
export type SessionPage = Read<Schemas["SessionPage"]>;
/** The tries of one message. */
export type Tries = Read<Schemas["Tries"]>;
/** How much of its context window a conversation takes. */
export type ContextUse = Schemas["ContextUse"];
/** What came of an action. */
export type ActionOutcome = Read<Schemas["ActionOutcome"]>;
export type NewRequest = Read<Schemas["NewRequest"]>;
export type Verdict = Read<Schemas["Verdict"]>;

/** What the server says of itself before anything else. */
export type Info = Schemas["Info"];
/** A plugin, and how it is doing. Details are told to administrators. */
export type Plugin = Schemas["PluginView"];
/** A link by which others read a session, without what makes it work. */
export type Share = Schemas["ShareView"];
/** A link that was just made; only now it is told. */
export type MadeShare = Schemas["MadeShare"];
/** A session that was found by its words. */
export type Found = Read<Schemas["Found"]>;

/** A message as somebody sees it who reads by a link. */
export type SharedMessage = Message & { index: number };

/** What a link shows of a session. */
export type SharedSession = Omit<Schemas["SharedView"], "messages"> & { messages: SharedMessage[] };

/** One that is not stored yet may have no metadata; plugins and providers put what they like there. */
export type Message = Omit<Read<Schemas["Message"]>, "metadata"> & { metadata?: JsonMap };

/** A session with its messages from `first_index` on. */
export type Session = Pick<Schemas["LoadedSession"], "session_id" | "title" | "revision" | "messages_revision" | "message_count" | "first_index"> & {
  messages: Message[];
  metadata: JsonMap;
};

/** A request and how far it is. */
export type RequestState = Omit<Read<Schemas["RequestView"]>, "status"> & {
  status: "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled";
};

/** Why a request failed. */
export type RequestError = Schemas["RequestError"];

interface EventHead {
  seq: number;
  at: string;
  session_id?: string;
  request_id?: string;
}

type Kind<Type extends string> = Extract<Schemas["Event"], { type: Type }>;

export type EventKind =
  | Kind<"request_started">
  | { type: "partial"; message: { role: Role; content: string; metadata?: JsonMap } }
  | Read<Kind<"tool_call">>
  | Read<Kind<"tool_partial">>
  | { type: "tool_result"; call_id: string; message: Message }
  | Read<Kind<"approval_requested">>
  | Kind<"approval_resolved">
  | Read<Kind<"model_fallback">>
  | Kind<"output_rejected">
  | Kind<"answer_restarted">
  | Read<Kind<"action_result">>
  | (Omit<Read<Kind<"final">>, "messages"> & { messages: Message[] })
  | Kind<"request_failed">
  | Kind<"request_cancelled">
  | Kind<"session_created">
  | Kind<"session_updated">
  | Kind<"session_deleted">
  | Kind<"agent_switched">;

export type Event = EventHead & EventKind;

const ENDINGS = new Set(["final", "request_failed", "request_cancelled"]);

/** Whether an event is the last one of its request. */
export function endsRequest(event: { type: string }): boolean {
  return ENDINGS.has(event.type);
}

export interface Completion {
  replacement: string;
  display: string;
  start: number;
  meta?: string;
}

/** One line of a trace. */
export type TraceEntry = Read<Schemas["TraceEntry"]>;

/** Whether a value is a mapping. */
export function isMap(value: unknown): value is JsonMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
