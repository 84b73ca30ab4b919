// Generated from docs/schema by generate-types.mjs; do not edit.

import type { AnySession, Answered, Call, Change, List, Session, Streamed } from "./index.d.ts";
import type { ActionAnswer, ChunkAnswer, FinalizeAnswer, GateAnswer, InterceptAnswer, ModelCallAnswer, ReportAnswer, RequestAnswer, StateAnswer } from "./index.d.ts";

/** A JSON object. */
export type Json = { [key: string]: any };

/** One action of a plugin. Keys this type does not name are kept in `extra`. */
export interface ActionDefinition {
  /** The id, unique within the plugin. */
  id: string;
  /** What a button would say. */
  label?: string;
  /** What it does, in a sentence. */
  description?: string | null;
  /** Input name to descriptor (`type`, `required`, `default`, `description`, ...). */
  inputs?: Json;
  /** A lifecycle name or a list of them; absent for actions run by hand only. */
  trigger?: any;
  /** The plugin that owns the action; filled in by the core. */
  plugin?: string | null;
  /** The kind of the owner; filled in by the core. */
  action_owner?: ActionOwner | null;
  [key: string]: any;
}

/** For `execute_action`. */
export interface ActionInput {
  /** Which action. */
  action_id: string;
  /** The session as it is now. */
  session: Session;
  /** Its native history: retained, else converted from the messages. */
  native_messages: List<NativeItem>;
  /** Validated inputs. */
  params: Json;
  /** The state after initialisation. */
  state: State;
  /** Counts the changes of this run; name it as `base_revision` when answering with edits. */
  revision: number;
}

/** Which kind of plugin owns an action. */
export type ActionOwner = "provider_extension" | "feature" | "application";

/** What a session-scoped action answers. Everything but the first four is the public result. */
export interface ActionResult {
  /** The change of native history; absent keeps it. */
  native_messages?: Change<NativeItem>;
  /**
   * The revision of the session that `native_messages` edits and `session_metadata` refer to;
   * absent means the one the action was given.
   */
  base_revision?: number | null;
  /** Keys laid over the session's metadata. */
  session_metadata?: any;
  /** Replacement finals; honoured at `response_finalize` only. */
  final_messages?: Message[] | null;
  [key: string]: any;
}

/** For `get_actions`. */
export interface ActionsInput {
  /** The state after initialisation. */
  state: State;
}

/** For `execute_action` of an application plugin. */
export interface ApplicationActionInput {
  /** The action. */
  action_id: string;
  /** Its inputs, validated against its definition. */
  params: Json;
  /** The state that `init` gave. */
  state: any;
}

/** For `get_actions` of an application plugin. */
export interface ApplicationActionsInput {
  /** The state that `init` gave. */
  state: any;
}

/** For `init` of an application plugin. */
export interface ApplicationInitInput {
  /** The whole configuration of the application. */
  config: Config;
}

/** For `get_ui_elements` of an application plugin. */
export interface ApplicationUiInput {
  /** The state that `init` gave. */
  state: any;
  /** The resolved configuration, where an agent is known. */
  config?: Config | null;
  /** All tags, where an agent is known. */
  tags?: string[] | null;
  /** The models of the provider, where an agent is known. */
  models?: Json[] | null;
}

/** For `apply_completion`. */
export interface ApplyCompletionInput {
  /** The configuration of the agent. */
  config: Config;
  /** The buffer after the completion was applied. */
  text: string;
  /** The completion, as `get_completions` gave it. */
  completion: Json;
}

/** For `attachment_handler`. */
export interface AttachmentInput {
  /** The request. */
  request: RequestInfo;
  /** The files, at least one. */
  files: HostFileInfo[];
}

/** For `attachment_parts`. */
export interface AttachmentPartsInput {
  /** The resolved configuration. */
  config: Config;
  /** The file. */
  file: FileInfo;
}

/** For `cancel_request`. */
export interface CancelInput {
  /** The request to abort. */
  request_id: string;
}

/** One chunk of a provider's stream on its way through the extensions. */
export interface Chunk {
  /** The fragment to show, if the chunk carries one. */
  partial?: Partial | null;
  /** Native items that are finished with this chunk. */
  final_messages?: NativeItem[];
  /** A change of the state. */
  state?: StateChange;
  [key: string]: any;
}

/** For `get_completions`. */
export interface CompletionsInput {
  /** The configuration of the agent. */
  config: Config;
  /** The text before the cursor. */
  text: string;
}

/** The resolved configuration. */
export type Config = Json;

