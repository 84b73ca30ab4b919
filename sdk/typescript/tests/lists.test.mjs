import assert from "node:assert/strict";
import { inspect } from "node:util";
import { test } from "node:test";
import { Slots, changeOf, lend } from "../lib/lists.mjs";
import { receiveFields } from "../lib/session.mjs";
import { start } from "./host.mjs";

const items = (...names) => names.map((name) => ({ name, parts: [{ text: name }] }));

/** The rules of the host, to see that edits lead where they should. */
function apply(list, change) {
  let now = [...list];
  for (const edit of change?.edits ?? []) {
    if (edit.op === "append") now.push(...edit.items);
    else now.splice(edit.start, edit.end - edit.start, ...edit.items);
  }
  return now;
}

test("a lent list is an array in every respect, and what is behind it stays", () => {
  const ways = {
    push: (list) => list.push({ name: "x" }),
    "push a kept reference and change it later": (list) => { const it = {}; list.push(it); it.name = "late"; },
    pop: (list) => list.pop(),
    shift: (list) => list.shift(),
    unshift: (list) => list.unshift({ name: "x" }, { name: "y" }),
    splice: (list) => list.splice(1, 2, { name: "x" }),
    "change what splice gave": (list) => { const [it] = list.splice(1, 1); it.name = "moved"; list.push(it); },
    reverse: (list) => list.reverse(),
    sort: (list) => list.sort((a, b) => (a.name < b.name ? 1 : -1)),
    "delete deep inside": (list) => { delete list[2].parts[0].text; },
    "set length": (list) => { list.length = 2; },
    fill: (list) => list.fill({ name: "x" }, 1, 3),
    copyWithin: (list) => list.copyWithin(0, 3),
    map: (list) => list.map((it) => ({ ...it, seen: true })),
    filter: (list) => list.filter((it) => it.name !== "c"),
    concat: (list) => list.concat([{ name: "x" }]),
    "concat to another": (list) => [{ name: "x" }].concat(list),
    slice: (list) => list.slice(-2),
    spread: (list) => [...list, list[0]],
    "for each": (list) => { list.forEach((it, at) => { it.at = at; }); },
    assign: (list) => { list[1] = list[3]; },
    "swap two": (list) => { [list[0], list[4]] = [list[4], list[0]]; },
    "define a property": (list) => { Object.defineProperty(list, 1, { value: { name: "x" }, writable: true, enumerable: true, configurable: true }); },
  };
  const given = items("a", "b", "c", "d", "e");
  const before = structuredClone(given);
  for (const [name, change] of Object.entries(ways)) {
    const plain = structuredClone(before);
    const answer = change(plain);
    const wanted = Array.isArray(answer) ? answer : plain;
    const lent = lend(given);
    const returned = change(lent);
    const edits = changeOf(lent, Array.isArray(returned) ? returned : undefined, name);
    assert.deepEqual(apply(before, edits), wanted, name);
    assert.deepEqual(given, before, `${name} damaged what was lent`);
  }
});

test("a lent list looks like one", () => {
  const list = lend(items("a", "b"), 7);
  assert.deepEqual([Array.isArray(list), list.length, list.skipped, 1 in list, 2 in list], [true, 2, 7, true, false]);
  assert.deepEqual(list, items("a", "b"));
  assert.equal(JSON.stringify(list), JSON.stringify(items("a", "b")));
  assert.deepEqual(Object.keys(list), ["0", "1"]);
  assert.deepEqual({ ...list }[1], items("b")[0]);
  assert.equal(list[0], list[0]);
  assert.equal(list.at(-1), list[1]);
  assert.equal(list.find((it) => it.name === "b"), list[1]);
  list.push({ name: "c" });
  assert.match(inspect(list), /name: 'c'/);
});

test("slots hold what was sent, whatever plugins did with it", () => {
  const slots = new Slots();
  const [a, b, c, d] = items("a", "b", "c", "d");
  assert.deepEqual(slots.read({ slot: 3, keep: 0, items: [a, b] }).items, [a, b]);
  const lent = lend(slots.read({ slot: 3, keep: 2, items: [c] }).items);
  lent[0].name = "changed";
  lent.splice(1, 2);
  assert.deepEqual(slots.read({ slot: 3, keep: 2, items: [d] }).items, [a, b, d]);
  assert.deepEqual(slots.read({ slot: 3, keep: 3, items: [] }).items, [a, b, d]);
  assert.throws(() => slots.read({ slot: 4, keep: 1, items: [] }), { class: "bad_state", message: /slot 4 holds 0 items, but 1 of them/ });
});

test("of a long history only what is looked at is copied", () => {
  let copied = 0;
  const given = Array.from({ length: 10_000 }, (_, at) => Object.defineProperty({}, "at", { enumerable: true, get: () => ((copied += 1), at) }));
  const lent = lend(given);
  lent.at(-1).seen = true;
  lent.push({ at: "last" });
  lent.splice(0, 0, { at: "first" });
  assert.equal(copied, 1);
});

test("slots across calls, with hooks that overlap", async (t) => {
  const host = await start(t, `
    const waiting = [];
    export class Keeper {
      async initializeRequest({ native_messages }) {
        native_messages[0].touched = true;
        if (native_messages.length === 2) await new Promise((resolve) => waiting.push(resolve));
        else waiting.forEach((resolve) => resolve());
        return { state: { patch: { seen: native_messages.map((it) => it.name).join() } } };
      }
    }
  `);
  const state = { config: {}, request: {} };
  const hook = (list) => host.hook("initialize_request", { native_messages: { $list: list }, state });
  const first = hook({ slot: 1, keep: 0, items: items("a", "b") });
  const second = hook({ slot: 1, keep: 1, items: items("c", "d") });
  const edit = { edits: [{ op: "replace", start: 0, end: 1, items: [{ ...items("a")[0], touched: true }] }] };
  assert.deepEqual(await first, { native_messages: edit, state: { patch: { seen: "a,b" } } });
  assert.deepEqual(await second, { native_messages: edit, state: { patch: { seen: "a,c,d" } } });
  assert.deepEqual((await hook({ slot: 1, keep: 3, items: [] })).state, { patch: { seen: "a,c,d" } });
  await assert.rejects(hook({ slot: 9, keep: 5, items: [] }), { data: { class: "bad_state" } });
});

test("lists of one slot are read in the order in which they stand", () => {
  const [a, b, c] = items("a", "b", "c");
  const session = { $session: { handle: "h", session_id: "s", native_messages: { $list: { slot: 1, keep: 1, items: [b, c] } } } };
  const slots = new Slots();
  slots.read({ slot: 1, items: [a] });
  const read = receiveFields({ session, native_messages: { $list: { slot: 1, keep: 3, items: [] } } }, slots);
  assert.deepEqual([...read.native_messages].map((it) => it.name), ["a", "b", "c"]);
});
