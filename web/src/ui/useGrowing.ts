//! A field that is as high as its text, up to a part of the window.

import { type RefObject, useLayoutEffect } from "react";

const MOST = 0.4;

/** Measures again whenever one of `causes` changes. */
export function useGrowing(box: RefObject<HTMLTextAreaElement | null>, ...causes: unknown[]): void {
  useLayoutEffect(() => {
    const area = box.current;
    if (!area) return;
    area.style.height = "auto";
    const borders = area.offsetHeight - area.clientHeight;
    area.style.height = `${Math.min(area.scrollHeight + borders, innerHeight * MOST)}px`;
  }, [box, ...causes]);
}
