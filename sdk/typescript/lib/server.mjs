// The plugin's side of the protocol: takes the messages of the host one by one and answers them. It knows nothing of pipes.

import { Call, cancelled } from "./call.mjs";
import { copy } from "./copy.mjs";
import { PluginError, toWire } from "./errors.mjs";
import { STREAMS, camel } from "./hooks.mjs";
import { chunkOf, outcomeOf, toolPart, toolReport } from "./outcomes.mjs";
import { pluginsOf, withDefaults } from "./plugins.mjs";
import { receiveAnswer, receiveFields } from "./session.mjs";
import { Slots } from "./lists.mjs";

export const PROTOCOL = 1;
export const SDK = "javascript 0.1.0";
const METHODS = ["initialize", "hook", "cancel", "part", "ping", "shutdown"];
const REMEMBERED_STREAMS = 64;

/** A process with plugins, as the host sees it. */
export class Server {
  #calls = new Map();
  #waiting = new Map();
  #slots = new Slots();
  #streamStates = new Map();
  #plugins = new Map();
  #setup = {};
  #nextRequest = 1;

  /**
   * @param load gives the exports of the module, once
   * @param channel `send(message)` writes one message, and answers with a promise when the pipe is full; `complain(text)`
   *   writes to the log; `end()` ends the process
   */
  constructor(load, channel) {
    this.load = load;
    this.channel = channel;
  }

  /** Takes one message. Lists are read at once, for they build on those that came before. */
  take(message) {
    if (message.method === undefined) return this.#takeAnswer(message);
    if (METHODS.includes(message.method)) return this[message.method](message);
    return this.#refuse(message, new PluginError("method_not_found", `there is no method ${message.method}; known: ${METHODS.join(", ")}`));
  }

  /** Sends a notification. */
  notify(method, params) {
    return this.channel.send({ jsonrpc: "2.0", method, params });
  }

  /** Asks the host; `onPart` hears what comes on the way. */
  request(method, params, onPart) {
    const id = `p${this.#nextRequest++}`;
    return new Promise((resolve, reject) => {
      this.channel.send({ jsonrpc: "2.0", id, method, params });
      this.#waiting.set(id, { resolve, reject, method, call: params.call, onPart });
    });
  }

  async initialize({ id, params = {} }) {
    try {
      if (params.protocol !== undefined && params.protocol !== PROTOCOL) {
        throw new PluginError("bad_argument", `the host speaks protocol ${params.protocol}, this SDK ${PROTOCOL}; update the older one`);
      }
      this.#setup = { package: params.package, config: params.config ?? {}, folders: params.folders ?? {}, orlop: params.orlop };
      const { plugins, warnings } = pluginsOf(await this.load(), this.#setup);
      for (const plugin of plugins) this.#plugins.set(`${plugin.kind} ${plugin.name}`, plugin);
      for (const warning of warnings) this.channel.complain(`warning: ${warning}`);
      const described = plugins.map((plugin) => plugin.description());
      this.#setup.config = withDefaults(this.#setup.config, described);
      this.#answer(id, { protocol: PROTOCOL, sdk: SDK, plugins: described, warnings });
    } catch (error) {
      this.#complainOf(error.cause ?? error);
      this.#answerError(id, error, error.message);
    }
  }

  hook({ id, params }) {
    let plugin, call, given;
    const { hook } = params;
    try {
      // Lists first: even a hook that is refused has filled its slots.
      const input = receiveFields(params.args ?? {}, this.#slots);
      if (params.context) receiveFields(params.context, this.#slots);
      plugin = this.#plugin(params);
      call = new Call(params.call, params.context, this.#setup, this);
      given = this.#lend(plugin, hook, input, params);
    } catch (error) {
      return this.#refuse({ id }, error);
    }
    this.#calls.set(call.id, call);
    const where = plugin.where(hook);
    const finish = (outcome) => this.#settle(call, () => this.#answer(id, outcome, where));
    const fail = (error) => this.#settle(call, () => this.#fail(id, where, error));
    // Nobody waits any more: whatever the method still does, the host is answered at once.
    call.onCancel = () => this.#settle(call, () => this.#answerError(id, cancelled(), "the call was cancelled"));
    try {
      const { method, drained, takesApp } = plugin.methods.get(hook);
      const first = takesApp ? [call.app] : [];
      const returned = method.call(plugin.value, ...first, given.input, call);
      if (drained) return void lastOf(returned).then(finish).catch(fail);
      if (STREAMS.has(hook)) return void this.#stream(plugin, hook, call, returned, given, where).then(finish).catch(fail);
      const shape = (value) => finish(outcomeOf(plugin.kind, hook, value, given, where));
      if (typeof returned?.then === "function") return void returned.then(shape).catch(fail);
      if (isStream(returned)) throw new PluginError("wrong_type", `${where} is a generator, and only streamApi, streamTool and executeTool can be one`);
      return shape(returned);
    } catch (error) {
      return fail(error);
    }
  }

  cancel({ params }) {
    this.#calls.get(params?.call)?.cancel();
  }

  part({ params }) {
    this.#waiting.get(params?.request)?.onPart?.(params.value);
  }

  ping({ id }) {
    this.#answer(id, {});
  }

  shutdown({ id }) {
    for (const call of [...this.#calls.values()]) call.cancel();
    this.#answer(id, {});
    this.channel.end();
  }

  #plugin({ plugin: name, kind, hook }) {
    const plugin = this.#plugins.get(`${kind} ${name}`);
    if (!plugin) throw new PluginError("method_not_found", `there is no ${kind} plugin "${name}" here; there are: ${[...this.#plugins.keys()].join(", ")}`);
    if (plugin.hooks.includes(hook)) return plugin;
    throw new PluginError("method_not_found", `${plugin.label} has no hook ${hook}; it has: ${plugin.hooks.join(", ")}`);
  }

  /** What the method gets, and what its answer is compared with. */
  #lend(plugin, hook, input, params) {
    if (plugin.kind === "host") return { input: camelFields(input) };
    if (hook === "process_chunk") {
      const state = this.#streamState(plugin, params.context, input.input);
      return { state, chunk: input.chunk, input: { chunk: copy(input.chunk), state: copy(state) } };
    }
    const { state } = input;
    if (state === undefined || state === null) return { state: {}, input, lentState: () => input.state };
    let lent;
    Object.defineProperty(input, "state", {
      get: () => (lent ??= copy(state)), set: (value) => { lent = value; }, enumerable: true, configurable: true,
    });
    return { state, input, lentState: () => lent };
  }

  /** The state comes with the first chunk of a stream. */
  #streamState(plugin, context = {}, state) {
    const key = `${plugin.name} ${context.stream} ${context.request_id ?? context.session_id}`;
    if (state === undefined || state === null) return this.#streamStates.get(key) ?? {};
    this.#streamStates.delete(key);
    this.#streamStates.set(key, state);
    if (this.#streamStates.size > REMEMBERED_STREAMS) this.#streamStates.delete(this.#streamStates.keys().next().value);
    return state;
  }

  async #stream(plugin, hook, call, returned, given, where) {
    const isTool = hook === "stream_tool";
    let hasReport = false;
    const send = async (value) => {
      if (call.isOver) return;
      const part = isTool ? toolPart(value) : chunkOf(value, given, where);
      hasReport ||= isTool && "success" in part;
      await this.notify("part", { call: call.id, value: part });
    };
    const last = await eachOf(await returned, send, call);
    if (isTool) {
      if (!hasReport || last !== undefined) await send(toolReport(last));
    } else if (last !== undefined && last !== null) {
      await send(last);
    }
    return null;
  }

  #settle(call, answer) {
    if (call.isOver) return;
    call.isOver = true;
    this.#calls.delete(call.id);
    answer();
    for (const [id, { reject, call: asker }] of this.#waiting) {
      if (asker !== call.id) continue;
      this.#waiting.delete(id);
      reject(call.isCancelled ? cancelled() : new PluginError("bad_state", "the call was over before this was answered; wait for it before the hook returns"));
    }
  }

  #answer(id, result, where) {
    try {
      this.channel.send({ jsonrpc: "2.0", id, result });
    } catch (error) {
      const failure = error instanceof PluginError ? error : new PluginError("wrong_type", `what it returned is no JSON: ${error.message}`);
      this.#fail(id, where, failure);
    }
  }

  #fail(id, where, error) {
    const isOurs = error instanceof PluginError && error.message.startsWith(where);
    if (!isOurs) this.#complainOf(error, where);
    else this.channel.complain(error.message);
    this.#answerError(id, error, isOurs ? error.message : `${where} failed: ${sentenceOf(error)}`);
  }

