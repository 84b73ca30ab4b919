//! Lost connections: the network for ten seconds, the server in the middle of an answer. The whole text is there at the end.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Tab, launch } from "./browser";
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

test("an answer goes on after the network was gone for ten seconds", async () => {
  const tab = await Tab.open(browser, server);
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  await tab.page.context().setOffline(true);
  await tab.page.waitForTimeout(10_000);
  await tab.page.context().setOffline(false);
  await tab.answer.getByText("done.").waitFor({ timeout: 30_000 });
  await tab.idle();
  expect(await tab.answer.locator(".prose").textContent()).toBe(COUNTED);
  await tab.page.context().close();
});

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  test(`an answer is whole after the server ended with ${signal} and came back`, async () => {
    const tab = await Tab.open(browser, server);
    await tab.say("count slowly");
    await tab.answer.getByText("1 2 3").waitFor();
    await server.down(signal);
    await server.up();
    await tab.answer.getByText("done.").waitFor({ timeout: 60_000 });
    await tab.idle();
    expect(await tab.page.locator(".answer .prose").last().textContent()).toBe(COUNTED);
    expect(await tab.page.locator(".answer").count()).toBe(1);
    await tab.page.context().close();
  }, 120_000);
}
