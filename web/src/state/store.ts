//! A value that changes, and who wants to know. Components read a part of it and are drawn when that part changes.

import { useSyncExternalStore } from "react";

export class Store<T> {
  private readonly listeners = new Set<() => void>();

  constructor(private value: T) {}

  get = (): T => this.value;

  set(next: T): void {
    if (next === this.value) return;
    this.value = next;
    for (const listener of this.listeners) listener();
  }

  /** Changes some fields. */
  patch(fields: Partial<T>): void {
    this.set({ ...this.value, ...fields });
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
}

/** A part of the value. `select` must give the same object as long as nothing changed. */
export function useStore<T, S>(store: Store<T>, select: (value: T) => S): S {
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}
