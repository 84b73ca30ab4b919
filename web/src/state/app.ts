//! Everything the page knows, as one value.

import type { Agent, Info, JsonMap, Summary } from "../api/types";
import { type Displays, NO_DISPLAYS } from "../actions/surface";
import type { Conversation } from "./conversation";
import type { Outbox } from "./outbox";
import { Store } from "./store";

export interface Toast {
  id: number;
  tone: "info" | "success" | "error";
  text: string;
  action?: { label: string; run: () => void };
  /** Milliseconds until it goes by itself; `null`: it stays until it is closed. */
  forMs: number | null;
  /** What to do once it is gone and its action was not wanted. */
  onGone?: () => void;
}

export interface SessionList {
  sessions: Summary[];
  next: string | null;
  search: string;
  /** Whether those are listed that were put away. */
  archived: boolean;
  phase: "loading" | "ready" | "failed";
  problem: string | null;
}

export interface Attachment {
  id: string;
  name: string;
  size: number;
  mediaType: string;
  phase: "uploading" | "ready" | "failed";
  problem: string | null;
  assetId: string | null;
  /** Of a picture, for its preview. */
  preview: string | null;
}

export type Panel = "inspector" | null;

export interface AppState {
  /** Whether the server lets us in. */
  access: "asking" | "granted" | "token-needed";
  accessProblem: string | null;
  /** The link by which a session of somebody else is read; then there is nothing else. */
  shared: string | null;
  link: "connecting" | "open" | "waiting";
  /** How often the server came back: what is looked at is read again. */
  returns: number;
  /** What the server allows. */
  info: Info | null;
  agents: Agent[];
  list: SessionList;
  /** The session in view; `null` for one that does not exist yet. */
  openId: string | null;
  /** The message in it to look at, if one was gone to; a new value each time somebody goes there. */
  place: { index: number } | null;
  /** The agent for the next new session. */
  newAgent: string | null;
  /** Its model, where another than the agent's was chosen. */
  newModel: string | null;
  conversation: Conversation | null;
  /** Sessions that somebody is waiting for an answer in, with the request. */
  running: Record<string, string>;
  /** Sessions that ended while nobody looked, or wait for a decision. */
  attention: Record<string, "done" | "asking" | "failed">;
  /** What plugins contribute for the session in view. */
  elements: JsonMap[];
  displays: Displays;
  /** What was sent and has not arrived. */
  outbox: Outbox;
  /** Files of messages that are being written, by session. */
  files: Record<string, Attachment[]>;
  toasts: Toast[];
  panel: Panel;
}

export function initialState(): AppState {
  return {
    access: "asking",
    accessProblem: null,
    shared: null,
    link: "connecting",
    returns: 0,
    info: null,
    agents: [],
    list: { sessions: [], next: null, search: "", archived: false, phase: "loading", problem: null },
    openId: null,
    place: null,
    newAgent: null,
    newModel: null,
    conversation: null,
    running: {},
    attention: {},
    elements: [],
    displays: NO_DISPLAYS,
    outbox: {},
    files: {},
    toasts: [],
    panel: null,
  };
}

export type AppStore = Store<AppState>;

export function newStore(): AppStore {
  return new Store(initialState());
}
