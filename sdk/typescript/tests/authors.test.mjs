// What authors get wrong, and what they are told. Also what they may leave out.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import * as module from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Host, newFolder, pluginFile, start, startFile } from "./host.mjs";

const state = { config: {}, request: {} };
const list = (...items) => ({ $list: { skip: 0, items } });

test("a wrong answer is told with class, method, what came and what was expected", async (t) => {
  const host = await start(t, `
    export class Wrong {
      initializeRequest({ native_messages }, { config }) { return answer(native_messages); }
      getTags() { return [1]; }
      isEnabled() { return "yes"; }
      getActions() { return [{ label: "no id" }]; }
      filterTools() { return { tools: [] }; }
      getTemplate() { return 7; }
      async executeAction() { const it = {}; it.it = it; return it; }
      finalize({ final_messages }) { final_messages.push("text"); }
      *getCompletions() { yield 1; }
    }
    let next = 0;
    const answers = [() => "text", () => ({ messages: [] }), () => ({ state: 3 }), (list) => [...list, "x"], () => ({ native_messages: 5 }), () => { throw new TypeError("it broke"); }, () => { throw "a text"; }];
    const answer = (list) => answers[next++](list);
  `);
  const said = async (hook, args) => (await host.hook(hook, args).then(() => assert.fail(`${hook} went well`), (error) => error)).message;
  const request = () => said("initialize_request", { native_messages: list(), state });
  assert.equal(await request(), 'Wrong.initializeRequest returned the string "text"; expected [native_messages, state], an object with these, or nothing');
  assert.equal(await request(), "Wrong.initializeRequest returned an object with messages; expected only native_messages, state");
  assert.equal(await request(), 'Wrong.initializeRequest: the returned state is the number "3"; expected the state (an object), { patch: {...} }, { replace: {...} }, "keep", or nothing');
  assert.equal(await request(), 'Wrong.initializeRequest: native_messages has the string "x" in it; expected objects only');
  assert.equal(await request(), 'Wrong.initializeRequest: native_messages is the number "5"; expected an array of objects, { edits: [...] }, or nothing');
  assert.equal(await request(), "Wrong.initializeRequest failed: TypeError: it broke");
  assert.equal(await request(), "Wrong.initializeRequest failed: a text");
  assert.equal(await said("get_tags"), "Wrong.getTags returned an array of 1; expected an array of strings, or nothing");
  assert.equal(await said("is_enabled"), 'Wrong.isEnabled returned the string "yes"; expected true, false, or nothing');
  assert.equal(await said("get_actions"), "Wrong.getActions returned an array of 1; expected an array of actions (objects with an id), or nothing");
  assert.equal(await said("filter_tools"), "Wrong.filterTools returned an object with tools; expected an array of objects, or nothing");
  assert.equal(await said("get_template"), 'Wrong.getTemplate returned the number "7"; expected a string, or nothing');
  assert.match(await said("execute_action", { native_messages: list() }), /^Wrong.executeAction failed: what it returned is no JSON: Converting circular structure/);
  assert.equal(await said("finalize", { final_messages: list(), native_messages: list(), state }), 'Wrong.finalize: final_messages has the string "text" in it; expected objects only');
  assert.match(await said("get_completions"), /^Wrong.getCompletions is a generator, and only streamApi/);
  await host.until(({ log }) => /TypeError: it broke\n\s+at .*plugin.mjs:/.test(log));
  assert.deepEqual(await host.request("ping"), {}, "the process is still there");
});

test("what goes wrong in the background ends nothing", async (t) => {
  const host = await start(t, `
    export class Restless {
      getTags() { setImmediate(() => { throw new Error("in a timer"); }); Promise.reject(new Error("not waited for")); return "tag"; }
    }
  `);
  assert.deepEqual(await host.hook("get_tags"), ["tag"]);
  await host.until(({ log }) => log.includes("in a timer") && log.includes("not waited for"));
  assert.deepEqual(await host.hook("get_tags"), ["tag"]);
});