/** For `get_models` and `get_template`. */
export interface ConfigInput {
  /** The resolved configuration. */
  config: Config;
}

/** For `context_providers`. */
export interface ContextInput {
  /** The request. */
  request: RequestInfo;
  /** What the user wrote. */
  text: string;
  /** Which model call of the request this is, from 0. */
  step: number;
}

/** For `to_display_format`. */
export interface DisplayInput {
  /** What the model will read. */
  text: string;
  /** How the call went. */
  result: ToolReport;
  /** The state after initialisation. */
  state: State;
}

/** For `is_enabled`. */
export interface EnabledInput {
  /** The resolved configuration. */
  config: Config;
  /** The tags of the provider and of the plugins enabled so far. */
  tags: string[];
  /** The models of the provider, as far as they are known. */
  models: Json[];
}

/** A file that came with a request. */
export interface FileInfo {
  /** The asset it is stored as. */
  id: string;
  /** The name its user gave it. */
  name: string;
  /** Its media type. */
  media_type: string;
  /** Its size in bytes. */
  size: number;
  /** Where it can be read. */
  location: string;
}

/** What `finalize` changes. For a provider, `final_messages` appended are further finals. */
export interface FinalizeChange {
  /** The change of this turn's finals. */
  final_messages?: Change<NativeItem>;
  /** The change of native history. */
  native_messages?: Change<NativeItem>;
  /** The change of the state. */
  state?: StateChange;
  [key: string]: any;
}

/** For `finalize`. */
export interface FinalizeInput {
  /** The native items this turn produced. */
  final_messages: List<NativeItem>;
  /** The whole native history, finals included. */
  native_messages: List<NativeItem>;
  /** The state of the request. */
  state: State;
}

/** The folders of a package. */
export interface Folders {
  /** Its files. */
  package: string;
  /** Belongs to this package alone, and stays between runs. */
  data: string;
  /** Where people work. */
  work: string;
}

/** For `format_tool_result`. */
export interface FormatResultInput {
  /** How the call went. */
  result: ToolReport;
  /** The state after initialisation. */
  state: State;
}

/** For `from_native_messages`. */
export interface FromNativeInput {
  /** The native items to convert. */
  native_messages: List<NativeItem>;
  /**
   * What the plugins before this one made of them; `metadata.native_indices` are positions
   * in `native_messages`.
   */
  messages: List<Message>;
  /** The state of the request. */
  state: State;
}

/** The answer of a host plugin in place of the agent's. */
export interface Handled {
  /** The status for surfaces that have one. */
  status?: number;
  /** The answer. */
  text?: string;
  /**
   * Whatever else a client may want to know; what is not empty is `metadata.handled` of the
   * message in the final event, with the status.
   */
  data?: Json;
  [key: string]: any;
}

/** What is known of a call beside the input of its hook. Other keys are whatever the caller added. */
export interface HookContext {
  /** Who caused the call, for instance `application`. */
  trigger_source?: string | null;
  /** What the call lends: `core`, `app`. */
  handles?: string[];
  /** The lifecycle that runs. */
  lifecycle?: string | null;
  /** The request it belongs to. */
  request_id?: string | null;
  /** The session it belongs to. */
  session_id?: string | null;
  /** Whether the answer of the model is streamed. */
  stream?: boolean;
  /** The resolved configuration; for actions and `is_enabled`. */
  config?: Json | null;
  /** The configuration of the agent before overrides; for actions and `is_enabled`. */
  base_config?: Json | null;
  /** What the request is about; for actions and `is_enabled`. */
  request_context?: any;
  /** The plugins of the request; for actions and `is_enabled`. */
  request_runtime?: any;
  /** The session; for actions of application plugins. */
  session?: Session | null;
  /** The messages of the answer; for actions after one. */
  final_messages?: Message[] | null;
  /** The native items of the answer; for actions after one. */
  native_final_messages?: List<NativeItem> | null;
  /** The native history; for actions after an answer. */
  native_messages?: List<NativeItem> | null;
  /** Where the turn began in it. */
  turn_native_start_index?: number | null;
  [key: string]: any;
}

/** A file that came with a request. */
export interface HostFileInfo {
  /** The asset it is stored as. */
  id: string;
  /** The name its user gave it. */
  name: string;
  /** Its media type. */
  mediaType: string;
  /** Its size in bytes. */
  size: number;
  /** Where it can be read. */
  location: string;
}

/** For `start` and `stop` of a host plugin. */
export interface HostInput {
  /** The whole configuration of the application. */
  config: Config;
}

