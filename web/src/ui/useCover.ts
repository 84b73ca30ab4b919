//! What lies over the chat on small screens has the keyboard for itself: it gets the focus, Esc closes it, and the focus goes back.

import { useEffect, useRef } from "react";

/** `inside` and `opener` are selectors. */
export function useCover(covers: boolean, inside: string, opener: string, close: () => void): void {
  const closing = useRef(close);
  closing.current = close;
  useEffect(() => {
    if (!covers) return;
    document.querySelector<HTMLElement>(`${inside} button`)?.focus();
    const onKeyDown = (event: KeyboardEvent) => {
      const above = event.target instanceof Element && event.target.closest('[role="dialog"], [role="menu"]');
      if (event.key !== "Escape" || event.defaultPrevented || above) return;
      event.preventDefault();
      closing.current();
    };
    addEventListener("keydown", onKeyDown, { capture: true });
    return () => {
      removeEventListener("keydown", onKeyDown, { capture: true });
      // What it covered can be reached again only after this.
      setTimeout(() => {
        const { activeElement } = document;
        if (!activeElement || activeElement === document.body) document.querySelector<HTMLElement>(opener)?.focus();
      }, 0);
    };
  }, [covers, inside, opener]);
}
