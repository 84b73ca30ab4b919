import { expect, test } from "vitest";
import { shortcutOf } from "./shortcuts";

const press = (key: string, code: string, held = "") => ({ key, code, ctrlKey: held.includes("c"), metaKey: held.includes("m"), shiftKey: held.includes("s"), altKey: held.includes("a") });

test("keys mean the same on every keyboard", () => {
  expect(shortcutOf(press("k", "KeyK", "c"))).toBe("palette");
  expect(shortcutOf(press("K", "KeyK", "m"))).toBe("palette");
  // Where other letters are written on the keys.
  expect(shortcutOf(press("л", "KeyK", "c"))).toBe("palette");
  expect(shortcutOf(press("ˆ", "KeyI", "a"))).toBe("inspector");
  expect(shortcutOf(press("ю", "Period", "c"))).toBe("settings");
  // Where letters stand elsewhere, what is written counts.
  expect(shortcutOf(press("k", "KeyV", "c"))).toBe("palette");
  expect(shortcutOf(press("t", "KeyK", "c"))).toBe(null);
});

test("signs count whether or not a keyboard wants Shift for them", () => {
  expect(shortcutOf(press("/", "Slash", "c"))).toBe("shortcuts");
  expect(shortcutOf(press("/", "Digit7", "cs"))).toBe("shortcuts");
  expect(shortcutOf(press(":", "Semicolon", "cs"))).toBe("copy-code");
  expect(shortcutOf(press("Ö", "Semicolon", "cs"))).toBe("copy-code");
  // The minus of a German keyboard makes the page smaller and nothing else.
  expect(shortcutOf(press("-", "Slash", "c"))).toBe(null);
  expect(shortcutOf(press("o", "KeyO", "c"))).toBe(null);
});
