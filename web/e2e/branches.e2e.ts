//! Branches: one row for all of them, the way between them, and the way to a message.

import type { Browser } from "playwright-core";
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

const row = (tab: Tab, title: string) => tab.page.locator(".session-row", { hasText: title });

/** A session with a branch at a message, in which something else was asked. */
async function branched(title: string, index: number, asked: string, ...texts: string[]): Promise<{ first: string; branch: string }> {
  const first = await server.session(...texts);
  await server.api(`/sessions/${first}`, { title }, "PATCH");
  const { session } = await server.api<{ session: { session_id: string } }>(`/sessions/${first}/branches`, { index });
  await server.api(`/sessions/${session.session_id}/requests`, { content: asked, stream: false, queue: true });
  return { first, branch: session.session_id };
}

test("branches are one row, which says how many there are and opens the newest", async () => {
  const { branch } = await branched("Tides twice", 0, "think about it", "hello");
  const tab = await Tab.open(browser, server);
  await tab.showSessions();
  await row(tab, "Tides twice").getByText("2 branches").waitFor();
  expect(await row(tab, "Tides twice").count()).toBe(1);
  await tab.accessible();
  await row(tab, "Tides twice").locator(".session-link").click();
  await expect.poll(() => tab.sessionId).toBe(branch);
  await tab.answer.getByText("Yes.").waitFor();
  await tab.page.getByRole("button", { name: "Previous branch" }).click();
  await tab.answer.getByText("Aye.").waitFor();
  await tab.showSessions();
  await tab.page.locator(".session-row[data-open]", { hasText: "Tides twice" }).waitFor();
  await tab.quiet();
});

test("a copy of a branch is a row of its own", async () => {
  const { branch } = await branched("Copied branch", 0, "think about it", "hello");
  await server.api(`/sessions/${branch}/fork`, {});
  const tab = await Tab.open(browser, server);
  await tab.showSessions();
  await expect.poll(() => row(tab, "Copied branch").count()).toBe(2);
  await row(tab, "Copied branch").getByText("2 branches").waitFor();
  await tab.quiet();
});

test("whoever deletes a branch sees the one beside it, and all of them go with their row", async () => {
  const { first, branch } = await branched("Pruned", 0, "think about it", "hello");
  const tab = await Tab.session(browser, server, branch);
  await tab.answer.getByText("Yes.").waitFor();
  await tab.menu("Session menu", "Delete this branch");
  await tab.page.getByText("Branch deleted.").waitFor();
  await expect.poll(() => tab.sessionId).toBe(first);
  await tab.answer.getByText("Aye.").waitFor();
  await tab.page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => tab.sessionId).toBe(branch);
  await tab.showSessions();
  await row(tab, "Pruned").hover();
  await tab.menu("More for Pruned", "Delete all branches");
  await row(tab, "Pruned").waitFor({ state: "detached" });
  expect(tab.sessionId).toBe("");
  await tab.page.getByRole("button", { name: "Close note" }).click();
  for (const id of [first, branch]) await expect.poll(async () => (await fetch(`${server.url}/api/v1/sessions/${id}`)).status).toBe(404);
  await tab.quiet();
});

test("a name, a pin and the archive are of all branches", async () => {
  const { first, branch } = await branched("Of one mind", 0, "think about it", "hello");
  const tab = await Tab.session(browser, server, first);
  await tab.answer.getByText("Aye.").waitFor();
  await tab.showSessions();
  await row(tab, "Of one mind").hover();
  await tab.menu("More for Of one mind", "Pin");
  await tab.page.getByRole("region", { name: "Pinned" }).getByText("Of one mind").waitFor();
  await tab.hideSessions();
  await tab.menu("Session menu", "Rename");
  await tab.page.getByRole("textbox", { name: "Name" }).fill("Of two minds");
  await tab.page.getByRole("button", { name: "Rename" }).click();
  const told = (id: string) => server.api<{ title: string; pinned: boolean; archived: boolean }>(`/sessions/${id}`);
  for (const id of [first, branch]) await expect.poll(async () => (await told(id)).title).toBe("Of two minds");
  await tab.page.getByRole("button", { name: "Next branch" }).click();
  await expect.poll(() => tab.sessionId).toBe(branch);
  await tab.menu("Session menu", "Unpin");
  await expect.poll(async () => (await told(first)).pinned).toBe(false);
  await tab.menu("Session menu", "Archive");
  await tab.page.getByText("What shall we work on?").waitFor();
  for (const id of [first, branch]) await expect.poll(async () => (await told(id)).archived).toBe(true);
  await tab.page.getByRole("button", { name: "Undo" }).click();
  for (const id of [first, branch]) await expect.poll(async () => (await told(id)).archived).toBe(false);
  await tab.quiet();
});

