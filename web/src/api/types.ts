//! What crosses the wire, as the page reads it. Values from plugins are `Json` until a rule has looked at them.

export type Json = null | boolean | number | string | Json[] | JsonMap;
export type JsonMap = { [key: string]: Json | undefined };

export type Role = "system" | "user" | "assistant" | "tool";

export interface Message {
  role: Role;
  content: Json;
  metadata?: JsonMap;
  multipartContent?: JsonMap[];
  tool_result?: JsonMap;
}

/** A session in the list. Plugins add keys of their own. */
export interface Summary {
  session_id: string;
  agent_id: string | null;
  title: string | null;
  created_at: string;
  updated_at: string;
  revision: number;
  message_count: number;
  [plugin: string]: Json | undefined;
}

/** A session with its messages from `first_index` on. */
export interface Session {
  session_id: string;
  revision: number;
  message_count: number;
  first_index: number;
  messages: Message[];
  metadata: JsonMap;
}

/** A request and how far it is. */
export interface RequestState {
  request_id: string;
  session_id: string;
  status: "running" | "waiting" | "completed" | "failed" | "cancelled";
  agent_id: string | null;
  step: number;
  created_at: string | null;
  updated_at: string | null;
  usage: JsonMap;
  error: RequestError | null;
}

export interface SessionState {
  revision: number;
  message_count: number;
  title?: string | null;
}

export interface ModelName {
  provider?: string;
  model?: string;
}

export interface RequestError {
  type: string;
  message: string;
  retryable?: boolean;
  context_overflow?: boolean;
}

export type RememberScope = "session" | "always";

export interface RememberOffer {
  scope: RememberScope;
  rule: string;
}

interface EventHead {
  seq: number;
  at: string;
  session_id?: string;
  request_id?: string;
}

export type EventKind =
  | { type: "request_started"; agent_id: string; message_index?: number }
  | { type: "partial"; message: { role: Role; content: string; metadata?: JsonMap } }
  | { type: "tool_call"; call_id: string; name: string; call: JsonMap; preview?: string }
  | { type: "tool_partial"; call_id: string; part: Json }
  | { type: "tool_result"; call_id: string; message: Message }
  | {
      type: "approval_requested";
      call_id: string;
      name: string;
      call: JsonMap;
      input: Json;
      reason: string;
      choices: string[];
      form?: JsonMap;
      remember?: RememberOffer[];
    }
  | { type: "approval_resolved"; call_id: string; decision: string; by: string; remember?: RememberScope }
  | { type: "model_fallback"; from: ModelName; to: ModelName; error: JsonMap }
  | { type: "output_rejected"; problems: string[] }
  | { type: "action_result"; plugin: string; action_id: string; result: JsonMap }
  | { type: "final"; messages: Message[]; session: SessionState; usage?: JsonMap; model?: ModelName }
  | { type: "request_failed"; error: RequestError }
  | { type: "request_cancelled"; reason: string }
  | { type: "session_created"; agent_id?: string; forked_from?: string }
  | { type: "session_updated"; session: SessionState; change: string }
  | { type: "session_deleted" }
  | { type: "agent_switched"; previous_agent_id?: string; next_agent_id: string };

export type Event = EventHead & EventKind;

const ENDINGS = new Set(["final", "request_failed", "request_cancelled"]);

/** Whether an event is the last one of its request. */
export function endsRequest(event: { type: string }): boolean {
  return ENDINGS.has(event.type);
}

/** An `ActionElement`'s owner decides nothing but is passed through; see `actions/elements.ts`. */
export type ActionOwner = "provider_extension" | "feature" | "application";

export interface ActionDefinition {
  id: string;
  label: string;
  description?: string;
  inputs: { [name: string]: JsonMap };
  trigger?: Json;
  plugin?: string;
  action_owner?: ActionOwner;
}

export interface Agent {
  agent_id: string;
  description?: string | null;
  provider?: string | null;
  model?: string | null;
  default: boolean;
  usable: boolean;
}

export interface Completion {
  replacement: string;
  display: string;
  start: number;
  meta?: string;
}

export interface Asset {
  id: string;
  name: string;
  media_type: string;
  size: number;
}

/** The names of the plugins of an agent, by kind. */
export interface PluginNames {
  providers: string[];
  extensions: string[];
  features: string[];
  tools: string[];
}

/** What came of an action. */
export interface ActionOutcome {
  plugin: string;
  action_id: string;
  result: JsonMap;
  change_id: string | null;
}

export interface TraceEntry {
  kind: string;
  start_us: number;
  duration_us: number;
  outcome: string;
  plugin?: string;
  plugin_kind?: string;
  hook?: string;
  action?: string;
  lifecycle?: string;
  operation?: string;
  detail?: Json;
  change?: Json;
}

/** Whether a value is a mapping. */
export function isMap(value: unknown): value is JsonMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
