//! The routes of the HTTP API that the page uses, one function each.

import type { Client } from "./client";
import type { ActionOutcome, Agent, Asset, Info, JsonMap, Message, Plugin, PluginNames, RequestState, Session, SessionPage, Share, SharedSession, Summary, TraceEntry, Tries, Verdict } from "./types";

const id = encodeURIComponent;

function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString()}`;
}

/** Lists come under `items`. */
interface List<T> {
  items: T[];
}

export class Api {
  constructor(readonly client: Client) {}

  private async list<T>(path: string, signal?: AbortSignal): Promise<T[]> {
    return (await this.client.json<List<T>>(path, { signal })).items;
  }

  info = () => this.client.json<Info>("/info");
  allPlugins = () => this.list<Plugin>("/plugins");
  agents = () => this.list<Agent>("/agents");
  models = (agent: string) => this.list<JsonMap>(`/agents/${id(agent)}/models`);
  tools = (agent: string) => this.list<JsonMap>(`/agents/${id(agent)}/tools`);
  plugins = (agent: string) => this.client.json<PluginNames>(`/agents/${id(agent)}/plugins`);
  uiSchema = (agent: string, session: string | null) => this.list<JsonMap>(`/agents/${id(agent)}/ui-schema${query({ session_id: session })}`);
  templates = (agent: string) => this.list<JsonMap>(`/agents/${id(agent)}/templates`);

  /** Sessions that are not put away, or those that are. */
  sessions = (title: string, archived: boolean, cursor: string | null, signal?: AbortSignal) =>
    this.client.json<SessionPage>(`/sessions${query({ query: title, archived: archived ? "only" : "without", cursor, limit: 50 })}`, { signal });
  /** Sessions in whose messages all these words occur. */
  search = (words: string, signal?: AbortSignal) => this.list<Summary>(`/search${query({ query: words, limit: 30 })}`, signal);
  createSession = (agent: string | null) => this.client.json<Summary>("/sessions", { body: agent ? { agent_id: agent } : {} });
  /** A session; with `last` only its end. */
  session = (session: string, last: number | null, signal?: AbortSignal) =>
    this.client.json<Session>(`/sessions/${id(session)}${query({ last })}`, { signal });
  patchSession = (session: string, change: JsonMap) =>
    this.client.json<Summary>(`/sessions/${id(session)}`, { method: "PATCH", body: change });
  deleteSession = (session: string) => this.client.json<void>(`/sessions/${id(session)}`, { method: "DELETE" });
  /** Positions count for a revision: one that is not the session's any more is a conflict. */
  fork = (session: string, upto: { upto_index: number; revision: number } | null) =>
    this.client.json<Summary>(`/sessions/${id(session)}/fork`, { body: upto ?? {} });
  /** Goes on from before a message of the user, in a session of its own. */
  branch = (session: string, index: number, revision: number) =>
    this.client.json<{ session: Summary; message: Message }>(`/sessions/${id(session)}/branches`, { body: { index, revision } });
  branches = (session: string, index: number) => this.client.json<Tries>(`/sessions/${id(session)}/branches${query({ index })}`);
  slice = (session: string, cut: { start?: number; end?: number; remove_indices?: number[]; revision: number }) =>
    this.client.json<Summary>(`/sessions/${id(session)}/slice`, { body: cut });
  switchAgent = (session: string, agent: string) =>
    this.client.json<Summary>(`/sessions/${id(session)}/agent`, { body: { agent_id: agent } });
  exportSession = (session: string) => this.client.json<JsonMap>(`/sessions/${id(session)}/export`);
  /** Under the id it has, or another one. */
  importSession = (session: JsonMap, as: string | null) => this.client.json<Summary>(`/sessions/import${query({ session_id: as })}`, { body: session });
  undo = (session: string, change: string) =>
    this.client.json<Summary>(`/sessions/${id(session)}/changes/${id(change)}/undo`, { body: {} });

  shares = (session: string) => this.list<Share>(`/sessions/${id(session)}/shares`);
  /** Makes a link; only now it is told. */
  share = (session: string) => this.client.json<Share & { link: string }>(`/sessions/${id(session)}/shares`, { body: {} });
  unshare = (session: string, share: string) => this.client.json<void>(`/sessions/${id(session)}/shares/${id(share)}`, { method: "DELETE" });
  /** What a link shows: the end of a session, or what stands before a position. */
  shared = (link: string, before: number | null, signal?: AbortSignal) =>
    this.client.json<SharedSession>(`/shared/${id(link)}${query({ before })}`, { signal });
  sharedEventsPath = (link: string) => `/shared/${id(link)}/events`;

  requestPath = (session: string) => `/sessions/${id(session)}/requests`;
  /** The requests of a session, the newest first. */
  requests = (session: string, limit: number, signal?: AbortSignal) =>
    this.list<RequestState>(`/sessions/${id(session)}/requests${query({ limit })}`, signal);
  requestEventsPath = (request: string, after: number | null) => `/requests/${id(request)}/events${query({ after })}`;
  /** Whoever wants the fragments of a request follows that request. */
  eventsPath = (after: number | null) => `/events${query({ after, fragments: false })}`;
  cancel = (request: string) => this.client.json<RequestState>(`/requests/${id(request)}/cancel`, { body: { reason: "stopped by the user" } });
  decide = (request: string, call: string, decision: Verdict) =>
    this.client.json<RequestState>(`/requests/${id(request)}/approvals/${id(call)}`, { body: decision as unknown as JsonMap });
  trace = (request: string) => this.list<TraceEntry>(`/requests/${id(request)}/trace`);

  runAction = (plugin: string, action: string, session: string | null, params: JsonMap) =>
    this.client.json<ActionOutcome>(`/actions/${id(plugin)}/${id(action)}`, {
      body: { ...(session ? { session_id: session } : {}), params },
    });
  completions = async (agent: string, session: string | null, text: string, signal?: AbortSignal) =>
    (await this.client.json<List<JsonMap>>("/completions", { body: { agent_id: agent, text, ...(session ? { session_id: session } : {}) }, signal })).items;
  applyCompletion = (agent: string, session: string | null, text: string, completion: JsonMap) =>
    this.client.json<{ text: string }>("/completions/apply", {
      body: { agent_id: agent, text, completion, ...(session ? { session_id: session } : {}) },
    });
  /** The bytes of a file. */
  asset = async (asset: string, signal?: AbortSignal) => (await this.client.raw(`/assets/${id(asset)}`, { signal })).blob();
  /** Fails where the file is not there. */
  findAsset = (asset: string) => this.client.raw(`/assets/${id(asset)}`, { method: "HEAD" });
  upload = (file: File) => {
    const form = new FormData();
    form.append("file", file, file.name);
    return this.client.json<Asset>("/assets", { body: form });
  };
}
