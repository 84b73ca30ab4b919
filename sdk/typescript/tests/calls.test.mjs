// Calls in both directions: sessions with handles, cancelling, streams, prints, floods, the end.

import assert from "node:assert/strict";
import { test } from "node:test";
import { start } from "./host.mjs";

const list = (...items) => ({ $list: { skip: 0, items } });
const session = (handle, fields = {}) => ({
  $session: { handle, session_id: "s1", metadata: {}, messages: list({ role: "user", content: "hi", metadata: {} }), native_messages: null, ...fields },
});
const toolInput = (payload = {}) => ({ tool_name: "t", payload, payload_kind: "json", tool_call: {}, prepared: null, state: {} });

/** A tool with this body. */
const toolOf = (body, star = "") => `
  import { PluginError } from "orlop";
  export class Worker {
    getToolSchemas() { return [{ name: "t" }]; }
    async ${star}executeTool({ payload }, call) { ${body} }
  }`;

test("a session goes back as its handle, with its metadata if that was changed", async (t) => {
  const host = await start(t, `
    export class Slicer {
      async executeAction({ session }, call) {
        const short = await call.core.sliceSession(session, { start: 0, end: 1 });
        const other = await call.core.forAgent("writer").addMessage(short, "user", "more");
        other.metadata.title = "t";
        await call.core.add_message(other, "user", "again");
        const { session: sent, messages: finals } = await call.core.sendRequest(other);
        await call.core.exportSession({ session_id: "mine", messages: [], metadata: {} });
        return { message: sent.session_id + finals[0].content + call.context.session.messages.length };
      }
    }
  `);
  const asked = [];
  const answer = (handle) => (args, { call, agent }) => (asked.push({ args, call, agent }), session(handle));
  host.answer({
    "core.slice_session": answer("h2"),
    "core.add_message": answer("h3"),
    "core.send_request": async () => ({ session: session("h4", { session_id: "s9" }), messages: [{ role: "assistant", content: "ok" }] }),
    "core.export_session": (args) => (asked.push(args), "{}"),
  });
  const input = { action_id: "x", session: session("h1"), native_messages: list(), params: {}, state: {}, revision: 0 };
  const result = await host.hook("execute_action", input, { call: 7, context: { session: session("h1") } });
  assert.deepEqual(result, { message: "s9ok1" });
  assert.deepEqual(JSON.parse(JSON.stringify(asked)), [
    { args: { session: { $session: { handle: "h1" } }, start: 0, end: 1 }, call: 7 },
    { args: { session: { $session: { handle: "h2" } }, role: "user", content: "more" }, call: 7, agent: "writer" },
    {
      args: { session: { $session: { handle: "h3", metadata: { title: "t" } } }, role: "user", content: "again" },
      call: 7,
    },
    { session: { session_id: "mine", messages: [], metadata: {} } },
  ]);
});

test("errors of the host are thrown, with their class", async (t) => {
  const host = await start(t, toolOf(`
    try { await call.app.loadSession("s1"); } catch (error) { return [error instanceof PluginError, error.class, error.message].join(); }
  `));
  host.answer({ "app.load_session": () => { throw Object.assign(new Error("no grant load_session"), { class: "bad_state" }); } });
  assert.equal((await host.hook("execute_tool", toolInput())).output, "true,bad_state,no grant load_session");
});

test("a missing argument is named, and a session given in part is not sent back changed", async (t) => {
  const host = await start(t, `
    export class Slicer {
      async executeAction({ session, params }, call) {
        if (params.missing) return call.core.addMessage(session, "user");
        session.messages[0].content = "changed";
        return call.core.sliceSession(session);
      }
    }
  `);
  const run = (params) => host.hook("execute_action", { action_id: "x", session: session("h1", { messages: { $list: { skip: 3, items: [{}] } } }), native_messages: list(), params, state: {}, revision: 0 });
  await assert.rejects(run({ missing: true }), { message: /addMessage needs \(session, role, content\); content is missing/ });
  await assert.rejects(run({}), { message: /without its first 3 messages.*executeAction: "full"/ });
});

