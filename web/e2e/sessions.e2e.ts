//! Sessions: the list, search, names, deletion with undo, forks, export and import.

import { readFile } from "node:fs/promises";
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

const row = (tab: Tab, title: string) => tab.page.locator(".session-row", { hasText: title });

async function named(title: string, ...texts: string[]): Promise<string> {
  const id = await server.session(...texts);
  await server.api(`/sessions/${id}`, { title }, "PATCH");
  return id;
}

test("sessions are found by their name and by their words", async () => {
  await named("Tides", "hello tides");
  await named("Berths", "the lighthouse is dark");
  const tab = await Tab.open(browser, server);
  await tab.showSessions();
  await row(tab, "Tides").waitFor();
  const search = tab.page.getByRole("searchbox", { name: "Search sessions" });
  await search.fill("lighthouse");
  await row(tab, "Tides").waitFor({ state: "detached" });
  await row(tab, "Berths").waitFor();
  const [hit, words] = await Promise.all([row(tab, "Berths").boundingBox(), row(tab, "Berths").locator(".session-snippet").boundingBox()]);
  expect((hit?.y ?? 0) + (hit?.height ?? 0) - (words?.y ?? 0) - (words?.height ?? 0)).toBeGreaterThanOrEqual(6);
  await search.fill("no such thing");
  await tab.page.getByText("No session has these words.").waitFor();
  await tab.quiet();
});

test("a session is renamed, here and in another browser", async () => {
  const id = await named("Old name", "hello");
  const [tab, other] = await Promise.all([Tab.session(browser, server, id), Tab.open(browser, server)]);
  await other.showSessions();
  await row(other, "Old name").waitFor();
  await tab.menu("Session menu", "Rename");
  await tab.page.getByRole("textbox", { name: "Name" }).fill("New name");
  await tab.page.keyboard.press("Enter");
  await tab.page.getByRole("heading", { name: "New name", level: 1 }).waitFor();
  await row(other, "New name").waitFor();
  await Promise.all([tab.quiet(), other.quiet()]);
});

test("a session that is being answered gets its name once the answer is complete", async () => {
  const id = await named("Busy", "hello");
  const tab = await Tab.session(browser, server, id);
  await tab.answer.getByText("Aye.").waitFor();
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  await tab.menu("Session menu", "Rename");
  await tab.page.getByRole("textbox", { name: "Name" }).fill("Done");
  await tab.page.keyboard.press("Enter");
  await tab.page.getByText("It is changed once the answer is complete.").waitFor();
  await tab.idle();
  await expect.poll(async () => (await server.api<{ title: string }>(`/sessions/${id}`)).title).toBe("Done");
  expect(tab.complaints.splice(0)).toEqual(["console: Failed to load resource: the server responded with a status of 409 (Conflict)"]);
  await tab.quiet();
});

test("a session that waits for a decision is deleted", async () => {
  const id = await named("Waiting", "hello");
  const tab = await Tab.session(browser, server, id);
  await tab.answer.getByText("Aye.").waitFor();
  await tab.say("run the check");
  await tab.page.getByRole("button", { name: "Allow" }).waitFor();
  await tab.menu("Session menu", "Delete");
  await row(tab, "Waiting").waitFor({ state: "detached" });
  await tab.page.getByRole("button", { name: "Close note" }).click();
  const gone = async () => (await fetch(`${server.url}/api/v1/sessions/${id}`)).status;
  await expect.poll(gone).toBe(404);
  await tab.quiet();
});

test("the page says how many sessions want somebody to look: not of tasks inside of them, nor of those that are gone", async () => {
  const tab = await Tab.open(browser, server);
  const id = await named("Two pairs of eyes");
  await tab.showSessions();
  await row(tab, "Two pairs of eyes").waitFor();
  await server.api(`/sessions/${id}/requests`, { content: "get a second pair of eyes", stream: false });
  await row(tab, "Two pairs of eyes").getByRole("img", { name: "new answer" }).waitFor();
  await expect.poll(() => tab.page.title()).toBe("(1) Orlop");
  await server.api(`/sessions/${id}`, undefined, "DELETE");
  await expect.poll(() => tab.page.title()).toBe("Orlop");
  await tab.quiet();
});

for (const [who, asked] of [["an agent", "run the check"], ["a task inside of it", "let somebody check"]] as const) {
  test(`a session is marked until a question is answered that ${who} asks, also for those who looked at it`, async () => {
    const title = `Asked by ${who}`;
    const id = await named(title);
    const tab = await Tab.open(browser, server);
    await tab.showSessions();
    await row(tab, title).waitFor();
    const answered = server.api(`/sessions/${id}/requests`, { content: asked, stream: false });
    const mark = row(tab, title).getByRole("img", { name: "waits for you" });
    await mark.waitFor();
    await row(tab, title).locator(".session-link").click();
    const deny = tab.page.locator(".approval").getByRole("button", { name: "Deny" });
    await deny.waitFor();
    await tab.showSessions();
    await tab.page.getByRole("button", { name: "New session" }).click();
    await tab.showSessions();
    await mark.waitFor();
    await row(tab, title).locator(".session-link").click();
    await deny.click();
    await answered;
    await tab.showSessions();
    await mark.waitFor({ state: "detached" });
    await tab.quiet();
  });
}