  #refuse({ id }, error) {
    this.channel.complain(error.message);
    if (id !== undefined) this.#answerError(id, error, error.message);
  }

  #answerError(id, error, message) {
    this.channel.send({ jsonrpc: "2.0", id, error: toWire(error, message) });
  }

  #takeAnswer({ id, result, error }) {
    // Also an answer that nobody waits for any more may have filled slots.
    const waiting = this.#waiting.get(id) ?? { resolve() {}, reject() {} };
    this.#waiting.delete(id);
    if (error) return waiting.reject(PluginError.fromWire(error));
    try {
      return waiting.resolve(waiting.method === "app.get_state" ? result : receiveAnswer(result, this.#slots));
    } catch (failure) {
      return waiting.reject(failure);
    }
  }

  #complainOf(error, where) {
    this.channel.complain(`${where ? `${where} failed: ` : ""}${error?.stack ?? error}`);
  }
}


function sentenceOf(error) {
  if (!(error instanceof Error)) return String(error);
  return error.name === "Error" || error instanceof PluginError ? error.message : `${error.name}: ${error.message}`;
}

function isStream(value) {
  return typeof value === "object" && value !== null && (Symbol.asyncIterator in value || (typeof value.next === "function" && Symbol.iterator in value));
}

/** Gives every value of a generator to `send`, and answers with what it returned. */
async function eachOf(values, send, call) {
  if (!isStream(values)) return values;
  const iterator = values[Symbol.asyncIterator]?.() ?? values[Symbol.iterator]();
  for (;;) {
    const { done, value } = await iterator.next();
    if (done) return value;
    if (call?.isOver) return void (await iterator.return?.());
    await send(await value);
  }
}

/** The report of a tool that gives parts, for a host that wants no parts. */
async function lastOf(returned) {
  let report;
  const last = await eachOf(await returned, async (value) => {
    if ("success" in toolPart(value)) report = value;
  });
  return last === undefined && report !== undefined ? report : toolReport(last);
}

/** Host plugins read camelCase. What is inside of `config`, `headers` and the input of a tool is not ours to rename. */
function camelFields(input) {
  const rename = (fields) => Object.fromEntries(Object.entries(fields).map(([key, value]) => [camel(key), value]));
  const renamed = rename(input);
  if (renamed.request) renamed.request = rename(renamed.request);
  if (renamed.files) renamed.files = renamed.files.map(rename);
  return renamed;
}