test("kinds are told by methods, and said where they are not clear", async (t) => {
  const host = await start(t, `
    import { Feature, HostPlugin, Tool as Base } from "orlop";
    import { EventEmitter } from "node:events";
    export { Feature, EventEmitter };
    export class A { call_api() {} }
    export class B { streamApi() {} processChunk() {} }
    export class C { getToolSchemas() {} executeTool() {} processChunk() {} }
    export class D { processChunk() {} }
    export class E { executeAction(app, input, call) {} }
    export class F { executeAction(input, call) {} }
    export class G { onRequestStart(ctx) {} }
    export class H { contextProviders = [() => "now", "then"]; }
    export class I { static kind = "application"; executeAction(input) {} }
    export class J { kind = "feature"; processChunk() {} }
    export class K extends HostPlugin { name = "kay"; }
    export class L { initializeRequest = () => null; static version = "2.0.0"; static before = "x"; history = { initializeRequest: 2, finalize: "none" }; requiredTags() { return ["t"]; } usesModels = false; }
    export class Helper { help() {} }
    export const word = 1, fn = () => 1, M = { name: "em", start() {} };
    class N extends Base { name = "inner"; get_tool_schemas() {} execute_tool() {} }
    export default [N, D];
  `);
  const kinds = Object.fromEntries(host.described.plugins.map(({ name, kind }) => [name, kind]));
  assert.deepEqual(kinds, {
    A: "provider", B: "provider", C: "tool", D: "extension", E: "application", F: "feature", G: "host", H: "host", I: "application",
    J: "feature", L: "feature", em: "host", inner: "tool", kay: "host",
  });
  assert.deepEqual(host.described.plugins.find(({ name }) => name === "L"), {
    name: "L", version: "2.0.0", kind: "feature", hooks: ["initialize_request"], before: ["x"], required_tags: ["t"], uses_models: false,
    history: { initialize_request: { tail: 2 }, finalize: "none" },
  });
  await host.until(({ log }) => log.includes('J.processChunk is a hook of extension plugins, but this is a feature plugin, so it is never called; set kind = "extension"'));
  assert.deepEqual(await host.hook("context_providers", {}, { plugin: "H" }), ["now", "then"]);
});

test("the application comes first where a method asks for it so", async (t) => {
  const host = await start(t, "export class E { async executeAction(app, { params }, call) { return app.getState({ session_id: params.id }); } }");
  host.answer({ "app.get_state": ({ session_id }) => ({ session_id }) });
  assert.deepEqual(await host.hook("execute_action", { action_id: "x", params: { id: "s1" }, state: null }), { session_id: "s1" });
});

test("a name that is almost a hook is asked about", async (t) => {
  const host = await start(t, "export class Typo { initialiseRequest() {} getTags() {} } export class Stray { initialiseRequest() {} }");
  const warning = (label) => `${label}.initialiseRequest is no hook, so it is never called; did you mean initializeRequest?`;
  assert.deepEqual(host.described.warnings, [warning("Stray"), warning("Typo")]);
  await host.until(({ log }) => log.includes(`warning: ${warning("Typo")}`));
});

test("a misspelt hook that decides the kind is asked about", async (t) => {
  const host = await start(t, "export class A { getToolSchemas() {} executeTol() {} } export class B { kind = 'feature'; processChunks() {} getTags() {} }");
  assert.deepEqual(host.described.plugins.map(({ kind }) => kind), ["feature", "feature"]);
  const told = "A.executeTol is no hook, so it is never called; did you mean executeTool?";
  assert.ok(host.described.warnings.includes(told), host.described.warnings);
  assert.ok(!host.described.warnings.some((it) => it.startsWith("B.")), host.described.warnings);
});

