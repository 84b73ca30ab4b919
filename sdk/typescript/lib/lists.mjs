// Lists of messages and native items: how they come (whole, as a tail, as the difference to a slot), how they are lent to
// a plugin, and what it changed. History may have many thousand items of which a hook touches two, so an item is copied
// when it is first looked at, and everything else is compared by identity.

import { copy, equal, isMapping, nameOf } from "./copy.mjs";
import { PluginError } from "./errors.mjs";

/** What the host need not send again. */
export class Slots {
  #held = new Map();

  /** The items of a `$list`, and how many were left out in front of them. */
  read({ slot, keep = 0, skip = 0, items = [] }) {
    if (slot === undefined) return { items, skip };
    const held = keep === 0 ? [] : (this.#held.get(slot) ?? []);
    if (held.length < keep) {
      throw new PluginError("bad_state", `slot ${slot} holds ${held.length} items, but ${keep} of them are to be kept; send the list whole, with keep 0`);
    }
    const whole = keep === 0 ? items : held.slice(0, keep).concat(items);
    this.#held.set(slot, whole);
    return { items: whole, skip: 0 };
  }
}

const loans = new WeakMap();
const MOVING = new Set(["splice", "unshift", "shift", "reverse"]);

/** An array for a plugin to read and to change as it likes; `items` themselves stay as they are. */
export function lend(items, skipped = 0) {
  const loan = new Loan(items, skipped);
  const list = new Proxy(loan.now, loan);
  loans.set(list, loan);
  return list;
}

/** How many items of the history stand before the first one of a lent list; nothing if it was not lent. */
export function skippedOf(list) {
  return loans.get(list)?.skipped;
}

class Loan {
  constructor(given, skipped) {
    this.given = given;
    this.skipped = skipped;
    this.now = given.slice();
    this.owned = new WeakSet();
  }

  /** The plugin's own copy of what stands there. */
  own(value) {
    if (typeof value !== "object" || value === null || this.owned.has(value)) return value;
    const mine = copy(value);
    this.owned.add(mine);
    return mine;
  }

  /** What the plugin itself put there is its own. */
  accept(value) {
    if (typeof value === "object" && value !== null) this.owned.add(value);
  }

  get(now, key, list) {
    if (key === "skipped") return this.skipped;
    const value = now[key];
    if (typeof value === "object") return (now[key] = this.own(value));
    // Through single steps these would look at every item, and so copy the whole history.
    if (MOVING.has(key)) return (...args) => this.move(now, key, args, list);
    return value;
  }

  move(now, method, args, list) {
    args.forEach((arg) => this.accept(arg));
    const answer = now[method](...args);
    if (answer === now) return list;
    return Array.isArray(answer) ? answer.map((item) => this.own(item)) : this.own(answer);
  }

  set(now, key, value) {
    this.accept(value);
    now[key] = value;
    return true;
  }

  getOwnPropertyDescriptor(now, key) {
    if (typeof now[key] === "object") now[key] = this.own(now[key]);
    return Reflect.getOwnPropertyDescriptor(now, key);
  }
}

/**
 * How the host is to change the list it lent: `null`, or edits.
 * @param lent the list the plugin got
 * @param returned what it gave back: nothing (then the lent one counts), a list, or edits
 */
export function changeOf(lent, returned, what) {
  const loan = loans.get(lent);
  if (isMapping(returned) && Array.isArray(returned.edits)) return returned;
  if (returned !== undefined && returned !== null && !Array.isArray(returned)) {
    throw new PluginError("wrong_type", `${what} is ${nameOf(returned)}; expected an array of objects, { edits: [...] }, or nothing`);
  }
  const now = loans.get(returned ?? lent)?.now ?? returned;
  const edits = differences(loan.given, now, loan.skipped);
  for (const edit of edits) checkItems(edit.items, what);
  return edits.length === 0 ? null : { edits };
}

/** Says which item is none. */
export function checkItems(items, what) {
  const at = items.findIndex((item) => !isMapping(item));
  if (at >= 0) throw new PluginError("wrong_type", `${what} has ${nameOf(items[at])} in it; expected objects only`);
}

function differences(given, now, skipped) {
  const shorter = Math.min(given.length, now.length);
  let start = 0;
  while (start < shorter && equal(given[start], now[start])) start += 1;
  if (start === given.length) return start === now.length ? [] : [{ op: "append", items: now.slice(start) }];
  let [end, nowEnd] = [given.length, now.length];
  while (end > start && nowEnd > start && equal(given[end - 1], now[nowEnd - 1])) {
    end -= 1;
    nowEnd -= 1;
  }
  if (end !== nowEnd) return [replace(start, end, now.slice(start, nowEnd), skipped)];
  return changedRuns(given, now, start, end).map(([from, to]) => replace(from, to, now.slice(from, to), skipped));
}

/** Where both are of one length, only the stretches that differ. */
function changedRuns(given, now, start, end) {
  const runs = [];
  for (let at = start; at < end; at += 1) {
    if (equal(given[at], now[at])) continue;
    const last = runs.at(-1);
    if (last?.[1] === at) last[1] = at + 1;
    else runs.push([at, at + 1]);
  }
  return runs;
}

function replace(start, end, items, skipped) {
  return { op: "replace", start: start + skipped, end: end + skipped, items };
}
