import assert from "node:assert/strict";
import { test } from "node:test";
import { start } from "./host.mjs";

const ADD = `
import { tool } from "orlop";

export default tool({
  name: "add",
  description: "Adds two numbers.",
  parameters: { a: "number", b: "number", "note?": "string" },
  preview: ({ a, b }) => \`\${a} + \${b}\`,
  run({ a, b }) {
    if (b === 0) throw new Error("adding nothing is no use; give another b");
    return a + b;
  },
});
`;

function call(tool_name, payload) {
  return { tool_name, payload, payload_kind: "json", tool_call: {}, prepared: null, state: { config: {}, request: {} } };
}

test("a declared function is a tool", async (t) => {
  const host = await start(t, ADD);
  assert.deepEqual(host.described, {
    protocol: 1,
    sdk: "javascript 0.1.0",
    plugins: [{ name: "add", version: "0.0.0", kind: "tool", hooks: ["get_tool_schemas", "execute_tool", "format_tool_call_preview"] }],
    warnings: [],
  });
  assert.deepEqual(await host.hook("get_tool_schemas", { config: {}, state: {} }), [{
    name: "add",
    description: "Adds two numbers.",
    parameters: {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" }, note: { type: "string" } },
      required: ["a", "b"],
    },
  }]);
  assert.deepEqual(await host.hook("execute_tool", call("add", { a: 1, b: 2 })), { success: true, output: 3 });
  assert.equal(await host.hook("format_tool_call_preview", call("add", { a: 1, b: 2 })), "1 + 2");
});

test("what a declared function throws is for the model to read", async (t) => {
  const host = await start(t, ADD);
  const report = await host.hook("execute_tool", call("add", { a: 1, b: 0 }));
  assert.deepEqual(report, { success: false, error: "adding nothing is no use; give another b" });
  await host.until(({ log }) => log.includes("plugin.mjs:10"));
});
