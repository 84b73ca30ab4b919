//! Dialogs: they are about the session they were opened for, and there at once.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Tab, launch } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start("\n[server]\nshare_links = true\n"), launch()]);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

async function named(title: string): Promise<string> {
  const id = await server.session("hello");
  await server.api(`/sessions/${id}`, { title }, "PATCH");
  return id;
}

test("keys that go to another session do nothing behind a dialog", async () => {
  const ids = [await named("Older"), await named("Newer")];
  const tab = await Tab.session(browser, server, ids[0] ?? "");
  await tab.answer.getByText("Aye.").waitFor();
  await tab.menu("Session menu", "Rename");
  await tab.page.getByRole("textbox", { name: "Name" }).fill("Oldest");
  for (const key of ["Alt+ArrowUp", "Control+Shift+O"]) await tab.page.keyboard.press(key);
  expect(tab.sessionId).toBe(ids[0]);
  await tab.page.getByRole("button", { name: "Rename" }).click();
  await tab.page.getByRole("heading", { name: "Oldest", level: 1 }).waitFor();
  const titles = () => Promise.all(ids.map(async (id) => (await server.api<{ title: string }>(`/sessions/${id}`)).title));
  await expect.poll(titles).toEqual(["Oldest", "Newer"]);
  await tab.quiet();
});

test("a dialog about a session goes with it", async () => {
  const ids = [await named("Shared"), await named("Not shared")];
  const tab = await Tab.session(browser, server, ids[1] ?? "");
  await tab.page.goto(`${server.url}/#/s/${ids[0]}`);
  await tab.page.getByRole("heading", { name: "Shared", level: 1, exact: true }).waitFor();
  await tab.menu("Session menu", "Share by a link");
  const dialog = tab.page.getByRole("dialog");
  await dialog.waitFor();
  await tab.page.goBack();
  await tab.page.getByRole("heading", { name: "Not shared", level: 1 }).waitFor();
  await dialog.waitFor({ state: "detached" });
  await tab.quiet();
});

test("dialogs of the page give way to each other", async () => {
  const tab = await Tab.open(browser, server);
  await tab.page.keyboard.press("Control+.");
  await tab.page.getByRole("dialog", { name: "Settings" }).waitFor();
  await tab.page.keyboard.press("Control+/");
  await tab.page.getByRole("dialog", { name: "Keys" }).waitFor();
  expect(await tab.page.getByRole("dialog").count()).toBe(1);
  await tab.quiet();
});

test("what is typed right after a dialog was opened is typed into it", async () => {
  const tab = await Tab.open(browser, server);
  await tab.composer.focus();
  const isLoaded = () => tab.page.evaluate(() => performance.getEntriesByType("resource").some((part) => part.name.includes("/Palette-")));
  await expect.poll(isLoaded).toBe(true);
  await tab.page.keyboard.press("Control+k");
  await tab.page.keyboard.type("theme");
  expect(await tab.page.getByRole("combobox").inputValue()).toBe("theme");
  expect(await tab.page.locator("#composer").inputValue()).toBe("");
  await tab.quiet();
});