/** For `init`. */
export interface InitInput {
  /** The resolved configuration. */
  config: Config;
  /** The state as the plugins before this one left it. */
  state: State;
}

/** For `intercept_chat_request`. */
export interface InterceptInput {
  /** The request. */
  request: RequestInfo;
  /** What the user wrote. */
  text: string;
  /** The files that came with it. */
  files: HostFileInfo[];
  /** The headers, where the surface has some; names in lower case. */
  headers: Json;
}

/**
 * What an interceptor makes of a request. In JSON a rewrite is told from an answer by its key
 * `rewrite`.
 */
export type Interception = Rewrite | Handled;

/** What the actions of a lifecycle did. */
export interface LifecycleRun {
  /** The session after all of them. */
  session: Session;
  /** What each answered. */
  results: any[];
}

/** A session with its agent and that agent's settings. */
export interface Loaded {
  /** The agent of the session. */
  agent_id: string;
  /** Its settings, without what is secret. */
  config: Json;
  /** The session. */
  session: Session;
}

/** One message of the neutral transcript. */
export interface Message {
  role: Role;
  /** Any JSON value, usually a string. */
  content: any;
  metadata: {
    native_indices?: number[];
    tool_calls?: Json[];
    [key: string]: any;
  };
  multipartContent?: Json[];
  tool_result?: Json;
}

/** What `call_api` answers. */
export interface ModelAnswer {
  /** Fragments; ignored by the blocking form. */
  partials?: Partial[];
  /** The native items the model produced. */
  final_messages?: NativeItem[];
  /** The whole native history afterwards; kept = what was sent, then the finals. */
  native_messages?: Change<NativeItem>;
  /** The change of the state. */
  state?: StateChange;
  [key: string]: any;
}

/** For `call_api` and `stream_api`. */
export interface ModelRequest {
  /** The whole native history to send. */
  native_messages: List<NativeItem>;
  /** The state, with the request built. */
  state: State;
  /** The id by which the request can be cancelled. */
  request_id?: string | null;
  /** Whether the caller wants partials. */
  stream: boolean;
}

/** One item of the provider's own history, in the provider's own form. */
export interface NativeItem {
  /** Never sent to the provider. */
  _metadata?: Json;
  [key: string]: any;
}

export interface Partial {
  role: "assistant";
  /** The text since the last partial. */
  content: string;
  metadata?: {
    reasoning?: string;
    tool_calls?: Json[];
    [key: string]: any;
  };
}

/** How the payload of a call is to be read. */
export type PayloadKind = "json" | "text";

/** For `prepare_tools`. */
export interface PrepareInput {
  /** The resolved configuration. */
  config: Config;
  /** The state after initialisation. */
  state: State;
  /** The plugin's own schemas. */
  schemas: Json[];
}

/** What `initialize_request` changes. */
export interface RequestChange {
  /** The change of native history. */
  native_messages?: Change<NativeItem>;
  /** The change of the state. */
  state?: StateChange;
  [key: string]: any;
}

/** What host hooks are told of a request. It has no content. */
export interface RequestInfo {
  /** Whether the answer is streamed. */
  kind: RequestKind;
  /** The tenant. */
  tenantId: string;
  /** The user. */
  userId: string;
  /** The session. */
  sessionId: string;
  /** The agent. */
  agentId: string;
  /** The request. */
  requestId: string;
}

/** For `initialize_request`. */
export interface RequestInput {
  /** The whole native history. */
  native_messages: List<NativeItem>;
  /** The state, with the request being built. */
  state: State;
}

/** How an answer is wanted. */
export type RequestKind = "chat" | "stream";

/** What is asked in place of what the user wrote. Files and parts that are no text stay. */
export interface Rewrite {
  /** The text of the message. */
  rewrite: string;
  /** Kept in the metadata of the message. */
  metadata?: Json;
  /** Settings of this request; those that came with it count more. */
  overrides?: Json;
  /** Further parts of the message, as a surface sends them: text, pictures. They are stored with it. */
  parts?: Json[];
}

/** Who speaks. */
export type Role = "system" | "user" | "assistant" | "tool";

/** What a request to the model gave. */
export interface Sent {
  /** The session with the answer. */
  session: Session;
  /** The messages that were added. */
  messages: Message[];
}

/** One page of sessions. */
export interface SessionPage {
  /** What is known of each. */
  sessions: Json[];
  /** For the next page; `null` at the end. */
  cursor?: string | null;
}

