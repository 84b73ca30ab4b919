// How long a hook that does nothing takes: inside of the SDK, and from pipe to pipe. `node measure.mjs`

import { once } from "node:events";
import { Host, pluginFile } from "./tests/host.mjs";
import { parse, stringify } from "./lib/json.mjs";
import { Server } from "./lib/server.mjs";

const CALLS = 3000;
const HISTORY = 10_000;
const item = (at) => ({ role: "user", content: [{ type: "text", text: `message ${at} of a long conversation` }] });
const state = { config: { model: "m", tools: Array.from({ length: 50 }, (_, at) => ({ name: `tool ${at}`, on: true })) }, request: { temperature: 1 } };

class Nothing {
  initializeRequest({ native_messages, state }) {
    return [native_messages, state];
  }
}

function hook(id, list) {
  const params = { plugin: "Nothing", kind: "feature", hook: "initialize_request", call: id, args: { native_messages: { $list: list }, state }, context: { handles: ["core"] } };
  return JSON.stringify({ jsonrpc: "2.0", id, method: "hook", params });
}

const history = Array.from({ length: HISTORY }, (_, at) => item(at));
const first = hook(1, { slot: 1, keep: 0, items: history });
const cases = { "a tail of 4": (id) => hook(id, { skip: HISTORY - 4, items: history.slice(-4) }), "10,000 items in a slot, 2 of them new": (id) => hook(id, { slot: 1, keep: HISTORY - 2, items: history.slice(-2) }) };

function tell(what, times) {
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.floor(times.length * share)].toFixed(3);
  console.log(`${what}: median ${at(0.5)} ms, p99 ${at(0.99)} ms`);
}

for (const [name, line] of Object.entries(cases)) {
  const server = new Server(async () => ({ Nothing }), { send: (message) => void stringify(message), complain: console.error });
  await server.initialize({ id: 0, params: {} });
  server.take(parse(first));
  const times = [];
  for (let id = 2; id < CALLS; id += 1) {
    const text = line(id);
    const begin = performance.now();
    server.take(parse(text));
    times.push(performance.now() - begin);
  }
  tell(`inside, ${name}`, times.slice(200));
}

const host = new Host(pluginFile(`export ${Nothing}`));
host.described = await host.request("initialize", { protocol: 1 });
for (const [name, line] of Object.entries(cases)) {
  const times = [];
  host.child.stdout.removeAllListeners("data");
  const { stdin, stdout } = host.child;
  stdout.resume();
  stdin.write(`${first}\n`);
  await once(stdout, "data");
  for (let id = 2; id < CALLS; id += 1) {
    const text = `${line(id)}\n`;
    const begin = performance.now();
    stdin.write(text);
    await once(stdout, "data");
    times.push(performance.now() - begin);
  }
  tell(`from pipe to pipe, ${name}`, times.slice(200));
}
host.kill();