test("state is kept with the session or the user, and a model's words are no sessions", async (t) => {
  const host = await start(t, toolOf(`
    if (payload.echo) return payload;
    await call.state.set({ count: 1 + ((await call.state.get())?.count ?? 0) });
    await call.userState.set("u");
    return call.dataFolder === call.folders.data && call.config.greeting;
  `), { config: { greeting: "hi" }, folders: { data: "/data" } });
  const asked = [];
  host.answer({ "app.get_state": () => ({ count: 4, $list: {} }), "app.set_state": (args) => (asked.push(args), null) });
  assert.equal((await host.hook("execute_tool", toolInput(), { context: { session_id: "s7" } })).output, "hi");
  assert.deepEqual(asked, [{ session_id: "s7", value: { count: 5 } }, { value: "u" }]);
  const echo = { echo: 1, $session: { handle: "h1" }, native_messages: { $list: { slot: 1, keep: 9, items: [] } } };
  assert.deepEqual((await host.hook("execute_tool", toolInput(echo))).output, echo);
  await assert.rejects(host.hook("execute_tool", toolInput()), { message: /belongs to no session/ });
});

test("settings that are not set have their defaults", async (t) => {
  const host = await start(t, `
    export class Sky {
      name = "sky";
      config_schema = { unit: { default: "C" }, greeting: { default: "no" }, "sky.at.depth": { default: 3 }, none: {} };
      getTemplate(input, call) { return JSON.stringify(call.config); }
    }
  `, { config: { greeting: "hi" } });
  assert.deepEqual(JSON.parse(await host.hook("get_template", { config: {} })), { greeting: "hi", unit: "C", at: { depth: 3 } });
});

test("log and progress reach the host, prints only the log", async (t) => {
  const host = await start(t, `console.log("while loading");${toolOf(`
    call.log("one"); call.log.warn("two", { n: 2 }); call.progress("half", { done: 1, total: 2 });
    console.log("printed"); process.stdout.write('{"jsonrpc":"2.0","id":1}\\n'); console.table([1]);
    for await (const _ of process.stdin) throw new Error("the host's words");
  `)}`);
  assert.deepEqual(await host.hook("execute_tool", toolInput(), { call: 3 }), { success: true, output: "done" });
  assert.deepEqual(host.notified.map(({ method, params }) => [method, params]), [
    ["log", { call: 3, level: "info", message: "one" }],
    ["log", { call: 3, level: "warn", message: "two", fields: { n: 2 } }],
    ["progress", { call: 3, message: "half", done: 1, total: 2 }],
  ]);
  await host.until(({ log }) => log.includes("while loading\n") && log.includes("printed\n{\"jsonrpc\""));
});

test("a cancelled call is answered at once, and told so", async (t) => {
  const host = await start(t, toolOf(`
    if (payload.ask) { await call.app.getState().catch((error) => call.log(error.class)); return; }
    call.progress("begun");
    await new Promise((_, reject) => call.signal.addEventListener("abort", () => { console.error("heard it"); reject(call.signal.reason); }));
  `));
  const running = assert.rejects(host.hook("execute_tool", toolInput(), { call: 11 }), { data: { class: "cancelled" } });
  await host.until(({ notified }) => notified.length === 1);
  host.cancel(11);
  host.cancel(12);
  await running;
  await host.until(({ log }) => log.includes("heard it"));
  host.answer({ "app.get_state": () => new Promise(() => {}) });
  const asking = assert.rejects(host.hook("execute_tool", toolInput({ ask: true }), { call: 13 }), { data: { class: "cancelled" } });
  host.cancel(13);
  await asking;
  await host.until(({ notified }) => notified.some(({ params }) => params.message === "cancelled"));
  assert.deepEqual(await host.request("ping"), {});
});

