//! Writing: keys and fingers, completions that come late, and where the keyboard goes when something is done.

import type { Browser, Route } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Tab, launch, onPhone } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

test.runIf(onPhone)("on a phone Enter is a new line, and the button sends", async () => {
  const tab = await Tab.open(browser, server);
  expect(await tab.composer.getAttribute("enterkeyhint")).toBe("enter");
  await tab.composer.tap();
  await tab.composer.pressSequentially("hello\nagain");
  expect(await tab.composer.inputValue()).toBe("hello\nagain");
  await tab.page.getByRole("button", { name: "Send", exact: true }).tap();
  await tab.answer.getByText("Aye.").waitFor();
  expect(await tab.page.locator(".bubble").textContent()).toBe("hello\nagain");
  await tab.page.locator(".bubble").tap();
  await tab.page.getByRole("button", { name: "Edit and ask again" }).tap();
  const field = tab.page.getByRole("textbox", { name: "Edit message" });
  await field.press("Enter");
  expect(await field.inputValue()).toBe("hello\nagain\n");
  await tab.quiet();
});

test.runIf(onPhone)("on a phone a new session puts the list away", async () => {
  const tab = await Tab.session(browser, server, await server.session("hello"));
  await tab.showSessions();
  await tab.page.getByRole("button", { name: "New session" }).tap();
  await tab.page.locator(".sidebar").waitFor({ state: "detached" });
  await tab.page.getByText("What shall we work on?").waitFor();
  await tab.quiet();
});

test.skipIf(onPhone)("Enter that ends a word of several keys sends nothing", async () => {
  const tab = await Tab.open(browser, server);
  await tab.composer.fill("hello");
  await tab.composer.dispatchEvent("keydown", { key: "Enter", keyCode: 229 });
  await tab.composer.press("End");
  expect(await tab.composer.inputValue()).toBe("hello");
  expect(await tab.page.locator(".bubble").count()).toBe(0);
  await tab.quiet();
});

test("a completion that was found for less is taken in the right place", async () => {
  const tab = await Tab.open(browser, server);
  await tab.composer.pressSequentially("/t");
  await tab.page.getByRole("option", { name: /^\/title/ }).waitFor();
  const held: Route[] = [];
  await tab.page.route("**/api/v1/completions", (route) => void held.push(route));
  await tab.composer.pressSequentially("it");
  await tab.page.keyboard.press("Tab");
  await expect.poll(() => tab.composer.inputValue()).toBe("/title ");
  await tab.page.unroute("**/api/v1/completions");
  await tab.quiet();
});

test.skipIf(onPhone)("a command that is typed in full is sent with one Enter", async () => {
  const tab = await Tab.open(browser, server);
  await tab.composer.pressSequentially("/help");
  await tab.page.getByRole("option", { name: /^\/help/ }).waitFor();
  await tab.page.keyboard.press("Enter");
  await tab.page.locator(".bubble", { hasText: "/help" }).waitFor();
  expect(await tab.composer.inputValue()).toBe("");
  await tab.quiet();
});

/** What the keyboard is left to once something is done. */
const left = onPhone ? "Conversation" : "Message";

test("the keyboard is not lost after a decision", async () => {
  const tab = await Tab.open(browser, server);
  await tab.say("run the check");
  const allow = tab.page.getByRole("button", { name: "Allow" });
  await allow.focus();
  await allow.press("Enter");
  await tab.answer.getByText("The check is done.").waitFor();
  expect(await tab.focused).toBe(left);
  await tab.quiet();
});

test("the keyboard is not lost after a refusal with a reason", async () => {
  const tab = await Tab.open(browser, server);
  await tab.say("run the check");
  await tab.page.getByRole("button", { name: "Say why not" }).click();
  await tab.page.getByRole("textbox", { name: "Why not" }).fill("Not at night.");
  await tab.page.keyboard.press("Enter");
  await tab.page.locator(".approval").waitFor({ state: "detached" });
  expect(await tab.focused).toBe(left);
  await tab.idle();
  await tab.quiet();
});

test("the keyboard is not lost after a message that waits was taken back", async () => {
  const tab = await Tab.open(browser, server);
  await tab.say("run the check");
  await tab.page.getByRole("button", { name: "Allow" }).waitFor();
  await tab.say("and then hello");
  const back = tab.page.getByRole("button", { name: "Do not send" });
  await back.focus();
  await back.press("Enter");
  await back.waitFor({ state: "detached" });
  expect(await tab.focused).toBe(left);
  await tab.page.getByRole("button", { name: "Deny" }).click();
  await tab.idle();
  await tab.quiet();
});

test("a message is edited at its end, in a field that has room for it, and Esc goes back to the button", async () => {
  const lines = Array.from({ length: 8 }, (_, line) => `hello ${line}`).join("\n");
  const tab = await Tab.session(browser, server, await server.session(lines));
  await tab.page.locator(".bubble").click();
  await tab.page.getByRole("button", { name: "Edit and ask again" }).click();
  const field = tab.page.getByRole("textbox", { name: "Edit message" });
  await field.waitFor();
  expect(await field.evaluate((area: HTMLTextAreaElement) => [area.selectionStart, area.scrollHeight - area.clientHeight])).toEqual([lines.length, 0]);
  await tab.page.keyboard.press("Escape");
  await field.waitFor({ state: "detached" });
  expect(await tab.focused).toBe("Edit and ask again");
  await tab.quiet();
});
