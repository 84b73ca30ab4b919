// `call.core` and `call.app`: the operations of the host, as methods. What they need is given in order, what they may have as
// an object at the end; the names are those of the protocol.

import { camel } from "./hooks.mjs";

export const CORE = {
  create_session: [],
  add_message: ["session", "role", "content"],
  modify_message: ["session", "index", "content"],
  slice_session: ["session"],
  fork_session: ["session"],
  join_sessions: ["prefix", "suffix"],
  rebuild_native_history: ["session"],
  export_session: ["session"],
  import_session: ["data"],
  patch_native_internal_metadata: ["native_messages", "indices", "patch"],
  core_messages_to_native: ["core_messages"],
  send_request: ["session"],
  get_plugins_for_config: [],
  initialize_action_request: ["native_messages", "state"],
  get_available_tools: [],
  get_tool_schemas: [],
  extract_tool_calls_from_messages: ["messages"],
  execute_tool_calls: ["tool_calls"],
  format_tool_call_previews: ["tool_calls"],
  get_session_actions: [],
  execute_session_action: ["session", "plugin_id", "action_id", "params"],
  execute_lifecycle_actions: ["session", "trigger"],
  get_config_schema: [],
  get_ui_schema: [],
  get_completions: ["text"],
  apply_feature_completion: ["text", "completion"],
};

export const APP = {
  load_session: ["session_id"],
  save_session: ["session"],
  create_session: [],
  fork_session: ["session_id"],
  delete_session: ["session_id"],
  list_sessions: [],
  update_agent: ["agent_id", "session"],
  send_request: ["session"],
  publish_event: ["event"],
  acquire_session_lock: ["session_id"],
  list_actions: [],
  execute_action: ["plugin", "action_id", "params"],
  list_assets: ["session_id"],
  read_asset: ["asset_id"],
  put_asset: ["name", "data"],
  get_state: [],
  set_state: ["value"],
};

class Remote {
  /** `request` sends a method with its arguments and gives the promise of its answer, `stream` also what comes on the way. */
  constructor(request, stream) {
    Object.defineProperty(this, "request", { value: request });
    Object.defineProperty(this, "stream", { value: stream });
  }
}

function withMethods(Base, scope, table) {
  for (const [name, needed] of Object.entries(table)) {
    const method = function (...given) {
      const args = { ...given[needed.length] };
      needed.forEach((argument, at) => {
        if (given[at] === undefined) {
          throw new TypeError(`call.${scope}.${camel(name)} needs (${needed.join(", ")}); ${argument} is missing`);
        }
        args[argument] = given[at];
      });
      return this.request(`${scope}.${name}`, args);
    };
    Object.defineProperty(Base.prototype, camel(name), { value: method });
    if (camel(name) !== name) Object.defineProperty(Base.prototype, name, { value: method });
  }
  return Base;
}

/** The operations of the core on the agent of the call. */
export class Core extends Remote {
  /** The same operations on another agent. */
  forAgent(agent) {
    return new Core((method, args) => this.request(method, args, agent), (method, args) => this.stream(method, args, agent));
  }

  /** As `sendRequest`, as events: `partial` as they come, and one `final`. */
  async *streamRequest(session, options = {}) {
    const answer = yield* this.stream("core.send_request", { ...options, session });
    yield { type: "final", ...answer };
  }
}
withMethods(Core, "core", CORE);
Object.defineProperty(Core.prototype, "stream_request", { value: Core.prototype.streamRequest });

/** The application. */
export class App extends Remote {
  /** As `sendRequest`, with each event as it happens. */
  async *streamRequest(session, options = {}) {
    const events = yield* this.stream("app.send_request", { ...options, session });
    yield* events ?? [];
  }

  /** Runs `work` while nobody else changes the session, and gives back what it gives. */
  async withSessionLock(sessionId, work) {
    const lock = await this.acquireSessionLock(sessionId);
    try {
      return await work();
    } finally {
      await lock.release();
    }
  }

  /** The bytes of a file. */
  async readAsset(assetId) {
    const { data } = await this.request("app.read_asset", { asset_id: assetId });
    return new Uint8Array(Buffer.from(data, "base64"));
  }

  /** Keeps a file with a session, or on its own; gives what is known of it. */
  putAsset(name, data, options = {}) {
    return this.request("app.put_asset", { ...options, name, data: Buffer.from(data).toString("base64") });
  }

  /** Takes the lock of a session; `release` it when done. At the end of the call it is given back anyway. */
  async acquireSessionLock(sessionId) {
    const { lock } = await this.request("app.acquire_session_lock", { session_id: sessionId });
    return { lock, release: () => this.request("app.release_session_lock", { lock }) };
  }
}
const { acquire_session_lock: _lock, read_asset: _read, put_asset: _put, ...plain } = APP;
withMethods(App, "app", plain);
Object.defineProperty(App.prototype, "acquire_session_lock", { value: App.prototype.acquireSessionLock });
Object.defineProperty(App.prototype, "read_asset", { value: App.prototype.readAsset });
Object.defineProperty(App.prototype, "put_asset", { value: App.prototype.putAsset });
Object.defineProperty(App.prototype, "stream_request", { value: App.prototype.streamRequest });
