//! The page with a model behind real HTTP: what it says, what it refuses, and where it breaks off.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Tab, launch } from "./browser";
import { Model } from "./model";
import { Server } from "./server";

let model: Model;
let server: Server;
let browser: Browser;
beforeAll(async () => {
  model = await Model.start();
  const agent = `\n[agents.wire]\nprovider = "openai_compatible"\nbase_url = "${model.url}"\napi_key = "of-the-harbour"\nmodel = "tide-1"\nmax_retries = 0\n`;
  [server, browser] = await Promise.all([Server.start(agent), launch()]);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
  await model.stop();
});

async function open(): Promise<Tab> {
  const { session_id } = await server.api<{ session_id: string }>("/sessions", { agent_id: "wire" });
  return Tab.session(browser, server, session_id);
}

test("what a model streams over HTTP is shown, with what it counted", async () => {
  const tab = await open();
  await tab.ask("When is high water?");
  expect(await tab.answer.locator(".prose").textContent()).toBe("High water at six.");
  expect(await tab.answer.locator("strong").textContent()).toBe("six");
  await tab.page.locator(".turn-facts").getByText("21 in · 4 out").waitFor();
  await tab.quiet();
});

test("a model that has too much to do is a failure that says so, and another try works", async () => {
  const tab = await open();
  await tab.page.clock.install();
  model.trouble.push("too many");
  await tab.say("When is high water?");
  const failure = tab.page.locator(".failure", { hasText: "The tide is too high." });
  await failure.waitFor();
  await tab.page.clock.fastForward(10_000);
  await failure.getByRole("button", { name: "Try again", exact: true }).click();
  await tab.answer.getByText("High water at").waitFor();
  await tab.idle();
  expect(await tab.page.locator(".bubble").count()).toBe(1);
  await tab.quiet();
});

test("a server that takes no more requests says how long to wait; the message waits, and goes then", async () => {
  const tab = await open();
  let refused = 0;
  await tab.page.route("**/api/v1/sessions/*/requests", (route) => {
    if (route.request().method() !== "POST" || refused > 0) return route.fallback();
    refused += 1;
    return route.fulfill({ status: 429, headers: { "retry-after": "20" }, json: { error_type: "too_many_requests", message: "You have 4 turns already." } });
  });
  await tab.page.clock.install();
  await tab.say("When is high water?");
  const failure = tab.page.locator(".failure");
  await failure.getByText(/^You can try again in \d+ s$/).waitFor();
  expect(await failure.getByRole("button", { name: "Try again" }).isDisabled()).toBe(true);
  expect(await failure.getByRole("status").textContent()).toBe("");
  await tab.accessible();
  await tab.page.getByText("Not sent. You have 4 turns already.").waitFor();
  await tab.page.clock.fastForward(21_000);
  await failure.getByRole("status").getByText("You can try again now.").waitFor();
  await tab.page.getByRole("button", { name: "Try again", exact: true }).click();
  await tab.answer.getByText("High water at").waitFor();
  expect(await tab.page.locator(".bubble").allTextContents()).toEqual(["When is high water?"]);
  await tab.page.context().close();
  expect(tab.complaints.filter((complaint) => !complaint.includes("429"))).toEqual([]);
});

test("an answer that breaks off is a failure, and another try has all of it, once", async () => {
  const tab = await open();
  model.trouble.push("breaks off");
  await tab.say("When is high water?");
  const failure = tab.page.locator(".failure");
  await failure.getByRole("button", { name: "Try again", exact: true }).click();
  await failure.waitFor({ state: "detached" });
  await tab.idle();
  expect(await tab.page.locator(".answer .prose").allTextContents()).toEqual(["High water at six."]);
  expect(await tab.page.locator(".bubble").allTextContents()).toEqual(["When is high water?"]);
  await tab.quiet();
});