test("what was said in a branch only is found, and what is common to all is found once", async () => {
  await branched("Found twice", 2, "the lanterns are out", "the anchor is rusty", "hello");
  const tab = await Tab.open(browser, server);
  await tab.showSessions();
  const search = tab.page.getByRole("searchbox", { name: "Search sessions" });
  await search.fill("anchor");
  await row(tab, "Found twice").locator(".session-snippet").waitFor();
  expect(await row(tab, "Found twice").count()).toBe(1);
  await search.fill("lanterns");
  await row(tab, "Found twice").getByText("lanterns").waitFor();
  await row(tab, "Found twice").locator(".session-link").click();
  await tab.page.locator(".bubble", { hasText: "the lanterns are out" }).waitFor();
  await tab.quiet();
});

test.skipIf(onPhone)("the way between branches is to be seen without pointing at the message", async () => {
  const { branch } = await branched("In sight", 0, "think about it", "hello", "hello");
  const tab = await Tab.session(browser, server, branch);
  await tab.page.mouse.move(0, 0);
  const bar = tab.page.locator(".message-tools:has(.walker)");
  await bar.waitFor();
  await expect.poll(() => bar.evaluate((element) => getComputedStyle(element).opacity)).toBe("1");
  await tab.quiet();
});

/** How far below the top of the conversation a message begins. */
async function below(tab: Tab, text: string): Promise<number> {
  const [view, bubble] = await Promise.all([tab.page.locator(".scroller").boundingBox(), tab.page.locator(".bubble", { hasText: text }).boundingBox()]);
  return (bubble?.y ?? 1e9) - (view?.y ?? 0);
}

const LONG = Array.from({ length: 45 }, (_, number) => `hello number ${String(number).padStart(2, "0")}`);

test("an address may name a message, a hit of a search leads to it, and a message tells its address", async () => {
  const id = await server.session(...LONG.slice(0, 5), "the foghorn is silent", ...LONG.slice(5));
  const tab = await Tab.open(browser, server, `/#/s/${id}@4`);
  await tab.page.locator(".bubble", { hasText: "hello number 02" }).waitFor();
  await expect.poll(() => below(tab, "hello number 02")).toBeLessThan(60);
  expect(await below(tab, "hello number 02")).toBeGreaterThanOrEqual(0);
  await tab.page.getByRole("button", { name: "Jump to latest" }).click();
  await tab.page.locator(".bubble", { hasText: "hello number 44" }).waitFor();
  await tab.showSessions();
  await tab.page.getByRole("searchbox", { name: "Search sessions" }).fill("foghorn");
  await tab.page.locator(".session-row", { hasText: "foghorn" }).locator(".session-link").click();
  await expect.poll(() => below(tab, "foghorn")).toBeLessThan(60);
  await tab.page.locator(".bubble", { hasText: "foghorn" }).click();
  await tab.page.locator(".item", { hasText: "foghorn" }).getByRole("button", { name: "More" }).click();
  await tab.page.getByRole("menuitem", { name: "Copy the link to it" }).click();
  await tab.page.getByText("The link is copied.").waitFor();
  expect(await tab.page.evaluate(() => navigator.clipboard.readText())).toBe(`${server.url}/#/s/${id}@10`);
  // A message that is not there is the end.
  await tab.page.goto(`${server.url}/#/s/${id}@4000`);
  await tab.page.locator(".bubble", { hasText: "hello number 44" }).waitFor();
  await tab.quiet();
});

test("walking between branches stays at the message", async () => {
  const { branch } = await branched("Walked", 4, "hello instead", ...LONG);
  const tab = await Tab.session(browser, server, branch);
  await tab.page.getByText("2/2").waitFor();
  await tab.page.getByRole("button", { name: "Previous branch" }).click();
  await tab.page.getByText("1/2").waitFor();
  await expect.poll(() => below(tab, "hello number 02")).toBeLessThan(60);
  await tab.quiet();
});
