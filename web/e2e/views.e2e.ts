//! How it looks and who can use it: keyboard only, phone, dark, long sessions, lost connections. Takes the pictures, too.

import { cp, mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PHONE, Tab, launch } from "./browser";
import { Server } from "./server";

const PICTURES = resolve(import.meta.dirname, "../test-results");
let server: Server;
let browser: Browser;
let worked: string;

/** A session in which work was done. */
async function work(): Promise<string> {
  await cp(resolve(import.meta.dirname, "project/free.sh"), `${server.folder}/work/free.sh`);
  const id = await server.session("mend free.sh", "please stream the tide table");
  await server.api(`/sessions/${id}`, { title: "Free berths" }, "PATCH");
  return id;
}

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await mkdir(PICTURES, { recursive: true });
  worked = await work();
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`the main views are accessible and drawn, ${colorScheme}`, async () => {
    const id = await work();
    const tab = await Tab.open(browser, server, "/", { colorScheme });
    const picture = (name: string) => tab.page.screenshot({ path: `${PICTURES}/${name}-${colorScheme}.png` });
    await tab.page.getByText("What shall we work on?").waitFor();
    await tab.accessible();
    await picture("new");
    await tab.page.goto(`${server.url}/#/s/${id}`);
    await tab.answer.locator("math").waitFor();
    await tab.answer.locator(".hl-string").waitFor();
    await tab.accessible();
    await picture("chat");
    await tab.page.locator(".scroller").press("Home");
    await picture("tools");
    await tab.page.getByRole("button", { name: "Inspector" }).first().click();
    await tab.page.getByText("By plugin").waitFor();
    await tab.accessible();
    await picture("inspector");
    await tab.page.getByRole("tab", { name: "Usage" }).click();
    await tab.page.getByText("Tokens per day").waitFor();
    await tab.accessible();
    await picture("usage");
    await tab.page.getByRole("tab", { name: "Agent" }).click();
    await tab.page.getByText("Tools the model may call").waitFor();
    await tab.accessible();
    await tab.page.getByRole("button", { name: "Close inspector" }).click();
    await tab.page.keyboard.press("Control+k");
    await tab.page.getByRole("dialog").waitFor();
    await tab.accessible();
    await picture("palette");
    await tab.page.keyboard.press("Escape");
    await tab.page.keyboard.press("Control+.");
    await tab.page.getByRole("dialog", { name: "Settings" }).waitFor();
    await tab.accessible();
    await picture("settings");
    await tab.page.keyboard.press("Escape");
    await tab.say("run the check");
    await tab.page.locator(".approval").waitFor();
    await tab.accessible();
    await picture("approval");
    await tab.page.getByRole("button", { name: "Deny" }).click();
    await tab.answer.getByText("The check is done.").waitFor();
    await tab.quiet();
  });
}

test("it works at the size of a phone", async () => {
  const tab = await Tab.session(browser, server, worked, PHONE);
  await tab.answer.waitFor();
  const wide = await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(wide).toBeLessThanOrEqual(0);
  await tab.accessible();
  await tab.page.screenshot({ path: `${PICTURES}/phone.png` });
  await tab.page.getByRole("button", { name: "Show sessions" }).tap();
  await tab.page.getByRole("button", { name: "New session" }).waitFor();
  await tab.accessible();
  await tab.page.screenshot({ path: `${PICTURES}/phone-sessions.png` });
  await tab.page.locator(".session-link", { hasText: "Free berths" }).first().tap();
  await tab.page.locator(".sidebar").waitFor({ state: "detached" });
  await tab.composer.fill("hello");
  await tab.page.getByRole("button", { name: "Send (Enter)" }).tap();
  await tab.answer.getByText("Aye.").waitFor();
  await tab.quiet();
});

test("everything can be done with the keyboard alone", async () => {
  const tab = await Tab.open(browser, server);
  const { keyboard } = tab.page;
  await keyboard.type("hello");
  await keyboard.press("Enter");
  await tab.answer.getByText("Aye.").waitFor();
  const first = tab.sessionId;
  await keyboard.press("Control+Shift+O");
  await tab.page.getByText("What shall we work on?").waitFor();
  await keyboard.press("Control+k");
  await tab.page.getByRole("dialog").waitFor();
  await keyboard.type("Free berths");
  await tab.page.getByRole("option", { name: /Free berths/ }).first().waitFor();
  await keyboard.press("Enter");
  await tab.page.getByRole("heading", { name: "Free berths", level: 1 }).waitFor();
  await keyboard.press("Alt+ArrowUp");
  await expect.poll(() => tab.sessionId).toBe(first);
  await keyboard.press("Control+Shift+L");
  expect(await tab.composer.evaluate((box) => box === document.activeElement)).toBe(true);
  await keyboard.press("Control+Shift+S");
  await tab.page.locator(".sidebar").waitFor({ state: "detached" });
  await keyboard.press("Control+/");
  await tab.page.getByRole("dialog", { name: "Keys" }).waitFor();
  await keyboard.press("Escape");
  // The menu of the session, by walking to it.
  await tab.page.getByRole("button", { name: "Session menu" }).focus();
  await keyboard.press("Enter");
  await tab.page.getByRole("menuitem", { name: "Rename" }).waitFor();
  await keyboard.type("Ren");
  await expect.poll(() => tab.page.evaluate(() => document.activeElement?.textContent)).toBe("Rename");
  await keyboard.press("Enter");
  await tab.page.getByRole("dialog", { name: "Rename session" }).waitFor();
  await keyboard.type("By hand");
  await keyboard.press("Enter");
  await tab.page.getByRole("heading", { name: "By hand", level: 1 }).waitFor();
  await tab.quiet();
});

test("a session of 10,000 messages opens at its end, keeps few of them in the page, and scrolls", async () => {
  const messages = Array.from({ length: 10_000 }, (_, n) => ({ role: n % 2 ? "assistant" : "user", content: `Message ${n} ${"and more words ".repeat(n % 17)}`, metadata: {} }));
  const { session_id } = await server.api<{ session_id: string }>("/sessions/import", { session_id: "long", messages, metadata: { agent_id: "mate", title: "Long" } });
  const began = Date.now();
  const tab = await Tab.session(browser, server, session_id);
  await tab.page.getByText("Message 9999").waitFor();
  const took = Date.now() - began;
  console.log(`10,000 messages: the end is shown after ${took} ms`);
  expect(took).toBeLessThan(8_000);
  await tab.page.locator('[aria-setsize="10000"]').first().waitFor();
  expect(await tab.page.locator(".item").count()).toBeLessThan(80);
  await tab.page.locator(".scroller").press("Home");
  await tab.page.getByText("Message 0 ", { exact: true }).waitFor();
  await tab.page.getByRole("button", { name: "Jump to latest" }).click();
  await tab.page.getByText("Message 9999").waitFor();
  await tab.quiet();
});

test("the view stays where the reader scrolled to while an answer grows", async () => {
  const tab = await Tab.session(browser, server, worked);
  await tab.answer.waitFor();
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  await tab.page.locator(".scroller").hover();
  await tab.page.mouse.wheel(0, -900);
  await tab.page.getByRole("button", { name: "Jump to latest" }).waitFor();
  const before = await tab.page.locator(".scroller").evaluate((view) => view.scrollTop);
  await tab.page.waitForTimeout(500);
  expect(await tab.page.locator(".scroller").evaluate((view) => view.scrollTop)).toBe(before);
  await tab.page.keyboard.press("Escape");
  await tab.idle();
  await tab.quiet();
});
