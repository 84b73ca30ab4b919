// Plugins of every kind with every hook. Each call is noted in a file; what they say is in scene.json.

import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { PluginError } from "orlop";

const DATA = process.env.PLUGIN_DATA;
const SCENE = JSON.parse(readFileSync(new URL("scene.json", import.meta.url), "utf8"));

function note(kind, hook, input, { context }) {
  const config = input.state?.config ?? input.config ?? context.config ?? {};
  const agent = kind === "host" ? (input.agentId ?? input.request?.agentId) : config.model;
  const told = [kind, hook, context.lifecycle, agent, context.request_id];
  appendFileSync(join(DATA, "notes"), `${told.map((it) => it ?? "-").join("\t")}\n`);
}

function reply(native) {
  const last = native.at(-1);
  const asked = last.role === "user" ? String(last.content) : "";
  if (asked.includes("$broken")) throw new PluginError("provider", "the model is at sea");
  if (asked.includes("$crash")) process.exit(7);
  const word = Object.keys(SCENE.replies).find((it) => String(last.content).includes(it));
  if (last.role !== "user" || word === undefined) return { role: "assistant", content: "done" };
  if (word === "$overflow" && !existsSync(join(DATA, "overflow"))) {
    writeFileSync(join(DATA, "overflow"), "");
    throw new PluginError("provider", "too long", { contextOverflow: true });
  }
  return { role: "assistant", content: "", calls: SCENE.replies[word] };
}

function fromNative({ role, content, calls, answers }, at) {
  const metadata = { native_indices: [at] };
  if (calls) metadata.tool_calls = calls;
  if (answers) metadata.tool_call_id = answers;
  return { role, content, metadata };
}

const OWN = {
  to_native_messages: ({ messages }) =>
    messages.map(({ role, content, metadata }) => ({ role, content, calls: metadata?.tool_calls ?? null, answers: metadata?.tool_call_id ?? null })),
  from_native_messages: ({ native_messages }) => native_messages.map(fromNative),
  call_api: ({ native_messages }) => [reply(native_messages)],
  async *stream_api({ native_messages }, call) {
    yield "done";
    if (String(native_messages.at(-1).content).includes("$wait")) {
      while (!existsSync(join(DATA, "release")) && !call.signal.aborted) await pause(10);
    }
    yield { final_messages: [reply(native_messages)] };
  },
  execute_tool: ({ payload }) => (payload.fail ? { success: false, error: "it failed" } : { success: true, output: "noted" }),
  async *stream_tool() {
    yield "half";
    yield { success: true, output: "flowed" };
  },
};

function method(kind, hook, says) {
  const own = kind === "provider" || kind === "tool" ? OWN[hook] : undefined;
  return (input, call) => {
    note(kind, hook, input, call);
    return own ? own(input, call) : says[hook];
  };
}

export default SCENE.plugins.map(({ kind, name, hooks, says }) => ({
  kind,
  name,
  priority: 0,
  usesModels: true,
  ...Object.fromEntries(hooks.map((hook) => [hook, method(kind, hook, says)])),
}));
