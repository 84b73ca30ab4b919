import { expect, test } from "vitest";
import { isSending } from "./keys";

const press = (more: object) => ({ key: "Enter", keyCode: 13, isComposing: false, shiftKey: false, ctrlKey: false, metaKey: false, ...more });

test("Enter sends, with Shift it is a new line", () => {
  expect([{}, { ctrlKey: true }, { metaKey: true }].map((more) => isSending(press(more), false))).toEqual([true, true, true]);
  expect([{ shiftKey: true }, { key: "a" }].map((more) => isSending(press(more), false))).toEqual([false, false]);
});

test("with fingers Enter is a new line, and a keyboard beside them sends with Ctrl", () => {
  expect([{}, { ctrlKey: true }].map((more) => isSending(press(more), true))).toEqual([false, true]);
});

test("Enter that ends a word of several keys sends nothing", () => {
  expect([{ isComposing: true }, { keyCode: 229 }].map((more) => isSending(press(more), false))).toEqual([false, false]);
});
