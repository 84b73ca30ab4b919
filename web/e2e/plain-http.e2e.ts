//! The page from another machine, over plain HTTP: browsers take much away there.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { OTHER_NAME, Tab, launch } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;
beforeAll(async () => {
  const token = '\n[[server.tokens]]\ntoken = "the-tide-turns-at-six"\ntenant = "acme"\nuser = "ana"\n';
  // A name that is not of this machine, as far as the browser knows.
  [server, browser] = await Promise.all([Server.start(token), launch({}, OTHER_NAME)]);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

test("over plain HTTP one chats, attaches and copies as elsewhere", async () => {
  const context = await browser.newContext();
  await context.addInitScript(() => localStorage.setItem("orlop.token", "the-tide-turns-at-six"));
  const tab = await Tab.in(await context.newPage(), { url: `http://harbour.test:${server.port}` });
  expect(await tab.page.evaluate(() => [isSecureContext, "clipboard" in navigator, "randomUUID" in crypto])).toEqual([false, false, false]);
  await tab.page.locator('.composer input[type="file"]').setInputFiles({ name: "night.log", mimeType: "text/plain", buffer: Buffer.from("02:14 fog") });
  await tab.page.getByRole("list", { name: "Attached files" }).getByText("9 B").waitFor();
  await tab.ask("Please stream the tide table");
  await tab.answer.getByRole("button", { name: "Copy code" }).click();
  await tab.answer.getByRole("button", { name: "Copied" }).waitFor();
  // What was copied can be pasted.
  await tab.composer.focus();
  await tab.page.keyboard.press("Control+v");
  expect(await tab.composer.inputValue()).toBe("grep -c ',free$' berths.csv");
  await tab.composer.fill("");
  await tab.page.evaluate(() => (document.execCommand = () => false));
  await tab.answer.getByRole("button", { name: "Copy answer" }).click();
  await tab.page.getByText("The browser does not let this page copy.").waitFor();
  await tab.quiet();
});
