// The plugins in examples/plugins/typescript, run as the host runs them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { startFile } from "./host.mjs";

const example = (t, name) => startFile(t, fileURLToPath(new URL(`../../../examples/plugins/typescript/${name}`, import.meta.url)));
const state = { config: {}, request: {} };
const whole = (...items) => ({ $list: { slot: 1, keep: 0, items } });
const toolInput = (tool_name, payload) => ({ tool_name, payload, payload_kind: "json", tool_call: {}, prepared: null, state });

test("add", async (t) => {
  const host = await example(t, "add.mjs");
  assert.deepEqual(await host.hook("execute_tool", toolInput("add", { a: 20, b: 22 })), { success: true, output: "42" });
});

test("countdown gives parts, or only the report", async (t) => {
  const host = await example(t, "countdown.ts");
  assert.deepEqual(host.described.plugins[0].hooks, ["get_tool_schemas", "execute_tool", "stream_tool", "format_tool_call_preview"]);
  assert.equal(await host.hook("stream_tool", toolInput("countdown", { from: 2 }), { call: 1 }), null);
  assert.deepEqual(host.parts.get(1), [{ part: "2 ..." }, { part: "1 ..." }, { success: true, output: "lift-off" }]);
  assert.deepEqual(host.notified.map(({ params }) => params.done), [0, 1]);
  assert.deepEqual(await host.hook("execute_tool", toolInput("countdown", { from: 1 })), { success: true, output: "lift-off" });
});

test("my_feature", async (t) => {
  const host = await example(t, "my_feature.ts");
  const [described] = host.described.plugins;
  assert.deepEqual(described, {
    name: "my_feature",
    version: "1.0.0",
    kind: "feature",
    hooks: ["init", "get_tags", "get_ui_elements", "finalize", "get_actions", "execute_action"],
    priority: 100,
    config_schema: { enabled: { type: "boolean", default: true }, max_items: { type: "integer", default: 100 } },
    required_tags: [],
  });
  assert.equal(await host.hook("init", { config: {}, state }), "keep");
  assert.deepEqual(await host.hook("init", { config: { a: 1 }, state }), { patch: { config: { a: 1 } } });
  assert.deepEqual(await host.hook("get_tags", { config: {}, models: [] }), ["my_feature_capable"]);
  assert.equal(await host.hook("finalize", { final_messages: whole({}), native_messages: whole({}), state }), null);

  const items = [1, 2, 3, 4].map((n) => ({ role: "user", content: String(n) }));
  const action = (action_id, params, context) => host.hook("execute_action", {
    action_id, params, state, revision: 0, native_messages: whole(...items),
    session: { $session: { handle: "h1", session_id: "s1", metadata: {}, messages: whole(), native_messages: null } },
  }, { context: { config: {}, ...context } });
  const { native_messages, session_metadata } = await action("summarize_range", { start: 1, end: 3 });
  const summary = { role: "assistant", content: "(2 messages were summarized)" };
  assert.deepEqual(native_messages, { edits: [{ op: "replace", start: 1, end: 3, items: [summary] }] });
  assert.match(session_metadata.last_summarization, /^\d{4}-/);
  assert.deepEqual(await action("other", {}), { native_messages: null, error: { type: "unknown_action", message: "Unknown action: other" } });
  assert.equal((await action("summarize_range", {}, { base_config: { my_feature: { enabled: false } } })).error.type, "disabled");
  assert.equal((await action("summarize_range", {}, { handles: [] })).error.type, "missing_core");
});

