import { expect, test } from "vitest";
import { type Shelf, keepFor, keptBy, ownerOf } from "./owner";

function shelf(): Shelf & { held: Map<string, string> } {
  const held = new Map<string, string>();
  return { held, getItem: (key) => held.get(key) ?? null, setItem: (key, value) => void held.set(key, value), removeItem: (key) => void held.delete(key) };
}

const ana = ownerOf({ tenant: "acme", user: "ana" });
const bo = ownerOf({ tenant: "acme", user: "bo" });

test("what somebody kept is theirs, and is gone once somebody else comes", () => {
  const place = shelf();
  keepFor(() => place, "k", ana, { text: "private" });
  expect(keptBy(() => place, "k", ana)).toEqual({ text: "private" });
  expect(keptBy(() => place, "k", bo)).toBeNull();
  expect([...place.held]).toEqual([]);
  expect(keptBy(() => place, "k", ana)).toBeNull();
});

test("users of two tenants are two people, whatever their names hold", () => {
  expect(ownerOf({ tenant: "other", user: "ana" })).not.toBe(ana);
  expect(ownerOf({ tenant: 'a","b', user: "c" })).not.toBe(ownerOf({ tenant: "a", user: 'b","c' }));
});

test("nothing kept leaves no trace, and what cannot be read or kept is nothing", () => {
  const place = shelf();
  keepFor(() => place, "k", ana, "x");
  keepFor(() => place, "k", ana, null);
  expect(place.held.size).toBe(0);
  for (const damaged of ["{", "5", '"text"', '{"":"old"}', "null"]) {
    place.held.set("k", damaged);
    expect(keptBy(() => place, "k", ana)).toBeNull();
  }
  const forbidden = (): Shelf => {
    throw new Error("forbidden");
  };
  keepFor(forbidden, "k", ana, "x");
  expect(keptBy(forbidden, "k", ana)).toBeNull();
});
