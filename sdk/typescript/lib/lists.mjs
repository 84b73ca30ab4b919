// Lists of messages and native items: how they come (whole, as a tail, as the difference to a slot), how they are lent to
// a plugin, and what it changed. History may have many thousand items of which a hook touches two, so an item is copied
// when it is first looked at, and everything else is compared by identity.

import { inspect } from "node:util";
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
    const whole = joined(held, keep, items);
    this.#held.set(slot, whole);
    return { items: whole, skip: 0 };
  }
}

/** Arrays in slots are never changed, so one may be given twice; with long histories a copy counts. */
function joined(held, keep, items) {
  if (keep === 0) return items;
  const kept = keep === held.length ? held : held.slice(0, keep);
  return items.length === 0 ? kept : kept.concat(items);
}

const loans = new WeakMap();
const MOVING = new Set(["splice", "unshift", "shift", "reverse"]);

/** An array for a plugin to read and to change as it likes; `items` themselves stay as they are. */
export function lend(items, skipped = 0) {
  const loan = new Loan(items, skipped);
  const list = new Proxy(Object.defineProperty([], inspect.custom, { value: () => loan.now }), loan);
  loans.set(list, loan);
  return list;
}

/** How many items of the history stand before the first one of a lent list; nothing if it was not lent. */
export function skippedOf(list) {
  return loans.get(list)?.skipped;
}

/** The handler of such an array. `now` is what the plugin sees; it is `given` itself until the plugin looks at an item. */
class Loan {
  owned = new WeakSet();
  looked = [];
  isMoved = false;

  constructor(given, skipped) {
    this.given = given;
    this.skipped = skipped;
    this.now = given;
  }

  get(_, key, list) {
    if (key === "skipped") return this.skipped;
    const value = this.now[key];
    if (typeof value === "object") return this.ownAt(key, value);
    // Through single steps these would look at every item, and so copy the whole history.
    if (MOVING.has(key)) return (...args) => this.move(key, args, list);
    return value;
  }

  set(_, key, value) {
    this.accept(value);
    this.moved()[key] = value;
    return true;
  }

  has(_, key) {
    return key in this.now;
  }

  deleteProperty(_, key) {
    return delete this.moved()[key];
  }

  defineProperty(_, key, descriptor) {
    this.accept(descriptor.value);
    return Reflect.defineProperty(this.moved(), key, descriptor);
  }

  ownKeys() {
    return [...Reflect.ownKeys(this.now), inspect.custom];
  }

  getOwnPropertyDescriptor(target, key) {
    if (typeof key === "symbol") return Reflect.getOwnPropertyDescriptor(target, key);
    if (typeof this.now[key] === "object") this.ownAt(key, this.now[key]);
    return Reflect.getOwnPropertyDescriptor(this.now, key);
  }

  /** The plugin's own copy of the item at `key`. */
  ownAt(key, value) {
    const mine = this.own(value);
    if (mine === value || !Object.hasOwn(this.now, key)) return value;
    if (this.now === this.given) this.now = this.given.slice();
    this.looked.push(Number(key));
    return (this.now[key] = mine);
  }

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

  /** The list, of which from now on nothing is known to be where it was. */
  moved() {
    this.isMoved = true;
    if (this.now === this.given) this.now = this.given.slice();
    return this.now;
  }

  move(method, args, list) {
    args.forEach((arg) => this.accept(arg));
    const now = this.moved();
    const answer = now[method](...args);
    if (answer === now) return list;
    return Array.isArray(answer) ? answer.map((item) => this.own(item)) : this.own(answer);
  }

  /** Edits that lead from what was given to what is there now. */
  edits() {
    if (this.isMoved) return differences(this.given, this.now, this.skipped);
    const changed = this.looked.filter((at) => !equal(this.given[at], this.now[at])).sort((a, b) => a - b);
    return runsOf(changed).map(([from, to]) => replace(from, to, this.now.slice(from, to), this.skipped));
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
  if (loan === undefined) return returned ?? null;
  const isLent = (returned ?? lent) === lent;
  const edits = isLent ? loan.edits() : differences(loan.given, loans.get(returned)?.now ?? returned, loan.skipped);
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
  const changed = [];
  for (let at = start; at < end; at += 1) if (!equal(given[at], now[at])) changed.push(at);
  return runsOf(changed).map(([from, to]) => replace(from, to, now.slice(from, to), skipped));
}

/** Positions as stretches from and to. */
function runsOf(positions) {
  const runs = [];
  for (const at of positions) {
    const last = runs.at(-1);
    if (last?.[1] === at) last[1] = at + 1;
    else runs.push([at, at + 1]);
  }
  return runs;
}

function replace(start, end, items, skipped) {
  return { op: "replace", start: start + skipped, end: end + skipped, items };
}