test("my_app_plugin", async (t) => {
  const host = await example(t, "my_app_plugin.ts");
  assert.equal(host.described.plugins[0].kind, "application");
  assert.deepEqual(await host.hook("init", { config: { agents: {} } }), { app_config: { agents: {} } });
  const called = [];
  host.answer({
    "app.acquire_session_lock": () => ({ lock: "l1" }),
    "app.release_session_lock": ({ lock }) => void called.push(`released ${lock}`),
    "app.load_session": ({ session_id }) => ({
      agent_id: "a", config: {},
      session: { $session: { handle: "h9", session_id, metadata: { title: "t" }, messages: whole({ role: "user", content: "hi", metadata: {} }), native_messages: null } },
    }),
    "app.save_session": ({ session }) => (called.push(session), { $session: { handle: "h10", session_id: "s1", metadata: {}, messages: whole(), native_messages: null } }),
    "app.publish_event": ({ event }) => (called.push(event), event),
  });
  const run = (action_id) => host.hook("execute_action", { action_id, params: { session_id: "s1" }, state: { app_config: {} } });
  assert.deepEqual(await run("my_action"), {
    mutations: { updated_session_ids: ["s1"] },
    ui_effects: { reload_session_ids: ["s1"] },
    message: "Action completed successfully.",
  });
  assert.deepEqual(called, [
    { $session: { handle: "h9", metadata: { title: "t", my_action_runs: 1 } } },
    "released l1",
    { type: "my_action_complete", session_id: "s1" },
  ]);
  await assert.rejects(run("other"), { message: "MyApplicationPlugin.executeAction failed: there is no action other", data: { class: "not_found" } });
});

test("my_commands", async (t) => {
  const host = await example(t, "my_commands.ts");
  const request = { kind: "stream", tenant_id: "t", user_id: "ada", session_id: "s", agent_id: "a", request_id: "r1" };
  const ask = (text) => host.hook("intercept_chat_request", { request, text, files: [], headers: {} });
  assert.deepEqual(await ask("/ping"), { text: "pong" });
  assert.equal(await ask("hello"), null);
  assert.equal(await host.hook("on_request_start", request), null);
  assert.deepEqual(await ask("/active"), { text: "1 requests are running" });
  await host.hook("on_request_end", request);
  assert.deepEqual(await ask("/active"), { text: "0 requests are running" });
  assert.deepEqual(await host.hook("context_providers", { request, text: "", step: 0 }), ["The user is ada."]);
  const files = [{ id: "1", name: "a.csv", media_type: "text/csv", size: 3, location: "/x/a.csv" }];
  assert.equal(await host.hook("attachment_handler", { request, files }), "a.csv (text/csv) can be read at /x/a.csv");
  const gate = (tool_name) => host.hook("before_tool_call", { request, call_id: "c", tool_name, input: {} });
  assert.deepEqual([await gate("deploy"), await gate("read")], [{ deny: "nothing is deployed from here" }, "allow"]);
});

test("mirror streams", async (t) => {
  const host = await example(t, "mirror.mjs");
  const [{ kind, hooks }] = host.described.plugins;
  assert.deepEqual([kind, hooks], ["provider", ["get_models", "to_native_messages", "from_native_messages", "stream_api"]]);
  const messages = [{ role: "user", content: "ab cd", metadata: {} }];
  const native = await host.hook("to_native_messages", { messages, native_messages: whole(), state });
  assert.deepEqual(native, [{ role: "user", text: "ab cd" }]);
  assert.deepEqual(await host.hook("from_native_messages", { native_messages: whole(...native), messages: whole(), state }), [
    { role: "user", content: "ab cd", metadata: { native_indices: [0] } },
  ]);
  assert.equal(await host.hook("stream_api", { native_messages: whole(...native), state, request_id: "r", stream: true }, { call: 5 }), null);
  assert.deepEqual(host.parts.get(5), [
    { partial: { role: "assistant", content: "dc " } },
    { partial: { role: "assistant", content: "ba" } },
    { final_messages: [{ role: "assistant", text: "dc ba" }] },
  ]);
});

test("quiet", async (t) => {
  const host = await example(t, "quiet.mjs");
  assert.equal(host.described.plugins[0].kind, "extension");
  const chunk = (content) => ({ partial: { role: "assistant", content }, final_messages: [], state: "keep" });
  assert.deepEqual(await host.hook("process_chunk", { input: state, chunk: chunk("HELLO") }), chunk("hello"));
  assert.equal(await host.hook("process_chunk", { input: null, chunk: chunk("hello") }), null);
  const action = (metadata) => host.hook("execute_action", {
    action_id: "ensure_prompt_cache_key", params: {}, state, revision: 0, native_messages: whole(),
    session: { $session: { handle: "h1", session_id: "s1", metadata, messages: whole(), native_messages: null } },
  });
  assert.match((await action({})).session_metadata.overrides.prompt_cache_key, /^[\da-f-]{36}$/);
  assert.deepEqual(await action({ overrides: { prompt_cache_key: "k" } }), { native_messages: null });
});
