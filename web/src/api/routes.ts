//! The routes of the HTTP API that the page uses, one function each.

import type { Client } from "./client";
import type {
  ActionDefinition,
  Agent,
  Asset,
  Completion,
  Json,
  JsonMap,
  RememberScope,
  Session,
  Summary,
  TraceEntry,
} from "./types";

const id = encodeURIComponent;

function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString()}`;
}

export interface SessionPage {
  sessions: Summary[];
  next: string | null;
}

export interface Decision {
  decision: "allow" | "deny";
  remember?: RememberScope | null;
  reason?: string;
  input?: Json;
}

export class Api {
  constructor(readonly client: Client) {}

  agents = () => this.client.json<{ agents: Agent[]; default_agent?: string | null }>("/agents");
  models = (agent: string) => this.client.json<{ models: JsonMap[] }>(`/agents/${id(agent)}/models`);
  tools = (agent: string) => this.client.json<{ tools: JsonMap[] }>(`/agents/${id(agent)}/tools`);
  plugins = (agent: string) => this.client.json<{ plugins: JsonMap[] }>(`/agents/${id(agent)}/plugins`);
  configSchema = (agent: string) => this.client.json<{ entries: JsonMap[] }>(`/agents/${id(agent)}/config-schema`);
  uiSchema = (agent: string, session: string | null) =>
    this.client.json<{ elements: JsonMap[] }>(`/agents/${id(agent)}/ui-schema${query({ session_id: session })}`);
  templates = (agent: string) => this.client.json<{ templates: JsonMap[] }>(`/agents/${id(agent)}/templates`);

  sessions = (search: string, cursor: string | null, signal?: AbortSignal) =>
    this.client.json<SessionPage>(`/sessions${query({ query: search, cursor, limit: 50 })}`, { signal });
  createSession = (agent: string | null, metadata?: JsonMap) =>
    this.client.json<Session>("/sessions", { body: { ...(agent ? { agent_id: agent } : {}), ...(metadata ? { metadata } : {}) } });
  session = (session: string, signal?: AbortSignal) => this.client.json<Session>(`/sessions/${id(session)}`, { signal });
  patchSession = (session: string, change: JsonMap) =>
    this.client.json<Json>(`/sessions/${id(session)}`, { method: "PATCH", body: change });
  deleteSession = (session: string) => this.client.json<Json>(`/sessions/${id(session)}`, { method: "DELETE" });
  fork = (session: string, upto: number | null) =>
    this.client.json<Session>(`/sessions/${id(session)}/fork`, { body: upto === null ? {} : { upto_index: upto } });
  slice = (session: string, cut: { start?: number; end?: number; remove_indices?: number[] }) =>
    this.client.json<Json>(`/sessions/${id(session)}/slice`, { body: cut });
  switchAgent = (session: string, agent: string) =>
    this.client.json<Json>(`/sessions/${id(session)}/agent`, { body: { agent_id: agent } });
  exportSession = (session: string) => this.client.json<JsonMap>(`/sessions/${id(session)}/export`);
  importSession = (session: JsonMap) => this.client.json<Session>("/sessions/import", { body: session });

  requestPath = (session: string) => `/sessions/${id(session)}/requests`;
  requestEventsPath = (request: string, after: number | null) => `/requests/${id(request)}/events${query({ after })}`;
  eventsPath = (after: number | null) => `/events${query({ after })}`;
  cancel = (request: string) => this.client.json<Json>(`/requests/${id(request)}/cancel`, { body: { reason: "stopped by the user" } });
  decide = (request: string, call: string, decision: Decision) =>
    this.client.json<Json>(`/requests/${id(request)}/approvals/${id(call)}`, { body: decision as unknown as JsonMap });
  trace = (request: string) => this.client.json<{ trace: TraceEntry[] }>(`/requests/${id(request)}/trace`);

  actions = (session: string | null) => this.client.json<{ actions: ActionDefinition[] }>(`/actions${query({ session_id: session })}`);
  runAction = (plugin: string, action: string, session: string | null, params: JsonMap) =>
    this.client.json<JsonMap>(`/actions/${id(plugin)}/${id(action)}`, {
      body: { ...(session ? { session_id: session } : {}), params },
    });
  completions = (agent: string, session: string | null, text: string, signal?: AbortSignal) =>
    this.client.json<{ completions: Completion[] }>("/completions", {
      body: { agent_id: agent, text, ...(session ? { session_id: session } : {}) },
      signal,
    });
  applyCompletion = (agent: string, session: string | null, text: string, completion: JsonMap) =>
    this.client.json<{ text: string }>("/completions/apply", {
      body: { agent_id: agent, text, completion, ...(session ? { session_id: session } : {}) },
    });
  upload = (file: File) => {
    const form = new FormData();
    form.append("file", file, file.name);
    return this.client.json<Asset>("/assets", { body: form });
  };
  assetPath = (asset: string) => `/assets/${id(asset)}`;
}
