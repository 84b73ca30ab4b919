// What a hook is handed beside its input: the host, for as long as the call lasts.

import { PluginError } from "./errors.mjs";
import { App, Core } from "./remote.mjs";

const LEVELS = ["debug", "info", "warn", "error"];

/** One call of a hook. */
export class Call {
  #host;
  #abort;
  #core;
  #app;

  constructor(id, context, setup, host) {
    this.id = id;
    this.context = context ?? {};
    this.setup = setup;
    this.isOver = false;
    this.#host = host;
  }

  /** The section of this package in the configuration. */
  get config() {
    return this.setup.config ?? {};
  }

  /** `package`, `data` and `work`. */
  get folders() {
    return this.setup.folders ?? {};
  }

  /** A folder of this package alone, that stays between runs. */
  get dataFolder() {
    return this.folders.data;
  }

  /** Aborted when nobody waits for the answer any more. */
  get signal() {
    this.#abort ??= new AbortController();
    if (this.isCancelled && !this.#abort.signal.aborted) this.#abort.abort(cancelled());
    return this.#abort.signal;
  }

  /** The operations of the core, or `null` where there is none. */
  get core() {
    if (!this.#has("core")) return null;
    const stream = (method, args, agent) => this.#stream(method, args, agent);
    return (this.#core ??= new Core((method, args, agent) => this.#request(method, args, agent), stream));
  }

  /** The application, or `null` where there is none. */
  get app() {
    if (!this.#has("app")) return null;
    return (this.#app ??= new App((method, args) => this.#request(method, args), (method, args) => this.#stream(method, args)));
  }

  /** A JSON value of this plugin that is kept with the session of the call. */
  get state() {
    const session = () => {
      const id = this.context.session_id ?? this.context.session?.session_id;
      if (id === undefined) throw new PluginError("bad_state", "this call belongs to no session; keep the value with call.userState, or name the session: call.app.setState(value, { session_id })");
      return { session_id: id };
    };
    return this.#kept(session);
  }

  /** A JSON value of this plugin that is kept with the user. */
  get userState() {
    return this.#kept(() => ({}));
  }

  /** Writes to the log of the host: `call.log("text")`, `call.log.warn("text", { field: 1 })`. */
  get log() {
    const write = (level) => (message, fields) => {
      this.#host.notify("log", { call: this.id, level, message: String(message), ...(fields && { fields }) });
    };
    return Object.assign(write("info"), Object.fromEntries(LEVELS.map((level) => [level, write(level)])));
  }

  /** Shows people how far the call is. */
  progress(message, { done, total } = {}) {
    if (!this.isOver) this.#host.notify("progress", { call: this.id, message: String(message), done, total });
  }

  /** For the SDK: nobody waits any more. */
  cancel() {
    this.isCancelled = true;
    this.#abort?.abort(cancelled());
    this.onCancel?.();
  }

  #has(handle) {
    return (this.context.handles ?? []).includes(handle);
  }

  #kept(where) {
    const request = async (method, args) => this.#request(`app.${method}`, { ...where(), ...args });
    return { get: () => request("get_state"), set: (value) => request("set_state", { value }) };
  }

  async #request(method, args, agent, onPart) {
    if (this.isOver) throw new PluginError("bad_state", `${method} came after the call was over; wait for it before the hook returns`);
    const params = { call: this.id, args, ...(agent !== undefined && { agent }), ...(onPart && { stream: true }) };
    return this.#host.request(method, params, onPart);
  }

  /** Gives what comes on the way to an answer, as it comes, and returns the answer. */
  async *#stream(method, args, agent) {
    const parts = [];
    let answer, wake;
    const arrived = (note) => (value) => { note(value); wake?.(); };
    this.#request(method, args, agent, arrived((value) => parts.push(value))).then(
      arrived((value) => { answer = { value }; }),
      arrived((error) => { answer = { error }; }),
    );
    while (!answer || parts.length > 0) {
      if (parts.length > 0) yield parts.shift();
      else await new Promise((resolve) => { wake = resolve; });
    }
    if (answer.error) throw answer.error;
    return answer.value;
  }
}

/** Why a cancelled call ended. */
export function cancelled() {
  return new PluginError("cancelled", "the call was cancelled");
}