/** Per-request state. Other keys belong to plugins. */
export interface State {
  config?: Json;
  request?: Json;
  session_metadata_patch?: Json;
  [key: string]: any;
}

/** How a hook changes the state. */
export type StateChange = "keep" | {
  patch: Json;
} | {
  replace: Json;
};

/** For `get_tags`. */
export interface TagsInput {
  /** The resolved configuration. */
  config: Config;
  /** The models of the provider, as far as they are known. */
  models: Json[];
}

/** For `to_native_messages`. */
export interface ToNativeInput {
  /** The messages to convert. */
  messages: Message[];
  /** What the plugins before this one made of them. */
  native_messages: List<NativeItem>;
  /** The configuration is `state.config`. */
  state: State;
}

/** For `before_tool_call`. */
export interface ToolCallInfo {
  /** The request. */
  request: RequestInfo;
  /** The id of the call. */
  callId: string;
  /** The tool. */
  toolName: string;
  /** Its input, as the hooks before left it. */
  input: any;
}

/** A tool on offer: its schema and the plugin that runs it. */
export interface ToolDescriptor {
  /** Name, description and parameters; see [`ToolDescriptor::name`]. */
  schema: Json;
  /** The tool plugin. */
  plugin: string;
}

/** What is to become of a tool call. */
export type ToolGate = "allow" | {
  rewrite: any;
} | {
  ask: string;
} | {
  deny: string;
};

/** For `execute_tool`, `stream_tool` and `format_tool_call_preview`. */
export interface ToolInput {
  /** Which tool of the plugin. */
  tool_name: string;
  /** Arguments, or the text of a free-form call. */
  payload: any;
  /** How to read the payload. */
  payload_kind: PayloadKind;
  /** The format the call came in. */
  payload_format?: string | null;
  /** What else the format knows of the payload. */
  payload_metadata?: Json | null;
  /** The call as the model made it. */
  tool_call: Json;
  /** What `prepare_tools` made. */
  prepared: any;
  /** The state after initialisation. */
  state: State;
}

/** A mapping with success is a report; any other is a part, shown to the person. */
export type ToolPart = ToolReport | {
  part: any;
};

/** For `filter_tools`. */
export interface ToolPolicyInput {
  /** The resolved configuration. */
  config: Config;
  /** The catalogue as the features before this one left it. */
  tools: ToolDescriptor[];
}

/**
 * How a tool call went: `success` and whatever the tool adds. A list of parts under
 * `multipart_content`, for instance pictures, goes to the model beside the text.
 */
export interface ToolReport {
  /** Whether it worked. */
  success: boolean;
  [key: string]: any;
}

/** For `after_tool_call`. */
export interface ToolResultInfo {
  /** The request. */
  request: RequestInfo;
  /** The id of the call. */
  callId: string;
  /** The tool. */
  toolName: string;
  /** The input it ran with. */
  input: any;
  /** What the model is to read, as the hooks before left it. */
  result: string;
  /** Whether the call failed. */
  failed: boolean;
}

/** For `get_tool_schemas`. */
export interface ToolSchemasInput {
  /** The resolved configuration. */
  config: Config;
  /** The state after initialisation. */
  state: State;
}

/** For `get_ui_elements`. */
export interface UiInput {
  /** The resolved configuration. */
  config: Config;
  /** All tags. */
  tags: string[];
  /** The models of the provider. */
  models: Json[];
  /** The full tool catalogue. */
  available_tools: ToolDescriptor[];
  /** The catalogue after feature policy. */
  tools: ToolDescriptor[];
}

/** For `process_chunk`. */
export interface ProcessChunkInput {
  /** The chunk. */
  chunk: Chunk;
  /** The state of the request. */
  state: State;
}

