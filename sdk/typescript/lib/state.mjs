// What became of the state of a request, told as briefly as the host can take it.

import { equal, isMapping, nameOf } from "./copy.mjs";
import { PluginError } from "./errors.mjs";

const UNSAYABLE = Symbol("a patch cannot say this");

/**
 * The change from `given` to `returned`: `"keep"`, `{ patch }`, or `{ replace }` where a patch cannot say it.
 * A mapping without `config` is laid over the state, for nobody means to take the configuration away.
 */
export function stateChange(given, returned, what) {
  if (returned === undefined || returned === null || returned === "keep") return "keep";
  if (!isMapping(returned)) {
    throw new PluginError("wrong_type", `${what} is ${nameOf(returned)}; expected the state (an object), { patch: {...} }, { replace: {...} }, "keep", or nothing`);
  }
  const keys = Object.keys(returned);
  if (keys.length === 1 && isMapping(returned[keys[0]]) && (keys[0] === "patch" || keys[0] === "replace")) return returned;
  const now = "config" in returned || !("config" in given) ? returned : { ...given, ...returned };
  if (equal(given, now)) return "keep";
  const patch = statePatch(given, now);
  return patch === UNSAYABLE ? { replace: now } : { patch };
}

function statePatch(given, now) {
  const rules = { request: entriesPatch, session_metadata_patch: metadataPatch };
  const patch = {};
  for (const key of new Set([...Object.keys(given), ...Object.keys(now)])) {
    if (equal(given[key], now[key])) continue;
    const change = (rules[key] ?? mergePatch)(given[key], now[key]);
    if (change === UNSAYABLE) return UNSAYABLE;
    patch[key] = change;
  }
  return patch;
}

/** JSON Merge Patch: `null` removes, so no `null` can be set. */
function mergePatch(given, now) {
  if (now === undefined) return null;
  if (now === null) return UNSAYABLE;
  if (!isMapping(now)) return now;
  const from = isMapping(given) ? given : {};
  const patch = {};
  for (const key of new Set([...Object.keys(from), ...Object.keys(now)])) {
    if (equal(from[key], now[key])) continue;
    const change = mergePatch(from[key], now[key]);
    if (change === UNSAYABLE) return UNSAYABLE;
    patch[key] = change;
  }
  return patch;
}

/** Entries of `request` are set whole; `null` removes one. */
function entriesPatch(given, now) {
  if (now === undefined) return null;
  if (!isMapping(now) || !isMapping(given ?? {})) return UNSAYABLE;
  const patch = {};
  for (const key of new Set([...Object.keys(given ?? {}), ...Object.keys(now)])) {
    if (equal(given?.[key], now[key])) continue;
    if (now[key] === null) return UNSAYABLE;
    patch[key] = now[key] === undefined ? null : now[key];
  }
  return patch;
}

/** Keys of `session_metadata_patch`, and those of its `overrides`, are set and never removed one by one. */
function metadataPatch(given, now) {
  if (now === undefined) return null;
  if (now === null) return UNSAYABLE;
  if (!isMapping(given) || !isMapping(now)) return now;
  const patch = {};
  for (const key of new Set([...Object.keys(given), ...Object.keys(now)])) {
    if (equal(given[key], now[key])) continue;
    if (now[key] === undefined) return UNSAYABLE;
    const merges = key === "overrides" && isMapping(given[key]) && isMapping(now[key]);
    const removes = merges && Object.keys(given[key]).some((it) => now[key][it] === undefined);
    if (removes) return UNSAYABLE;
    patch[key] = now[key];
  }
  return patch;
}
