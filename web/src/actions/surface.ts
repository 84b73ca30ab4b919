//! Where displays go, and which of them are on screen. One table for all surfaces.

import type { Display, Presentation } from "./display";

export type Surface = "session_list_action" | "session_action" | "message_action";
export type Placement = "inline" | "banner" | "modal";

export const SURFACES: readonly Surface[] = ["session_list_action", "session_action", "message_action"];

/** Where a display with this hint goes; `null` if the surface shows none. */
export function place(surface: Surface, hint: Presentation): Placement | null {
  switch (surface) {
    case "session_list_action":
      return null;
    case "session_action":
      return "inline";
    case "message_action":
      return hint;
  }
}

export interface Shown {
  /** Names the place on screen; an update keeps it. */
  number: number;
  placement: Placement;
  surface: Surface;
  display: Display;
  /** Whether somebody here clicked for it. */
  asked: boolean;
}

export interface Displays {
  shown: Shown[];
  last: number;
}

export const NO_DISPLAYS: Displays = { shown: [], last: 0 };

/** With one more display, or another in place of the one with the same `display_id`. */
export function show(displays: Displays, surface: Surface, display: Display, asked = true): Displays {
  const placement = place(surface, display.presentation);
  if (!placement) return displays;
  const number = withSameId(displays, display) ?? displays.last + 1;
  return put(displays, { number, placement, surface, display, asked });
}

/** Whether a display is the answer to a command that somebody typed, which says the same, and has nothing to click. */
export function isSaid({ display, asked }: Shown, answers: readonly string[]): boolean {
  return !asked && display.actions.length === 0 && answers.some((answer) => answer.includes(display.body));
}

/** Without a display that the user takes away; one that must stay stays. */
export function dismiss(displays: Displays, number: number): Displays {
  return { ...displays, shown: displays.shown.filter((shown) => shown.number !== number || !shown.display.dismissible) };
}

/** With what a follow-up action of display `number` answered: it replaces or closes that display unless it is preserved. */
export function followUp(
  displays: Displays,
  number: number,
  preserve: boolean,
  surface: Surface,
  answer: Display | null,
): Displays {
  const display = answer && place(surface, answer.presentation) ? answer : null;
  if (preserve) return display ? show(displays, surface, display) : displays;
  const held = displays.shown.some((shown) => shown.number === number);
  const other = display ? withSameId(displays, display) : null;
  if (display && held && (other === null || other === number)) {
    return put(displays, { number, placement: place(surface, display.presentation) as Placement, surface, display, asked: true });
  }
  const rest = { ...displays, shown: displays.shown.filter((shown) => shown.number !== number) };
  return display ? show(rest, surface, display) : rest;
}

function withSameId({ shown }: Displays, { displayId }: Display): number | null {
  if (displayId === null) return null;
  const same = shown.find((held) => held.placement !== "modal" && held.display.displayId === displayId);
  return same?.number ?? null;
}

function put({ shown, last }: Displays, display: Shown): Displays {
  const held = shown.some((other) => other.number === display.number);
  return {
    last: Math.max(last, display.number),
    shown: held ? shown.map((other) => (other.number === display.number ? display : other)) : [...shown, display],
  };
}