test("whoever looks at a session that somebody else deletes is told", async () => {
  const id = await server.session("hello");
  const tab = await Tab.session(browser, server, id);
  await tab.answer.getByText("Aye.").waitFor();
  await server.api(`/sessions/${id}`, undefined, "DELETE");
  await tab.page.getByText("The session you looked at was deleted.").waitFor();
  expect(tab.sessionId).toBe("");
  await tab.page.context().close();
  // What was being asked about it just then is not found.
  expect(tab.complaints.filter((complaint) => !complaint.includes("404"))).toEqual([]);
});

test("a deleted session comes back with Undo, and goes without", async () => {
  const id = await named("To be deleted", "hello");
  const tab = await Tab.session(browser, server, id);
  await tab.menu("Session menu", "Delete");
  await row(tab, "To be deleted").waitFor({ state: "detached" });
  await tab.page.getByRole("button", { name: "Undo" }).click();
  await tab.showSessions();
  await row(tab, "To be deleted").waitFor();
  expect((await server.api<{ session_id: string }>(`/sessions/${id}`)).session_id).toBe(id);
  await row(tab, "To be deleted").getByRole("button").first().click();
  await tab.menu("Session menu", "Delete");
  await expect.poll(() => server.api(`/sessions/${id}`).then(() => "there", () => "gone"), { timeout: 15_000 }).toBe("gone");
  await tab.quiet();
});

test("a pinned session stands above the others, in every browser", async () => {
  const id = await named("Pin me", "hello");
  await named("Newer", "hello");
  const [tab, other] = await Promise.all([Tab.open(browser, server), Tab.session(browser, server, id)]);
  await Promise.all([tab.showSessions(), other.showSessions()]);
  await row(tab, "Pin me").hover();
  await tab.menu("More for Pin me", "Pin");
  for (const { page } of [tab, other]) {
    await page.getByRole("region", { name: "Pinned" }).getByText("Pin me").waitFor();
    expect(await page.locator(".session-title").first().textContent()).toBe("Pin me");
  }
  await other.hideSessions();
  await other.menu("Session menu", "Unpin");
  await other.showSessions();
  for (const { page } of [tab, other]) await page.getByRole("region", { name: "Pinned" }).waitFor({ state: "detached" });
  await Promise.all([tab.quiet(), other.quiet()]);
});

test("an archived session is out of the way, and comes back", async () => {
  const id = await named("Put me away", "hello");
  const tab = await Tab.session(browser, server, id);
  await tab.menu("Session menu", "Archive");
  await row(tab, "Put me away").waitFor({ state: "detached" });
  await tab.page.getByText("What shall we work on?").waitFor();
  await tab.showSessions();
  await tab.menu("Page menu", "Archived sessions");
  await row(tab, "Put me away").waitFor();
  expect(await tab.page.locator(".session-row").count()).toBe(1);
  await tab.accessible();
  await row(tab, "Put me away").hover();
  await tab.menu("More for Put me away", "Take back");
  await tab.page.getByText("No session is archived.").waitFor();
  await tab.page.getByRole("button", { name: "Back to all sessions" }).click();
  await row(tab, "Put me away").waitFor();
  await tab.quiet();
});

test("a session goes on in a copy from a message", async () => {
  const id = await named("Forked", "hello", "think about it");
  const tab = await Tab.session(browser, server, id);
  await tab.answer.getByText("Yes.").waitFor();
  await tab.page.locator(".answer").first().click();
  await tab.page.locator(".answer").first().getByRole("button", { name: "Continue in a copy from here" }).click();
  await expect.poll(() => tab.sessionId).not.toBe(id);
  await expect.poll(() => tab.page.locator(".bubble").count()).toBe(1);
  await tab.quiet();
});

/** The file that the session in view is exported as. */
async function exported(tab: Tab): Promise<string> {
  const downloading = tab.page.waitForEvent("download");
  await tab.menu("Session menu", "Export as JSON");
  return (await downloading).path();
}

test("a file is called like its session", async () => {
  const tab = await Tab.session(browser, server, await named("Ebb / flow: Zoë", "hello"));
  await tab.page.getByRole("heading", { name: "Ebb / flow: Zoë", level: 1 }).waitFor();
  const downloading = tab.page.waitForEvent("download");
  await tab.menu("Session menu", "Export as Markdown");
  expect((await downloading).suggestedFilename()).toBe("Ebb - flow- Zoë.md");
  await tab.quiet();
});