/** The hooks of provider plugins. Each may be left out. */
export interface ProviderHooks {
  /** Takes the resolved configuration and the shared state, and puts into the state what the plugin's other hooks will need. Runs once per configuration: provider, extensions, features, tools. */
  init?(input: InitInput, call: Call): Answered<StateAnswer>;
  /** The capabilities the plugin adds to the tag pool. */
  getTags?(input: TagsInput, call: Call): Answered<string[]>;
  /** `false` disables the plugin; `true` and no opinion leave it to the tags. */
  isEnabled?(input: EnabledInput, call: Call): Answered<boolean>;
  /** Buttons, settings and other elements for people. */
  getUiElements?(input: UiInput, call: Call): Answered<any[]>;
  /** The models on offer: mappings with at least an `id`. */
  getModels?(input: ConfigInput, call: Call): Answered<Json[]>;
  /** Converts messages to native items, tool calls, tool results and parts included. */
  toNativeMessages?(input: ToNativeInput, call: Call): Answered<NativeItem[]>;
  /** Converts native items to messages; `metadata.native_indices` of each message says which items it came from. */
  fromNativeMessages?(input: FromNativeInput, call: Call): Answered<Message[]>;
  /** Prepares the outgoing request. */
  initializeRequest?(input: RequestInput, call: Call): Answered<RequestAnswer>;
  /** Sends the request and answers when all of it has come; `None` if the provider only streams. */
  callApi?(input: ModelRequest, call: Call): Answered<ModelCallAnswer>;
  /** Sends the request and gives chunks as they come; `None` if the provider only calls. Dropping the stream must end the request. */
  streamApi?(input: ModelRequest, call: Call): Streamed<ChunkAnswer>;
  /** Runs after the model has answered; may add finals. */
  finalize?(input: FinalizeInput, call: Call): Answered<FinalizeAnswer>;
  /** Aborts a running request; unknown ids are ignored. */
  cancelRequest?(input: CancelInput, call: Call): Answered<void>;
}

/** The hooks of extension plugins. Each may be left out. */
export interface ExtensionHooks {
  /** Takes the resolved configuration and the shared state, and puts into the state what the plugin's other hooks will need. Runs once per configuration: provider, extensions, features, tools. */
  init?(input: InitInput, call: Call): Answered<StateAnswer>;
  /** The capabilities the plugin adds to the tag pool. */
  getTags?(input: TagsInput, call: Call): Answered<string[]>;
  /** `false` disables the plugin; `true` and no opinion leave it to the tags. */
  isEnabled?(input: EnabledInput, call: Call): Answered<boolean>;
  /** Buttons, settings and other elements for people. */
  getUiElements?(input: UiInput, call: Call): Answered<any[]>;
  /** Sees each chunk after the provider and may change what it shows or finishes. Called in place for every chunk: it must not wait. */
  processChunk?(input: ProcessChunkInput, call: Call): Answered<ChunkAnswer>;
  /** Adjusts the native items made from messages. */
  toNativeMessages?(input: ToNativeInput, call: Call): Answered<Change<NativeItem>>;
  /** Adjusts the messages made from native items. */
  fromNativeMessages?(input: FromNativeInput, call: Call): Answered<Change<Message>>;
  /** Adjusts the outgoing request. */
  initializeRequest?(input: RequestInput, call: Call): Answered<RequestAnswer>;
  /** Runs after the model has answered. */
  finalize?(input: FinalizeInput, call: Call): Answered<FinalizeAnswer>;
  /** The actions the extension offers on a session. */
  getActions?(input: ActionsInput, call: Call): Answered<ActionDefinition[]>;
  /** Runs one of them. */
  executeAction?(input: ActionInput, call: Call): Answered<ActionAnswer>;
}

/** The hooks of feature plugins. Each may be left out. */
export interface FeatureHooks {
  /** Takes the resolved configuration and the shared state, and puts into the state what the plugin's other hooks will need. Runs once per configuration: provider, extensions, features, tools. */
  init?(input: InitInput, call: Call): Answered<StateAnswer>;
  /** The capabilities the plugin adds to the tag pool. */
  getTags?(input: TagsInput, call: Call): Answered<string[]>;
  /** `false` disables the plugin; `true` and no opinion leave it to the tags. */
  isEnabled?(input: EnabledInput, call: Call): Answered<boolean>;
  /** Buttons, settings and other elements for people. */
  getUiElements?(input: UiInput, call: Call): Answered<any[]>;
  /** Adjusts the native items made from messages. */
  toNativeMessages?(input: ToNativeInput, call: Call): Answered<Change<NativeItem>>;
  /** Adjusts the messages made from native items. */
  fromNativeMessages?(input: FromNativeInput, call: Call): Answered<Change<Message>>;
  /** Adjusts the outgoing request; may restructure native history. Must be idempotent. */
  initializeRequest?(input: RequestInput, call: Call): Answered<RequestAnswer>;
  /** Adjusts what the model answered, in native form. */
  finalize?(input: FinalizeInput, call: Call): Answered<FinalizeAnswer>;
  /** The actions the feature offers on a session. */
  getActions?(input: ActionsInput, call: Call): Answered<ActionDefinition[]>;
  /** Runs one of them. */
  executeAction?(input: ActionInput, call: Call): Answered<ActionAnswer>;
  /** Removes or replaces tools before the model sees them; `None` leaves them alone. */
  filterTools?(input: ToolPolicyInput, call: Call): Answered<ToolDescriptor[]>;
  /** What a message carries of a file that came with it: content parts; none if it is not this feature's. */
  attachmentParts?(input: AttachmentPartsInput, call: Call): Answered<Json[]>;
  /** A text template for people to start from. */
  getTemplate?(input: ConfigInput, call: Call): Answered<string>;
  /** Completions for the text before the cursor. */
  getCompletions?(input: CompletionsInput, call: Call): Answered<any[]>;
  /** The snippet for an accepted completion; empty if it is not this feature's. */
  applyCompletion?(input: ApplyCompletionInput, call: Call): Answered<string>;
}

