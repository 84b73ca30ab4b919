// The host, for tests: starts a plugin as a child process and speaks the protocol with it over pipes.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parse } from "../lib/json.mjs";

process.setMaxListeners(0);
const RUN = fileURLToPath(new URL("../run.mjs", import.meta.url));

/** A folder that is gone when the tests are over. */
export function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), "orlop-sdk-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a plugin into a folder of its own and gives its path. */
export function pluginFile(source, name = "plugin.mjs") {
  const path = join(newFolder(), name);
  writeFileSync(path, source);
  return path;
}

/** Starts the plugin in `source` and initialises it. `context` is that of `node:test`, which ends it. */
export async function start(context, source, options) {
  return startFile(context, pluginFile(source), options);
}

/** The same for a plugin that lies there. */
export async function startFile(context, path, { config = {}, folders = { data: dirname(path) }, run, env } = {}) {
  const host = new Host(path, run, env);
  context.after(() => host.kill());
  host.described = await host.request("initialize", { protocol: 1, orlop: "0.1.0", package: "test", config, folders });
  return host;
}

/** One process and everything that came from it. */
export class Host {
  parts = new Map();
  notified = [];
  log = "";
  #nextId = 100;
  #waiting = new Map();
  #watchers = [];

  constructor(path, run = RUN, env = {}) {
    this.child = spawn(process.execPath, [run, path], { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } });
    this.ended = once(this.child, "close").then(([code]) => code);
    this.child.stdin.on("error", () => {});
    this.child.stderr.setEncoding("utf8").on("data", (text) => {
      this.log += text;
      this.#look();
    });
    createInterface({ input: this.child.stdout }).on("line", (line) => this.#take(parse(line)));
  }

  /** Writes a line as it is. */
  write(line) {
    this.child.stdin.write(`${line}\n`);
  }

  /** Sends a request and gives its result, or throws its error. */
  request(method, params) {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  /** Calls a hook of the only plugin, or of the one named. */
  hook(hook, args = {}, { context = {}, plugin, call = this.#nextId } = {}) {
    const { plugins } = this.described;
    const target = plugins.find((it) => it.name === plugin) ?? plugins[0];
    const handles = { trigger_source: "core", handles: ["core", "app"], ...context };
    return this.request("hook", { plugin: target.name, kind: target.kind, hook, call, args, context: handles });
  }

  /** Answers the requests of the plugin from now on. */
  answer(answers) {
    this.answers = answers;
  }

  cancel(call) {
    this.write(JSON.stringify({ jsonrpc: "2.0", method: "cancel", params: { call } }));
  }

  /** Waits until `test` holds; it is looked at whenever something comes. */
  until(test) {
    return new Promise((resolve, reject) => {
      const hung = setTimeout(() => reject(new Error(`waited in vain for ${test}; the log is:\n${this.log}`)), 20_000);
      this.#watchers.push({ test, resolve: (found) => (clearTimeout(hung), resolve(found)) });
      this.#look();
    });
  }

  kill() {
    this.child.kill("SIGKILL");
  }

  #look() {
    this.#watchers = this.#watchers.filter(({ test, resolve }) => {
      const found = test(this);
      if (found) resolve(found);
      return !found;
    });
  }

  #take(message) {
    if (message.method === "part") {
      const { call, value } = message.params;
      this.parts.set(call, [...(this.parts.get(call) ?? []), value]);
    } else if (message.method && message.id === undefined) {
      this.notified.push(message);
    } else if (message.method) {
      this.#reply(message);
    } else {
      const { resolve, reject } = this.#waiting.get(message.id) ?? { resolve() {}, reject() {} };
      this.#waiting.delete(message.id);
      if (message.error) reject(Object.assign(new Error(message.error.message), message.error));
      else resolve(message.result);
    }
    this.#look();
  }

  async #reply({ id, method, params }) {
    try {
      const result = await this.answers[method](params.args, params);
      this.write(JSON.stringify({ jsonrpc: "2.0", id, result }));
    } catch (error) {
      this.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message: error.message, data: { class: error.class ?? "internal" } } }));
    }
  }
}
