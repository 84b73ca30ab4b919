//! Whose things a browser keeps. Several people may use it, one after the other or side by side in its tabs: nobody gets what somebody
//! else wrote.

import type { Info } from "../api/types";

/** A person, as the server names them. */
export type Owner = string;

export function ownerOf({ tenant, user }: Info["user"]): Owner {
  return JSON.stringify([tenant, user]);
}

interface Kept<T> {
  owner: Owner;
  value: T;
}

/** The part of a browser's storage that is used here. */
export type Shelf = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** What `owner` kept under `key`. What somebody else left there is taken away. */
export function keptBy<T>(shelf: () => Shelf, key: string, owner: Owner): T | null {
  try {
    const kept = JSON.parse(shelf().getItem(key) ?? "null") as Partial<Kept<T>> | null;
    if (kept?.owner === owner) return kept.value ?? null;
    shelf().removeItem(key);
  } catch {
    // A browser may forbid it, and what is kept may be damaged: then nothing is.
  }
  return null;
}

/** Keeps something for its owner; `null` is nothing. */
export function keepFor<T>(shelf: () => Shelf, key: string, owner: Owner, value: T | null): void {
  try {
    if (value === null) shelf().removeItem(key);
    else shelf().setItem(key, JSON.stringify({ owner, value } satisfies Kept<T>));
  } catch {
    // A browser that keeps nothing, or has no room: then it lasts as long as the page.
  }
}