/** The hooks of tool plugins. Each may be left out. */
export interface ToolHooks {
  /** Takes the resolved configuration and the shared state, and puts into the state what the plugin's other hooks will need. Runs once per configuration: provider, extensions, features, tools. */
  init?(input: InitInput, call: Call): Answered<StateAnswer>;
  /** The capabilities the plugin adds to the tag pool. */
  getTags?(input: TagsInput, call: Call): Answered<string[]>;
  /** `false` disables the plugin; `true` and no opinion leave it to the tags. */
  isEnabled?(input: EnabledInput, call: Call): Answered<boolean>;
  /** Buttons, settings and other elements for people. */
  getUiElements?(input: UiInput, call: Call): Answered<any[]>;
  /** The tools of the plugin: name, description and a JSON Schema of the parameters. */
  getToolSchemas?(input: ToolSchemasInput, call: Call): Answered<Json[]>;
  /** Computes once per configuration what running and previewing need. */
  prepareTools?(input: PrepareInput, call: Call): Answered<any>;
  /** Runs a call and reports when it is done. */
  executeTool?(input: ToolInput, call: Call): unknown;
  /** Runs a call and gives parts on the way; `None` if the tool only reports at the end. */
  streamTool?(input: ToolInput, call: Call): Streamed<ReportAnswer>;
  /** What the model reads of a report: text, or a structured result. By default the report's `output` or `error`. */
  formatToolResult?(input: FormatResultInput, call: Call): Answered<any>;
  /** What a person sees of a report. By default the text. */
  toDisplayFormat?(input: DisplayInput, call: Call): Answered<any>;
  /** A short text that says what a call is about to do. */
  formatToolCallPreview?(input: ToolInput, call: Call): Answered<string>;
}

/** The hooks of application plugins. Each may be left out. */
export interface ApplicationHooks {
  /** Takes the whole configuration of the application and gives the plugin's state, which its other hooks are handed. Runs once, when the application starts. */
  init?(input: ApplicationInitInput, call: Call): Answered<any>;
  /** Buttons, settings and other elements for people. */
  getUiElements?(input: ApplicationUiInput, call: Call): Answered<any[]>;
  /** The actions the plugin offers, to people and to lifecycles. */
  getActions?(input: ApplicationActionsInput, call: Call): Answered<ActionDefinition[]>;
  /** Runs one of them. Beside its own keys the result may have `mutations`, `ui_effects`, `display`, `message`, `session_metadata`, or `status: error`. */
  executeAction?(input: ApplicationActionInput, call: Call): Answered<ActionAnswer>;
}

/** The hooks of host plugins. Each may be left out. */
export interface HostHooks {
  /** Runs before the first request is taken. If it fails the host does not come up. */
  start?(input: HostInput, call: Call): Answered<void>;
  /** Ends what `start` began. */
  stop?(input: HostInput, call: Call): Answered<void>;
  /** The beginning of a request, before all other hooks. */
  onRequestStart?(input: RequestInfo, call: Call): Answered<void>;
  /** May answer the request in place of the agent, or rewrite what it is asked. The first answer counts; rewrites chain. */
  interceptChatRequest?(input: InterceptInput, call: Call): Answered<InterceptAnswer>;
  /** What to tell the model of the files that came with the request. */
  attachmentHandler?(input: AttachmentInput, call: Call): Answered<string>;
  /** Texts put in front of the request, before each model call. They are not stored. */
  contextProviders?(input: ContextInput, call: Call): Answered<string[]>;
  /** Sees a tool call before it runs: may rewrite its input, ask a person, or refuse. */
  beforeToolCall?(input: ToolCallInfo, call: Call): Answered<GateAnswer>;
  /** Sees the result of a tool call and may replace what the model reads. */
  afterToolCall?(input: ToolResultInfo, call: Call): Answered<string>;
  /** The turn is durable. */
  onTurnPersisted?(input: RequestInfo, call: Call): Answered<void>;
  /** The end of a request, whatever became of it. */
  onRequestEnd?(input: RequestInfo, call: Call): Answered<void>;
}

