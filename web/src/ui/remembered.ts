//! Small choices that stay with this browser: theme, drafts. No secrets.

import { Store } from "../state/store";

/** A store that begins with what was kept and keeps what is set. */
export function remembered<T>(key: string, initial: T): Store<T> {
  const store = new Store<T>(read(key, initial));
  store.subscribe(() => {
    try {
      localStorage.setItem(key, JSON.stringify(store.get()));
    } catch {
      // A browser that keeps nothing still shows the page.
    }
  });
  return store;
}

function read<T>(key: string, initial: T): T {
  try {
    const kept = localStorage.getItem(key);
    return kept === null ? initial : (JSON.parse(kept) as T);
  } catch {
    return initial;
  }
}
