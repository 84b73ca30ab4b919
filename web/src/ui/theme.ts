//! Light, dark or as the system says; and how large text is.

import { remembered } from "./remembered";

export type Theme = "system" | "light" | "dark";
export type TextSize = "small" | "normal" | "large";

export const theme = remembered<Theme>("orlop.theme", "system");
export const textSize = remembered<TextSize>("orlop.text-size", "normal");

/** Applies both, now and when they change. */
export function followAppearance(): void {
  const root = document.documentElement;
  const apply = () => {
    if (theme.get() === "system") delete root.dataset.theme;
    else root.dataset.theme = theme.get();
    root.dataset.textSize = textSize.get();
  };
  theme.subscribe(apply);
  textSize.subscribe(apply);
  apply();
}