/** The operations `core.*` of the host. */
export interface CoreOperations {
  /** A new empty session; nothing is stored. */
  createSession(options?: {
    /** Its id; without it, a new one. */
    session_id?: string | null;
  }): Promise<Session>;
  /** Adds a message at the end, or after another. */
  addMessage(session: AnySession, role: Role, content: any, options?: {
    /** Its metadata. */
    metadata?: Json | null;
    /** Its parts. */
    multipart_content?: Json[] | null;
    /** The message it comes after; -1 is the start. */
    after_index?: number | null;
    /** For a tool message: what the tool gave. */
    tool_result?: Json | null;
    /** The configuration. */
    config?: Json | null;
  }): Promise<Session>;
  /** Puts another content into a message. */
  modifyMessage(session: AnySession, index: number, content: any, options?: {
    /** The configuration. */
    config?: Json | null;
  }): Promise<Session>;
  /** Some of the messages. */
  sliceSession(session: AnySession, options?: {
    /** The first message. */
    start?: number | null;
    /** The one after the last. */
    end?: number | null;
    /** Messages to leave out. */
    remove_indices?: number[] | null;
    /** The configuration. */
    config?: Json | null;
  }): Promise<Session>;
  /** The messages up to one of them, that one included, in a session of its own. */
  forkSession(session: AnySession, options: {
    /** The last message. */
    upto_index: number;
    /** The id of the copy; without it, a new one. */
    new_session_id?: string | null;
    /** The configuration. */
    config?: Json | null;
  }): Promise<Session>;
  /** One session after the other. */
  joinSessions(prefix: AnySession, suffix: AnySession, options?: {
    /** The configuration. */
    config?: Json | null;
  }): Promise<Session>;
  /** Makes native history of the messages anew. */
  rebuildNativeHistory(session: AnySession, options?: {
    /** The first message. */
    start?: number | null;
    /** The one after the last. */
    end?: number | null;
    /** The configuration. */
    config?: Json | null;
  }): Promise<Session>;
  /** The session as a text. */
  exportSession(session: AnySession, options?: {
    /** `json`, or another format. */
    format?: string | null;
  }): Promise<string>;
  /** A session from such a text. */
  importSession(data: string, options?: {
    /** `json`, or another format. */
    format?: string | null;
  }): Promise<Session>;
  /** Native items with a patch in the `_metadata` of some of them. */
  patchNativeInternalMetadata(native_messages: NativeItem[], indices: number[], patch: Json): Promise<NativeItem[]>;
  /** Messages in the form of the provider. */
  coreMessagesToNative(core_messages: Message[], options?: {
    /** The configuration. */
    config?: Json | null;
  }): Promise<NativeItem[]>;
  /** Asks the model once. Gives the session with the answer, and the messages that were added. */
  sendRequest(session: AnySession, options?: {
    /** The id of the request; without it, a new one. */
    request_id?: string | null;
    /** The configuration. */
    config?: Json | null;
  }): Promise<Sent>;
  /** The names of the plugins that are active, by kind. */
  getPluginsForConfig(options?: {
    /** The configuration. */
    config?: Json | null;
  }): Promise<Json>;
  /** Prepares native history as for a request. Gives it and the state. */
  initializeActionRequest(native_messages: NativeItem[], state: Json, options: {
    /** The plugins of the request, as the context of the action has them. */
    request_runtime: Json;
    /** What the request is about, as the context of the action has it. */
    request_context: Json;
    /** The configuration. */
    config?: Json | null;
  }): Promise<[NativeItem[], Json]>;
  /** All tools, also those that features hide from the model. */
  getAvailableTools(options?: {
    /** The configuration. */
    config?: Json | null;
  }): Promise<ToolDescriptor[]>;
  /** The tools that the model sees. */
  getToolSchemas(options?: {
    /** The configuration. */
    config?: Json | null;
  }): Promise<Json[]>;
  /** The tool calls that messages of the assistant ask for. */
  extractToolCallsFromMessages(messages: Message[]): Promise<Json[]>;
  /** Runs tool calls as far as permissions allow. Gives one tool message for each. */
  executeToolCalls(tool_calls: Json[], options?: {
    /** Without effect: tools run with the settings of the agent. */
    config?: Json | null;
  }): Promise<Message[]>;
  /** Short texts that say what calls are about to do. */
  formatToolCallPreviews(tool_calls: Json[], options?: {
    /** The configuration. */
    config?: Json | null;
  }): Promise<Json[]>;
  /** The actions that extensions and features offer on a session. */
  getSessionActions(options?: {
    /** The configuration. */
    config?: Json | null;
  }): Promise<ActionDefinition[]>;
  /** Runs one of them. Gives the session and the result. */
  executeSessionAction(session: AnySession, plugin_id: string, action_id: string, params: Json, options?: {
    /** Without effect: actions run with the settings of the agent. */
    config?: Json | null;
  }): Promise<[Session, Json]>;
  /** Runs all actions of a lifecycle. */
  executeLifecycleActions(session: AnySession, trigger: string, options?: {
    /** Without effect: actions run with the settings of the agent. */
    config?: Json | null;
  }): Promise<LifecycleRun>;
  /** The settings of all plugins. */
  getConfigSchema(): Promise<Json[]>;
  /** The elements of all plugins for people. */
  getUiSchema(options?: {
    /** The configuration. */
    config?: Json | null;
  }): Promise<Json[]>;
  /** Completions for the text before the cursor. */
  getCompletions(text: string, options?: {
    /** The configuration. */
    config?: Json | null;
  }): Promise<Json[]>;
  /** The snippet for a completion that was accepted. */
  applyFeatureCompletion(text: string, completion: Json, options?: {
    /** The configuration. */
    config?: Json | null;
  }): Promise<string>;
}

