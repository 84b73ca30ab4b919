//! Many tabs of one browser, which has six connections to a server for all of them.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DESKTOP, Tab, launch } from "./browser";
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

const COUNTED = `${Array.from({ length: 30 }, (_, n) => n + 1).join(" ")} done.`;

test("seven tabs, each with an answer that runs: all of them end with the whole text, and know of each other", async () => {
  const context = await browser.newContext({ viewport: DESKTOP });
  const tabs: Tab[] = [];
  for (let number = 0; number < 7; number += 1) {
    const tab = await Tab.in(await context.newPage(), server);
    await tab.say("count slowly");
    await tab.answer.getByText("1 2 3").waitFor();
    tabs.push(tab);
  }
  // The last one works as if it were alone, while the others are being answered.
  const last = tabs.at(-1) as Tab;
  await last.page.keyboard.press("Control+.");
  await last.page.getByRole("dialog", { name: "Settings" }).waitFor();
  await last.page.keyboard.press("Escape");
  for (const tab of tabs) {
    await tab.answer.getByText("done.").waitFor({ timeout: 30_000 });
    await tab.idle();
    expect(await tab.page.locator(".answer .prose").allTextContents()).toEqual([COUNTED]);
  }
  // What happens in one is seen in those that do not stream.
  await server.api(`/sessions/${last.sessionId}`, { title: "Seventh" }, "PATCH");
  await tabs[0]?.page.getByRole("navigation", { name: "Sessions" }).getByText("Seventh").waitFor();
  // One that was put aside works as soon as it is used.
  await tabs[0]?.ask("hello");
  await tabs[0]?.answer.getByText("Aye.").waitFor();
  await context.close();
  expect(tabs.flatMap((tab) => tab.complaints)).toEqual([]);
}, 120_000);