test("a session is exported and imported again", async () => {
  const id = await named("Exported", "hello");
  const tab = await Tab.session(browser, server, id);
  const file = await exported(tab);
  const session = JSON.parse(await readFile(file, "utf8")) as { messages: unknown[] };
  expect(session.messages).toHaveLength(2);
  await server.api(`/sessions/${id}`, undefined, "DELETE");
  await expect.poll(() => tab.sessionId).toBe("");
  await tab.showSessions();
  await tab.page.locator('.sidebar input[type="file"]').setInputFiles(file);
  await tab.answer.getByText("Aye.").waitFor();
  expect(tab.sessionId).not.toBe("");
  await tab.quiet();
});

test("a session that is here already is imported as a copy, if that is wanted", async () => {
  const id = await named("Kept twice", "hello");
  const tab = await Tab.session(browser, server, id);
  const file = await exported(tab);
  await tab.showSessions();
  await tab.page.locator('.sidebar input[type="file"]').setInputFiles(file);
  await tab.page.getByText("This session is here already.").waitFor();
  expect(tab.sessionId).toBe(id);
  await tab.page.getByRole("button", { name: "Import a copy" }).click();
  await expect.poll(() => tab.sessionId).not.toBe(id);
  await tab.answer.getByText("Aye.").waitFor();
  expect(tab.complaints.splice(0)).toEqual(["console: Failed to load resource: the server responded with a status of 409 (Conflict)"]);
  await tab.quiet();
});

test("agent and model are switched in the session", async () => {
  const id = await named("Switched", "hello");
  const tab = await Tab.session(browser, server, id);
  await tab.page.getByRole("button", { name: /^Agent mate/ }).click();
  await tab.page.getByRole("menuitemradio", { name: "mate-large" }).click();
  await tab.page.getByRole("button", { name: "Agent mate with model mate-large" }).click();
  await tab.page.getByRole("menuitemradio", { name: /reviewer/ }).click();
  await tab.page.getByRole("button", { name: /^Agent reviewer/ }).waitFor();
  expect((await server.api<{ agent_id: string }>(`/sessions/${id}`)).agent_id).toBe("reviewer");
  await tab.quiet();
});

test("an address that leads nowhere says so and leads on", async () => {
  const tab = await Tab.open(browser, server, "/#/s/nobody");
  await tab.page.getByText("This session does not exist").waitFor();
  await tab.page.getByRole("alert").getByRole("button", { name: "New session" }).click();
  await tab.page.getByText("What shall we work on?").waitFor();
  await tab.page.context().close();
});

test("a session that the list does not have keeps its name", async () => {
  const id = await server.session("hello");
  await server.api(`/sessions/${id}`, { title: "Put away", metadata: { archived: true } }, "PATCH");
  const tab = await Tab.session(browser, server, id);
  await tab.answer.getByText("Aye.").waitFor();
  await tab.page.getByRole("heading", { name: "Put away", level: 1 }).waitFor();
  await expect.poll(() => tab.page.title()).toBe("Put away · Orlop");
  await tab.page.keyboard.press("Control+k");
  await tab.page.getByRole("combobox").fill("export as markdown");
  const downloading = tab.page.waitForEvent("download");
  await tab.page.keyboard.press("Enter");
  const text = await readFile(await (await downloading).path(), "utf8");
  expect(text).toBe("# Put away\n\n## You\n\nhello\n\n## Assistant\n\nAye.\n");
  await tab.quiet();
});

test("a session that is about to be deleted is found nowhere", async () => {
  const id = await server.session("the quarantine flag is yellow");
  const tab = await Tab.session(browser, server, id);
  await tab.answer.getByText("Aye.").waitFor();
  await tab.menu("Session menu", "Delete");
  await tab.page.getByRole("status").filter({ hasText: "Session deleted." }).waitFor();
  await tab.page.keyboard.press("Control+k");
  const found = tab.page.waitForResponse((response) => response.url().includes("/search?"));
  await tab.page.getByRole("combobox").fill("quarantine flag");
  expect(((await (await found).json()) as { items: unknown[] }).items.length).toBeGreaterThan(0);
  await tab.page.getByText("Nothing found.").waitFor();
  await tab.quiet();
});

test("what is no session is not imported, and the page says so in its own words", async () => {
  const tab = await Tab.open(browser, server);
  await tab.showSessions();
  const other = { name: "package.json", mimeType: "application/json", buffer: Buffer.from('{"name": "x"}') };
  await tab.page.locator('.sidebar input[type="file"]').setInputFiles(other);
  await tab.page.getByText('"package.json" holds no session. Choose a file that was exported here.').waitFor();
  await tab.quiet();
});