/** The operations `app.*` of the host. */
export interface AppOperations {
  /** A stored session; `null` if there is none. */
  loadSession(session_id: string): Promise<Loaded | null>;
  /** Stores a session, and gives it as it was stored. */
  saveSession(session: AnySession): Promise<Session>;
  /** A new stored session. */
  createSession(options?: {
    /** Whose; without it, of the usual agent. */
    agent_id?: string | null;
    /** Its id; without it, a new one. */
    session_id?: string | null;
    /** Its metadata. */
    metadata?: Json | null;
  }): Promise<Loaded>;
  /** A stored copy of a session, up to one of its messages. */
  forkSession(session_id: string, options?: {
    /** The last message; without it, all. */
    upto_index?: number | null;
    /** The id of the copy; without it, a new one. */
    new_session_id?: string | null;
  }): Promise<Loaded>;
  /** Deletes a stored session. */
  deleteSession(session_id: string, options?: {
    /** Why, for those who look later. */
    reason?: string | null;
  }): Promise<void>;
  /** The stored sessions, page by page. */
  listSessions(options?: {
    /** How many at most. */
    limit?: number | null;
    /** Where the page before ended. */
    cursor?: string | null;
    /** What their titles have in them. */
    search?: string | null;
  }): Promise<SessionPage>;
  /** Gives a session to another agent; nothing is stored. */
  updateAgent(agent_id: string, session: AnySession): Promise<Loaded>;
  /** Sends a request with the whole loop of tools, and gives its events; `null` if they were told as they came. */
  sendRequest(session: AnySession, options?: {
    /** Another agent than that of the session, which needs the grant `update_agent`. */
    agent_id?: string | null;
    /** What a person would say: a text, or a message. */
    message?: any;
    /** Settings for this request alone. */
    overrides?: Json | null;
    /** Whether the session is stored. */
    persist?: boolean | null;
  }): Promise<Json[]>;
  /** Shows an event to all who listen, and gives it as it was published. */
  publishEvent(event: Json): Promise<Json>;
  /** The actions that people can run. */
  listActions(options?: {
    /** Those of this session as well. */
    session_id?: string | null;
  }): Promise<ActionDefinition[]>;
  /** Runs an action, and gives its result. */
  executeAction(plugin: string, action_id: string, params: Json, options?: {
    /** The session it runs on. */
    session_id?: string | null;
  }): Promise<Json>;
  /** What is known of the files of a session. */
  listAssets(session_id: string): Promise<Json[]>;
  /** What `set_state` kept, or `null`. Needs no grant. */
  getState(options?: {
    /** The session it is kept with; without it, the user. */
    session_id?: string | null;
  }): Promise<any>;
  /** Keeps a value of the plugin. Needs no grant. */
  setState(value: any, options?: {
    /** The session it is kept with; without it, the user. */
    session_id?: string | null;
  }): Promise<void>;
}