test("what cannot be loaded says why", async (t) => {
  const said = async (source, name) => (await startFile(t, pluginFile(source, name)).then(() => assert.fail("it was loaded"), (error) => error)).message;
  assert.match(await said("const one = 1;\nexport class {"), /plugin.mjs could not be loaded: line 2: SyntaxError: /);
  assert.match(await said("import 'missing-package';"), /could not be loaded: Error: Cannot find package 'missing-package'/);
  assert.match(await said("export const nothing = 1;"), /the file exports no plugin; export a class with hooks/);
  assert.match(await said("export class A { initialiseRequest() {} }"), /the file exports no plugin; A.initialiseRequest is no hook, so it is never called; did you mean initializeRequest\?/);
  assert.match(await said("export default class { getTags() {} }"), /default has no name; give it one: name = "my_plugin"/);
  assert.match(await said("export class A { name = 7; getTags() {} }"), /A.name is the number "7"; expected a string/);
  assert.match(await said("export class A { kind = 'gadget'; getTags() {} }"), /A.kind is the string "gadget"; expected one of provider, extension/);
  assert.match(await said("export class A { constructor() { throw new Error('no disk'); } getTags() {} }"), /new A\(\) failed: no disk/);
  assert.match(await said("export class A { history = { finalize: 'some' }; finalize() {} }"), /A.history.finalize is the string "some"; expected "none", "full"/);
  assert.match(await said("export class A { name = 'x'; getTags() {} } export class B { name = 'x'; getTags() {} }"), /A and B are both feature plugins with the name "x"/);
  assert.match(await said("import { tool } from 'orlop'; export default tool({ run() {} });"), /tool\({ ... }\) has no name; write/);
  assert.match(await said("import { tool } from 'orlop'; export default tool({ name: 'x' });"), /the tool x has undefined as run; expected a function/);
});

test("what cannot be loaded says where, also below a folder with a space, and runs once", async (t) => {
  const folder = join(newFolder(), "a b");
  mkdirSync(folder);
  const file = (name, source) => (writeFileSync(join(folder, name), source), join(folder, name));
  const said = async (name, source) => {
    const host = new Host(file(name, source));
    t.after(() => host.kill());
    const { message } = await host.request("initialize", { protocol: 1 }).then(() => assert.fail(`${name} was loaded`), (error) => error);
    return { host, told: message.slice(message.indexOf(" could not be loaded: ") + " could not be loaded: ".length) };
  };
  const { host, told } = await said("runs.mjs", "console.error('ran');\nJSON.parse('{');\nexport class A { getTags() {} }");
  assert.match(told, /^line 2: SyntaxError: /);
  host.child.stdin.end();
  await host.ended;
  assert.equal(host.log.match(/^ran$/gm).length, 1, "it is not run again to find the line");
  file("broken.mjs", "const one = 1;\nexport class {");
  assert.equal((await said("imports.mjs", "import './broken.mjs';")).told.split(": SyntaxError")[0], `${join(folder, "broken.mjs")}, line 2`);
  file("old.cjs", "const one = ;");
  assert.equal((await said("requires.mjs", "import './old.cjs';")).told.split(": SyntaxError")[0], `${join(folder, "old.cjs")}, line 1`);
  // Lines are those of the file, though types are left out before it runs.
  const typed = "interface A { n: number }\n\nconst read = (it: any): A => it.a.b;\nread({});\nexport class B { getTags(): void {} }";
  assert.match((await said("typed.ts", typed)).told, /^line 3: TypeError: /);
});

test("TypeScript that is not whole is refused, with its place", async (t) => {
  const open = "import { tool } from 'orlop';\nexport default tool({\n  name: 'x',\n  run(): number { return 1; },\n";
  await assert.rejects(startFile(t, pluginFile(open, "plugin.ts")), /plugin.ts could not be loaded: line [45]: SyntaxError: /);
  const path = pluginFile("import './beside.ts';\nexport class A { getTags(): void {} }", "plugin.ts");
  writeFileSync(join(dirname(path), "beside.ts"), "export const one: number = 1;\nexport const two: = 2;\n");
  await assert.rejects(startFile(t, path), /could not be loaded: \S+beside.ts, line 2: SyntaxError: /);
});

test("the constructor is told of configuration and folders", async (t) => {
  const host = await start(t, "export class A { constructor({ config, folders }) { this.tag = config.tag + folders.data; } getTags() { return this.tag; } }", { config: { tag: "a" }, folders: { data: "/d" } });
  assert.deepEqual(await host.hook("get_tags"), ["a/d"]);
});

