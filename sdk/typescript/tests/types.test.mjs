import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { generate } from "../generate-types.mjs";
import { HOOKS } from "../lib/hooks.mjs";
import { APP, CORE } from "../lib/remote.mjs";

const sdk = fileURLToPath(new URL("..", import.meta.url));

test("types.d.ts is what the schemas give", () => {
  assert.equal(readFileSync(`${sdk}types.d.ts`, "utf8"), generate(), "run: npm run types");
});

test("the hooks are those of the schemas", () => {
  const read = (kind) => Object.keys(JSON.parse(readFileSync(`${sdk}../../docs/schema/${kind}.json`, "utf8")).hooks);
  const common = read("any");
  for (const [kind, hooks] of Object.entries(HOOKS)) {
    const own = read(kind);
    const expected = kind === "application" || kind === "host" ? own : [...common, ...own];
    assert.deepEqual([...hooks].sort(), expected.sort(), kind);
  }
});

test("the operations are those of the schemas", () => {
  const { to_host } = JSON.parse(readFileSync(`${sdk}../../docs/schema/protocol.json`, "utf8"));
  const known = (scope) => Object.keys(to_host).filter((method) => method.startsWith(`${scope}.`)).sort();
  const named = (scope, table) => Object.keys(table).map((name) => `${scope}.${name}`);
  assert.deepEqual(named("core", CORE).sort(), known("core"));
  assert.deepEqual([...named("app", APP), "app.release_session_lock"].sort(), known("app"), "locks are released by what acquiring gives");
});

test("the types and the examples in TypeScript fit together", () => {
  const compiler = `${sdk}node_modules/typescript/lib/tsc.js`;
  if (!existsSync(compiler)) execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: sdk, stdio: ["ignore", 2, 2] });
  try {
    execFileSync(process.execPath, [compiler, "-p", sdk], { encoding: "utf8" });
  } catch (error) {
    assert.fail(error.stdout);
  }
});
