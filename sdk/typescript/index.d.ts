// What plugins import: `import { tool, Feature } from "orlop"`. The payloads of the hooks and the operations of the host are in types.d.ts.

import type {
  AppOperations, ApplicationHooks, Chunk, CoreOperations, ExtensionHooks, FeatureHooks, Folders, HookContext, HostHooks, Interception, Json, Message,
  NativeItem, Partial, ProviderHooks, State, StateChange, ToolGate, ToolHooks,
} from "./types.d.ts";

export type * from "./types.d.ts";

/** An array of the history. What it left out in front of its first item counts in `skipped`. */
export type List<T> = T[] & { readonly skipped?: number };

/** One edit of a list. Positions count from the start of the whole history. */
export type Edit<T> =
  | { op: "append"; items: T[] }
  | { op: "replace"; start: number; end: number; items: T[] }
  | { op: "patch_metadata"; indices: number[]; patch: Json };

/** How a list changes: not at all, to this list, or by edits. */
export type Change<T> = null | T[] | { edits: Edit<T>[] };

/** What a method may answer: nothing, a value, or a promise of it. */
export type Answered<T> = T | null | undefined | void | Promise<T | null | undefined | void>;

/** What a method that streams gives: a generator, or anything one can iterate. */
export type Streamed<T> = AsyncIterable<T> | Iterable<T> | Promise<AsyncIterable<T> | Iterable<T>>;

/** The whole state, some entries to lay over it, or a change. */
export type StateAnswer = State | StateChange;
/** A new history and state, as a pair, an object, or the history alone. */
export type RequestAnswer = NativeItem[] | [NativeItem[], StateAnswer?] | { native_messages?: Change<NativeItem>; state?: StateAnswer };
/** New finals, history and state, as a triple or an object, or the finals alone. */
export type FinalizeAnswer =
  | NativeItem[]
  | [NativeItem[], NativeItem[]?, StateAnswer?]
  | { final_messages?: Change<NativeItem>; native_messages?: Change<NativeItem>; state?: StateAnswer };
/** What the model produced: the native items alone, or with more. */
export type ModelCallAnswer =
  | NativeItem[]
  | { partials?: Partial[]; final_messages: NativeItem[]; native_messages?: Change<NativeItem>; state?: StateAnswer };
/** A piece of text, a partial, finished native items, or a chunk. */
export type ChunkAnswer = string | Partial | NativeItem[] | { partial?: string | Partial | null; final_messages?: NativeItem[]; state?: StateAnswer };
/** The result of an action; a string is its message. */
export type ActionAnswer = string | { native_messages?: Change<NativeItem>; session_metadata?: Json; final_messages?: Message[] | null; [key: string]: any };
/** A report (`success` and whatever the tool adds); anything else is the output of a success. */
export type ReportAnswer = unknown;
/** `true` lets the call run, as `"allow"` does. */
export type GateAnswer = true | ToolGate;
/** A string is the answer in place of the agent's. */
export type InterceptAnswer = string | Interception | { text: string; status?: number; data?: Json };

/** A failure that the host can tell from others. */
export class PluginError extends Error {
  constructor(
    errorClass: "bad_argument" | "wrong_type" | "not_found" | "out_of_range" | "bad_state" | "conflict" | "cancelled" | "provider" | "unavailable" | "internal" | (string & {}),
    message: string,
    options?: { retryable?: boolean; contextOverflow?: boolean; cause?: unknown },
  );
  readonly class: string;
  readonly retryable: boolean;
  /** Of a provider: the conversation is too long for the model. It is made shorter and sent again. */
  readonly contextOverflow: boolean;
}

/** A session. One that was not changed goes back to the host as its handle. */
export class Session {
  private constructor();
  session_id: string;
  metadata: Json;
  messages: List<Message>;
  /** `null` where the session has no native history. */
  native_messages: List<NativeItem> | null;
}

/** A session, or the plain JSON of one that the plugin made itself. */
export type AnySession = Session | { session_id: string; messages: Message[]; metadata: Json };

/** What a hook is handed beside its input. It lives as long as the call. */
export interface Call {
  /** The section of this package in the configuration. */
  readonly config: Json;
  /** What the host says of the call: `request_id`, `session_id`, `lifecycle`, ..., for actions also `config` and `base_config`. */
  readonly context: HookContext;
  readonly folders: Folders;
  /** A folder of this package alone, that stays between runs. */
  readonly dataFolder: string;
  /** Aborted when nobody waits for the answer any more. Give it to `fetch`. */
  readonly signal: AbortSignal;
  /** The core of the agent, or `null` where there is none. */
  readonly core: Core | null;
  /** The application, or `null` where there is none. Most of it needs grants. */
  readonly app: App | null;
  /** A JSON value of the plugin that is kept with the session of the call. */
  readonly state: Kept;
  /** A JSON value of the plugin that is kept with the user. */
  readonly userState: Kept;
  /** Writes to the log of the host. */
  readonly log: Log & { debug: Log; info: Log; warn: Log; error: Log };
  /** Shows people how far the call is. */
  progress(message: string, amount?: { done?: number; total?: number }): void;
}

