import assert from "node:assert/strict";
import { test } from "node:test";
import { stateChange } from "../lib/state.mjs";

/** The rules of the host, to see that a change leads where it should. */
function apply(state, change) {
  if (change === "keep") return state;
  if (change.replace) return change.replace;
  const { request, session_metadata_patch: patch, ...rest } = structuredClone(change.patch);
  const next = mergePatch(state, rest);
  if (request === null) next.request = {};
  for (const [key, value] of Object.entries(request ?? {})) {
    if (value === null) delete next.request[key];
    else next.request = { ...next.request, [key]: value };
  }
  if (patch === null) delete next.session_metadata_patch;
  else if (patch !== undefined) {
    const held = next.session_metadata_patch ?? {};
    const overrides = held.overrides && patch.overrides && { overrides: { ...held.overrides, ...patch.overrides } };
    next.session_metadata_patch = { ...held, ...patch, ...overrides };
  }
  return next;
}

function mergePatch(target, patch) {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const merged = typeof target === "object" && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

/** Small states of every shape, always the same ones. */
function* states() {
  let seed = 7;
  const pick = (choices) => choices[(seed = (seed * 1103515245 + 12345) % 2147483648) % choices.length];
  const value = (depth) => pick([1, 2, null, "a", [1, null], depth > 0 ? fields(depth - 1) : 3, depth > 0 ? fields(depth - 1) : 4]);
  const fields = (depth) => Object.fromEntries(["a", "b", "c"].filter(() => pick([true, false])).map((key) => [key, value(depth)]));
  for (let count = 0; count < 3000; count += 1) {
    const state = { config: fields(2), request: fields(2), ...pick([{}, { session_metadata_patch: { ...fields(1), ...pick([{}, { overrides: fields(1) }]) } }]), ...fields(2) };
    yield state;
  }
}

test("whatever a plugin makes of the state, the host ends up with it", () => {
  const all = [...states()];
  let patches = 0;
  for (let at = 1; at < all.length; at += 1) {
    const [given, wanted] = [all[at - 1], all[at]];
    const change = stateChange(given, wanted, "state");
    if (change.patch) patches += 1;
    assert.deepEqual(apply(structuredClone(given), change), wanted, JSON.stringify({ given, wanted, change }));
  }
  assert.ok(patches > 100, `only ${patches} were patches`);
});
