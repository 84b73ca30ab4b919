// Runs the hooks of a plugin without a host, for the tests of its author: `import { testPlugin } from "orlop/testing"`.
// Everything crosses the border as JSON, as it does in earnest.

import { camel, snake } from "./lib/hooks.mjs";
import { parse, stringify } from "./lib/json.mjs";
import { Server } from "./lib/server.mjs";

/**
 * A plugin that is ready to be called.
 * @param plugin a class, an object, what `tool` gave, or the exports of a module (`import * as exports from "./plugin.mjs"`)
 * @param options `config` and `folders` as the host would give them; `name` where the module has several plugins
 */
export async function testPlugin(plugin, { config = {}, folders = {}, name } = {}) {
  const exports = plugin?.[Symbol.toStringTag] === "Module" ? plugin : { plugin };
  const bench = new Bench(exports);
  const described = await bench.send("initialize", { protocol: 1, package: "test", config, folders });
  bench.description = described.plugins.find((it) => name === undefined || it.name === name);
  if (!bench.description) throw new Error(`there is no plugin ${name}; there are: ${described.plugins.map((it) => it.name).join(", ")}`);
  return bench;
}

class Bench {
  /** What the host is told of the plugin. */
  description;
  /** What the plugin wrote to the log, and what it showed of its progress. */
  logged = [];
  progress = [];
  /** What went wrong, as it would stand in the log. */
  complaints = [];
  #server;
  #waiting = new Map();
  #parts = new Map();
  #answers = {};
  #next = 1;

  constructor(exports) {
    const send = (message) => {
      const line = stringify(message);
      queueMicrotask(() => this.#take(parse(line)));
    };
    this.#server = new Server(async () => exports, { send, complain: (text) => this.complaints.push(text), end() {} });
  }

  /**
   * Calls a hook and gives what the host would be answered; `null` means that nothing changes.
   * @param hook `initializeRequest` or `initialize_request`
   * @param input its input; a plain array will do for a list, and a session as `{ session_id, messages, metadata }`
   * @param options `context`; `core` and `app` with functions that answer in place of the host: `{ loadSession: (args) => ... }`
   */
  async call(hook, input = {}, options = {}) {
    return (await this.#run(hook, input, options)).outcome;
  }

  /** Calls a hook that streams, and gives all its parts. */
  async stream(hook, input = {}, options = {}) {
    return (await this.#run(hook, input, options)).parts;
  }

  async #run(hook, input, { context = {}, core = {}, app = {} }) {
    const call = this.#next++;
    this.#answers[call] = { core, app };
    const parts = [];
    this.#parts.set(call, parts);
    const { name, kind } = this.description;
    const isState = kind !== "host" && !("state" in input);
    const args = asArguments(isState ? { ...input, state: { config: {}, request: {} } } : input);
    if ("chunk" in args) args.input = args.state;
    const params = { plugin: name, kind, hook: snake(hook), call, args, context: { trigger_source: "test", handles: ["core", "app"], ...context } };
    return { outcome: await this.send("hook", params), parts };
  }

  /** Sends a request as the host does. */
  send(method, params) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#server.take(parse(stringify({ jsonrpc: "2.0", id, method, params })));
    });
  }

  #take({ id, method, params, result, error }) {
    if (method === "part") this.#parts.get(params.call).push(params.value);
    else if (method === "log") this.logged.push(params);
    else if (method === "progress") this.progress.push(params);
    else if (method) this.#reply(id, method, params);
    else if (error) this.#waiting.get(id).reject(Object.assign(new Error(error.message), { class: error.data?.class }));
    else this.#waiting.get(id).resolve(result);
  }

  async #reply(id, method, { call, args }) {
    const [scope, name] = method.split(".");
    const answers = this.#answers[call][scope];
    const answer = answers[camel(name)] ?? answers[name];
    try {
      if (!answer) throw new Error(`the plugin called ${method}; give an answer for it: { ${scope}: { ${camel(name)}: (args) => ... } }`);
      this.#server.take(parse(stringify({ jsonrpc: "2.0", id, result: (await answer(args)) ?? null })));
    } catch (error) {
      this.#server.take({ jsonrpc: "2.0", id, error: { code: -32000, message: error.message, data: { class: error.class } } });
    }
  }
}

const LISTS = ["native_messages", "final_messages", "messages"];

function asArguments(input) {
  const args = { ...input };
  for (const name of LISTS) if (Array.isArray(args[name])) args[name] = { $list: { skip: 0, items: args[name] } };
  if (args.session && !args.session.$session) {
    const { messages = [], native_messages = null, ...session } = args.session;
    args.session = { $session: { handle: "h1", metadata: {}, ...session, messages: { $list: { skip: 0, items: messages } }, native_messages: native_messages && { $list: { skip: 0, items: native_messages } } } };
  }
  return args;
}
