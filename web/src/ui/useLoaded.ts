//! Something asked of the server for as long as it is looked at.

import { useEffect, useState } from "react";
import { asProblem } from "../api/problem";
import { useApp } from "../state/page";

export interface Loaded<T> {
  value: T | null;
  problem: string | null;
}

/** Loads again whenever one of `keys` changes or the server came back; what was there stays until then. */
export function useLoaded<T>(load: () => Promise<T> | null, keys: readonly unknown[]): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ value: null, problem: null });
  const returns = useApp((state) => state.returns);
  useEffect(() => {
    let current = true;
    load()?.then(
      (value) => current && setLoaded({ value, problem: null }),
      (error: unknown) => current && setLoaded({ value: null, problem: asProblem(error).message }),
    );
    return () => {
      current = false;
    };
    // What is loaded is named by the keys.
  }, [...keys, returns]);
  return loaded;
}