test("plugins of every form of file", async (t) => {
  const forms = {
    "plugin.js": "import { tool } from 'orlop'; export default tool({ name: 'x', run() {} });",
    "plugin.cjs": "module.exports = class X { getTags() {} };",
    "other.js": "exports.X = class X { getTags() {} };",
    "plugin.ts": "import { tool, type Call } from 'orlop'; interface A { n: number } export default tool({ name: 'x', run(a: any, call: Call): A { return { n: 1 as number }; } });",
  };
  for (const [name, source] of Object.entries(forms)) {
    const host = await startFile(t, pluginFile(source, name));
    assert.equal(host.described.plugins[0].name.toLowerCase(), "x", name);
    host.kill();
  }
  const folder = dirname(pluginFile(forms["plugin.js"], "plugin.js"));
  assert.equal((await startFile(t, folder)).described.plugins[0].name, "x");
  const missing = join(folder, "not", "there.mjs");
  await assert.rejects(startFile(t, missing), { message: `there is no ${missing}` });
  mkdirSync(join(folder, "empty"));
  await assert.rejects(startFile(t, join(folder, "empty")), { message: /has none of plugin.js, plugin.mjs/ });
});

test("a plugin may bring modules of its own", async (t) => {
  const path = pluginFile("import { tag } from './tags.mjs'; import { readFileSync } from 'node:fs'; export class A { getTags() { return tag; } }");
  writeFileSync(join(dirname(path), "tags.mjs"), "export const tag = 'mine';");
  assert.deepEqual(await (await startFile(t, path)).hook("get_tags"), ["mine"]);
  assert.equal(readFileSync(path, "utf8").includes("orlop"), false);
});

test("a start writes nothing to the log", async (t) => {
  for (const [name, source] of [["plugin.mjs", "export class A { getTags() {} }"], ["plugin.ts", "export class A { getTags(): void {} }"]]) {
    const host = await startFile(t, pluginFile(source, name));
    host.child.stdin.end();
    assert.equal(await host.ended, 0);
    assert.equal(host.log, "", name);
  }
});

/** The SDK as it is delivered: the files that package.json names, and nothing installed beside it. */
function delivered() {
  const from = fileURLToPath(new URL("..", import.meta.url));
  const to = newFolder();
  const { files } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
  for (const name of ["package.json", ...files.filter((it) => !it.includes("*"))]) cpSync(join(from, name), join(to, name), { recursive: true });
  return join(to, "run.mjs");
}

test("the delivered files are enough", async (t) => {
  const run = delivered();
  const host = await startFile(t, pluginFile("import { tool } from 'orlop'; import 'orlop/testing'; export default tool({ name: 'x', run() {} });"), { run });
  assert.equal(host.described.plugins[0].name, "x");
});

test("what the compiler made of a file is kept until the file changes", { skip: (process.features.typescript || module.stripTypeScriptTypes) && "this Node reads TypeScript itself" }, async (t) => {
  const path = pluginFile("export class A { getTags(): string[] { return ['one']; } }", "plugin.ts");
  const env = { PLUGIN_DATA: newFolder() };
  const first = await startFile(t, path, { env });
  assert.deepEqual(await first.hook("get_tags"), ["one"]);
  // No compiler is found from here.
  const second = await startFile(t, path, { env, run: delivered() });
  assert.deepEqual(await second.hook("get_tags"), ["one"]);
  writeFileSync(path, "export class A { getTags(): string[] { return ['two']; } }");
  await assert.rejects(startFile(t, path, { env, run: delivered() }), /does not read by itself/);
  const third = await startFile(t, path, { env });
  assert.deepEqual(await third.hook("get_tags"), ["two"]);
  assert.equal(readdirSync(join(env.PLUGIN_DATA, "tmp", "typescript")).length, 1, "what was made of the file before is gone");
});

test("TypeScript without a compiler says what to install", { skip: (process.features.typescript || module.stripTypeScriptTypes) && "this Node reads TypeScript itself" }, async (t) => {
  const path = pluginFile("export class A { getTags(): string[] { return []; } }", "plugin.ts");
  await assert.rejects(startFile(t, path, { run: delivered() }), ({ message }) => {
    assert.match(message, /plugin.ts is TypeScript, which Node [\d.]+ does not read by itself; use Node 22.18 or newer, or run: npm install --prefix \//);
    return true;
  });
  const folder = join(newFolder(), "a b");
  mkdirSync(folder);
  cpSync(path, join(folder, "plugin.ts"));
  await assert.rejects(startFile(t, join(folder, "plugin.ts"), { run: delivered() }), /npm install --prefix '\/.*a b\/' typescript/);
});