test("a stream that is cancelled ends, with what stands in finally", async (t) => {
  const host = await start(t, toolOf(`
    try { for (let n = 0; ; n += 1) { yield n; await new Promise(setImmediate); } } finally { console.error("cleaned up"); }
  `, "*"));
  const running = assert.rejects(host.hook("stream_tool", toolInput(), { call: 5 }), { data: { class: "cancelled" } });
  await host.until(({ parts }) => parts.get(5)?.length > 2);
  host.cancel(5);
  await running;
  await host.until(({ log }) => log.includes("cleaned up"));
  const { length } = host.parts.get(5);
  await host.request("ping");
  assert.equal(host.parts.get(5).length, length);
});

test("hosts may ask thousands of things at once", async (t) => {
  const host = await start(t, toolOf(`
    const { back } = await call.app.getState({ session_id: String(payload.n) });
    return back;
  `));
  host.answer({ "app.get_state": ({ session_id }) => ({ back: Number(session_id) * 2 }) });
  const numbers = Array.from({ length: 2000 }, (_, n) => n);
  const reports = await Promise.all(numbers.map((n) => host.hook("execute_tool", toolInput({ n }))));
  assert.deepEqual(reports.map(({ output }) => output), numbers.map((n) => n * 2));
});

test("parts wait while the host is slow", async (t) => {
  const host = await start(t, toolOf(`
    if (payload.look) return void console.error("given: " + this.given);
    for (this.given = 0; this.given < 400; this.given += 1) yield "x".repeat(20_000);
  `, "*"));
  host.child.stdout.pause();
  const running = host.hook("stream_tool", toolInput(), { call: 6 });
  host.hook("execute_tool", toolInput({ look: true }));
  await host.until(({ log }) => log.includes("given: "));
  assert.ok(Number(host.log.match(/given: (\d+)/)[1]) < 100, host.log);
  host.child.stdout.resume();
  await running;
  assert.equal(host.parts.get(6).length, 401);
});

test("integers of any size cross as they are", async (t) => {
  const host = await start(t, toolOf(`payload.seen = typeof payload.id; return payload;`));
  host.write('{"jsonrpc":"2.0","id":1,"method":"hook","params":{"plugin":"Worker","kind":"tool","hook":"execute_tool","call":1,"context":{},"args":{"payload":{"id":12345678901234567890,"text":"12345678901234567890, \\"11111111111111111\\"","small":9007199254740991,"float":0.12345678901234566}}}}');
  const line = await new Promise((resolve) => host.child.stdout.once("data", (data) => resolve(String(data))));
  assert.match(line, /"id":12345678901234567890,"text":"12345678901234567890, \\"11111111111111111\\"","small":9007199254740991,"float":0.12345678901234566,"seen":"bigint"/);
});

test("what is no message is skipped, what is no method refused", async (t) => {
  const host = await start(t, toolOf(""));
  host.write("no json");
  host.write("[1]");
  host.write("");
  host.write('{"jsonrpc":"2.0","method":"unknown_notification"}');
  host.write('{"jsonrpc":"2.0","id":"p99","result":1}');
  await assert.rejects(host.request("dance"), { code: -32601, message: /no method dance; known: initialize, hook/ });
  await assert.rejects(host.hook("get_tags"), { code: -32601, message: "Worker has no hook get_tags; it has: get_tool_schemas, execute_tool" });
  await assert.rejects(host.request("hook", { plugin: "x", kind: "tool", hook: "y", call: 1 }), { code: -32601, message: /no tool plugin "x" here; there are: tool Worker/ });
  assert.equal(host.log.match(/a line that is no message was skipped/g).length, 2);
});

test("the process ends with its input, and when it is told to", async (t) => {
  const busy = toolOf("setInterval(() => {}, 1000); await new Promise(() => {});");
  const closed = await start(t, busy);
  closed.hook("execute_tool", toolInput()).catch(() => {});
  closed.child.stdin.end();
  assert.equal(await closed.ended, 0);
  const told = await start(t, busy);
  const running = assert.rejects(told.hook("execute_tool", toolInput()), { data: { class: "cancelled" } });
  assert.deepEqual(await told.request("shutdown"), {});
  await running;
  assert.equal(await told.ended, 0);
});
