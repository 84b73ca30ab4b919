// The helper for the tests of authors.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { tool } from "../index.mjs";
import { testPlugin } from "../testing.mjs";
import { pluginFile } from "./host.mjs";

class Greeter {
  name = "greeter";

  async initializeRequest({ native_messages }, call) {
    call.log("asked");
    const loaded = await call.app.loadSession("s1");
    native_messages.push({ role: "user", content: `${call.config.greeting} ${loaded.session.session_id}` });
  }

  processChunk({ chunk, state }) {
    return { ...chunk, partial: state.config.loud ? "LOUD" : "quiet" };
  }

  executeAction({ session }) {
    return session.messages[0].content;
  }
}

test("a hook without a host", async () => {
  const plugin = await testPlugin(class extends Greeter { kind = "feature"; }, { config: { greeting: "hello" } });
  assert.deepEqual(plugin.description.hooks, ["initialize_request", "execute_action"]);
  const app = { loadSession: ({ session_id }) => ({ agent_id: "a", config: {}, session: { $session: { handle: "h", session_id } } }) };
  const outcome = await plugin.call("initializeRequest", { native_messages: [] }, { app });
  assert.deepEqual(outcome, { native_messages: { edits: [{ op: "append", items: [{ role: "user", content: "hello s1" }] }] } });
  assert.equal(plugin.logged[0].message, "asked");
  await assert.rejects(plugin.call("initialize_request", { native_messages: [] }), { message: /the plugin called app.load_session; give an answer for it: { app: { loadSession/ });
  const session = { session_id: "s", messages: [{ role: "user", content: "hi", metadata: {} }] };
  assert.deepEqual(await plugin.call("executeAction", { session, native_messages: [] }), { message: "hi" });
});

test("a chunk and a stream without a host", async () => {
  const extension = await testPlugin(Greeter);
  const chunk = { partial: { role: "assistant", content: "x" } };
  assert.deepEqual(await extension.call("processChunk", { chunk, state: { config: { loud: true } } }), { partial: { role: "assistant", content: "LOUD" } });
  const counter = await testPlugin(tool({ name: "count", parameters: { to: "integer" }, *run({ to }) { for (let n = 1; n <= to; n += 1) yield n; } }));
  assert.deepEqual(await counter.stream("streamTool", { payload: { to: 2 } }), [{ part: 1 }, { part: 2 }, { success: true, output: "done" }]);
});

test("one plugin of a module", async () => {
  const exports = await import("../../../examples/plugins/typescript/mirror.mjs");
  const mirror = await testPlugin(exports, { name: "mirror" });
  assert.deepEqual(await mirror.call("getModels", { config: {} }), [{ id: "mirror-1" }]);
  await assert.rejects(testPlugin(exports, { name: "other" }), { message: "there is no plugin other; there are: mirror" });
});

test("the test of an author runs by itself", () => {
  const path = pluginFile(`
    import { testPlugin } from "orlop/testing";
    import { tool } from "orlop";
    const add = await testPlugin(tool({ name: "add", parameters: { a: "number" }, run: ({ a }) => a + 1 }));
    console.log(JSON.stringify(await add.call("executeTool", { payload: { a: 1 } })));
  `, "add.test.mjs");
  const register = fileURLToPath(new URL("../register.mjs", import.meta.url));
  const printed = execFileSync(process.execPath, ["--import", register, path], { encoding: "utf8" });
  assert.deepEqual(JSON.parse(printed), { success: true, output: 2 });
});
