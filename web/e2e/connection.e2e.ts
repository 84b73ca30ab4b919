//! Lost connections: the network for ten seconds, the server in the middle of an answer. The whole text is there at the end.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Tab, launch } from "./browser";
import { Cable } from "./cable";
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

/** The answer is there, once and whole. */
async function whole(tab: Tab): Promise<void> {
  await tab.answer.getByText("done.").waitFor({ timeout: 60_000 });
  await tab.idle();
  expect(await tab.page.locator(".answer .prose").allTextContents()).toEqual([COUNTED]);
}

test("an answer goes on after the network was gone for ten seconds", async () => {
  const cable = await Cable.to(server.port);
  const context = await browser.newContext();
  // Time goes its way, and can be moved on: nobody has to wait for the ten seconds.
  await context.clock.install();
  const tab = await Tab.in(await context.newPage(), cable);
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  cable.cut();
  await tab.page.getByText("Connection lost. The answer goes on; the page comes back to it.").waitFor();
  await context.clock.fastForward(5_000);
  // The server does not wait for the page.
  expect(await server.ended(tab.sessionId)).toBe("completed");
  await context.clock.fastForward(5_000);
  cable.mend();
  await context.clock.fastForward(15_000);
  await whole(tab);
  await tab.page.getByText("Not connected.").waitFor({ state: "detached" });
  await tab.quietButCutOff();
});

test("an answer is whole after ten seconds without a network, by the clock on the wall", async () => {
  const cable = await Cable.to(server.port);
  const tab = await Tab.open(browser, cable);
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  cable.cut();
  // The time itself is what is tested; nothing is waited for.
  await new Promise((done) => setTimeout(done, 10_000));
  cable.mend();
  await whole(tab);
  await tab.page.getByText("Not connected.").waitFor({ state: "detached", timeout: 30_000 });
  await tab.quietButCutOff();
}, 120_000);

test("two browsers on one session end with the same words", async () => {
  const id = await server.session();
  const tabs = await Promise.all([Tab.session(browser, server, id), Tab.session(browser, server, id)]);
  await tabs[0]?.say("count slowly");
  await Promise.all(tabs.map(whole));
  const drawn = await Promise.all(tabs.map((tab) => tab.page.locator('[role="feed"] .prose').evaluateAll((all) => all.map((prose) => prose.innerHTML))));
  expect(drawn[0]).toEqual(drawn[1]);
  await Promise.all(tabs.map((tab) => tab.quiet()));
});

test("what is written while the network is gone is sent once it is back, once", async () => {
  const cable = await Cable.to(server.port);
  const tab = await Tab.session(browser, cable, await server.session("hello"));
  await tab.answer.getByText("Aye.").waitFor();
  cable.cut();
  await tab.page.getByText("Not connected. Trying again.").waitFor();
  await tab.fits();
  await tab.say("think about it");
  await tab.page.locator(".user-message[data-pending]").waitFor();
  await tab.page.getByText("Connection lost. The message is sent once the server is back.").waitFor();
  cable.mend();
  await tab.answer.getByText("Yes.").waitFor({ timeout: 30_000 });
  await tab.idle();
  expect(await tab.page.locator(".bubble").allTextContents()).toEqual(["hello", "think about it"]);
  await tab.quietButCutOff();
});

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  test(`an answer is whole after the server ended with ${signal} and came back`, async () => {
    const tab = await Tab.open(browser, server);
    await tab.say("count slowly");
    await tab.answer.getByText("1 2 3").waitFor();
    await server.down(signal);
    await server.up();
    await whole(tab);
    await tab.quietButCutOff();
  }, 120_000);
}