export type Log = (message: string, fields?: Json) => void;

export interface Kept {
  get(): Promise<any>;
  set(value: unknown): Promise<void>;
}

/** The operations of the core. What may be left out is named as in the protocol. */
export interface Core extends CoreOperations {
  /** The same operations on another agent. */
  forAgent(agent: string): Core;
  /** As `sendRequest`, as events: `partial` as they come, and one `final`. */
  streamRequest(session: AnySession, options?: Parameters<CoreOperations["sendRequest"]>[1]): AsyncGenerator<Json, void>;
}

/** The application. Each method needs the grant of its name in the manifest (`load_session`), but for the state. */
export interface App extends AppOperations {
  /** As `sendRequest`, with each event as it happens. */
  streamRequest(session: AnySession, options?: Parameters<AppOperations["sendRequest"]>[1]): AsyncGenerator<Json, void>;
  acquireSessionLock(session_id: string): Promise<{ lock: string; release(): Promise<void> }>;
  /** Runs `work` while nobody else changes the session. */
  withSessionLock<T>(session_id: string, work: () => T | Promise<T>): Promise<T>;
  /** The bytes of a file. */
  readAsset(asset_id: string): Promise<Uint8Array>;
  /** Keeps a file with a session, or on its own; gives what is known of it. */
  putAsset(name: string, data: Uint8Array | string, options?: { media_type?: string; session_id?: string }): Promise<Json>;
}

/** How much of a list a hook is sent: nothing, everything, or so many of the last items. */
export type History = "none" | "full" | number;

/** What the host is told of a plugin. Each may be left out, be a field or a static one, or a method that answers it. */
export interface Settings {
  /** The name of the class, without one. */
  name?: string;
  version?: string;
  priority?: number;
  critical?: boolean;
  configSchema?: Json;
  requiredTags?(): string[];
  forbiddenTags?(): string[];
  usesModels?: boolean;
  discoveryKeys?: string[];
  /** By hook: `history = { finalize: 4, initializeRequest: "none" }`. */
  history?: { [hook: string]: History };
  before?: string[];
  after?: string[];
  getConfigSchema?(): Json;
}

/** Talks to a model server. */
export abstract class Provider {}
export interface Provider extends ProviderHooks, Settings {
  nativeFormat?: string;
  schemaFormat?: string;
  callFormat?: string;
}
/** Stands beside a provider and changes what it streams. */
export abstract class Extension {}
export interface Extension extends ExtensionHooks, Settings {
  /** The provider it stands beside; without it, every one. */
  provider?: string;
}
/** Shapes one session: its history, its settings, the tools on offer. */
export abstract class Feature {}
export interface Feature extends FeatureHooks, Settings {}
/** Gives the model something to do. */
export abstract class Tool {}
export interface Tool extends ToolHooks, Settings {}
/** Works on stored sessions, several at once. */
export abstract class ApplicationPlugin {}
export interface ApplicationPlugin extends ApplicationHooks, Settings {}
/** Stands around every request. */
export abstract class HostPlugin {}
export interface HostPlugin extends HostHooks, Settings {}

type TypeName = "string" | "number" | "integer" | "boolean" | "object" | "array";
type Parameter = TypeName | { type?: TypeName; description?: string; default?: any; enum?: readonly any[]; [keyword: string]: any };
type ValueOf<P> = P extends TypeName ? Named<P> : P extends { enum: readonly (infer E)[] } ? E : P extends { type: infer T } ? Named<T> : any;
type Named<T> = T extends "string" ? string : T extends "number" | "integer" ? number : T extends "boolean" ? boolean : T extends "array" ? any[] : T extends "object" ? Json : any;
type Arguments<P> = P extends { type: "object"; properties: any }
  ? Json
  : { [K in keyof P as K extends `${string}?` ? never : K]: ValueOf<P[K]> } & { [K in keyof P as K extends `${infer Name}?` ? Name : never]?: ValueOf<P[K]> };

/** A function that the model can call. */
export interface ToolDeclaration<P> extends Omit<Settings, "name"> {
  /** By default the name of the function. */
  name?: string;
  /** What it does, for the model. */
  description?: string;
  /** `{ city: "string", "days?": { type: "integer", description: "how many" } }`, or a whole JSON Schema of an object. */
  parameters?: P;
  /** How a call may be treated, for instance `{ access: "none", concurrent: true }`. */
  annotations?: Json;
  /** Runs a call. What it returns is what the model reads; what it throws is a failure the model reads. A generator shows what it yields. */
  run(args: Arguments<P>, call: Call): unknown;
  /** A short text that says what a call is about to do. */
  preview?(args: Arguments<P>, call: Call): string;
}

/** The shortest plugin: a tool from a function. */
export function tool<const P extends { [name: string]: Parameter }>(declaration: ToolDeclaration<P>): object;
export function tool(declaration: ToolDeclaration<any>): object;
