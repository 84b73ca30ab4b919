//! Keeps the chosen one of a list in sight.

import { type RefObject, useEffect, useRef } from "react";

/** Something in a list that scrolls into view whenever `at` changes. */
export function useInView<T extends HTMLElement>(at: number): RefObject<T | null> {
  const shown = useRef<T>(null);
  useEffect(() => {
    // In newer browsers it gives a promise, which React would call as the end of the effect.
    void shown.current?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return shown;
}
