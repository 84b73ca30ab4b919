import assert from "node:assert/strict";
import { test } from "node:test";
import { start } from "./host.mjs";

const state = { config: { model: "m" }, request: { temperature: 1, top: null }, mine: { a: 1, b: { c: 2 } } };
const item = (content) => ({ role: "user", content });

/** A feature with this body of `initializeRequest`. */
const requests = (body) => `export class Greeter { initializeRequest({ native_messages, state }, call) { ${body} } }`;

/** What the host is answered where `initializeRequest` has this body. */
async function outcomes(t, bodies, lists) {
  const answers = [];
  for (const body of bodies) {
    const host = await start(t, requests(body));
    for (const list of lists) answers.push(await host.hook("initialize_request", { native_messages: { $list: list }, state }));
    host.kill();
  }
  return answers;
}

test("nothing changed is null, however it is said", async (t) => {
  const bodies = ["", "return null", "return [native_messages, state]", "return { native_messages, state }", "return [...native_messages]", "return { state: 'keep' }"];
  const answers = await outcomes(t, bodies, [{ slot: 1, keep: 0, items: [item("a"), item("b")] }]);
  assert.deepEqual(answers, bodies.map(() => null));
});

test("lists become edits that count from the start of the whole", async (t) => {
  const tail = { skip: 10, items: [item("a"), item("b"), item("c")] };
  const check = async (body, ...edits) => assert.deepEqual(await outcomes(t, [body], [tail]), [{ native_messages: { edits } }], body);
  const x = { role: "x" };
  await check("return [...native_messages, { role: 'x' }]", { op: "append", items: [x] });
  await check("native_messages.push({ role: 'x' })", { op: "append", items: [x] });
  await check("native_messages.unshift({ role: 'x' })", { op: "replace", start: 10, end: 10, items: [x] });
  await check("native_messages.splice(1, 1)", { op: "replace", start: 11, end: 12, items: [] });
  await check("return native_messages.slice(1)", { op: "replace", start: 10, end: 11, items: [] });
  await check("native_messages[2].content = 'z'", { op: "replace", start: 12, end: 13, items: [item("z")] });
  await check(
    "for (const it of native_messages) if (it.content !== 'b') it.seen = true",
    { op: "replace", start: 10, end: 11, items: [{ ...item("a"), seen: true }] },
    { op: "replace", start: 12, end: 13, items: [{ ...item("c"), seen: true }] },
  );
  await check("return { edits: [] } && { native_messages: { edits: [{ op: 'append', items: [] }] } }", { op: "append", items: [] });
});

test("the state goes as a patch where a patch can say it", async (t) => {
  const check = async (body, change) => assert.deepEqual(await outcomes(t, [body], [{ skip: 0, items: [] }]), [change && { state: change }], body);
  await check("state.mine.b.c = 3", { patch: { mine: { b: { c: 3 } } } });
  await check("delete state.mine.a; return { state }", { patch: { mine: { a: null } } });
  await check("return { state: { ...state, more: 1 } }", { patch: { more: 1 } });
  await check("return { state: { more: 1 } }", { patch: { more: 1 } });
  await check("state.more = null", { replace: { ...state, more: null } });
  await check("state.request.schema = { const: null }; delete state.request.temperature", { patch: { request: { schema: { const: null }, temperature: null } } });
  await check("state.request.temperature = null", { replace: { ...state, request: { temperature: null, top: null } } });
  await check("state.session_metadata_patch = { title: null }", { patch: { session_metadata_patch: { title: null } } });
  await check("return { state: { patch: { x: 1 } } }", { patch: { x: 1 } });
  await check("const unused = structuredClone(state); unused.more = 1", null);
});

test("conversions adjust what the plugins before made", async (t) => {
  const host = await start(t, `export class Tagger {
    to_native_messages({ messages, native_messages }) { return native_messages.map((it, at) => ({ ...it, from: messages[at].role })); }
    fromNativeMessages({ native_messages, messages }) { messages[0].content += native_messages.length; }
  }`);
  const messages = [{ role: "user", content: "a", metadata: {} }];
  assert.deepEqual(await host.hook("to_native_messages", { messages, native_messages: { $list: { skip: 0, items: [{ n: 1 }] } }, state }), {
    edits: [{ op: "replace", start: 0, end: 1, items: [{ n: 1, from: "user" }] }],
  });
  assert.deepEqual(await host.hook("from_native_messages", { native_messages: [{}, {}], messages, state }), {
    edits: [{ op: "replace", start: 0, end: 1, items: [{ ...messages[0], content: "a2" }] }],
  });
});
