//! What one notices after a day: lists that stay open, keys that do one thing, choices before the first word, limits said beforehand.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PHONE, Tab, launch } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start('\n[assets]\nmax_bytes = 2048\ntypes = ["text/*", "image/png"]\n'), launch()]);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

// covers: J-26
test("plugins are asked about a completion with the text that has it", async () => {
  const tab = await Tab.open(browser, server);
  await tab.composer.pressSequentially("read @bert");
  await tab.page.getByRole("option", { name: /berths\.csv/ }).waitFor();
  const asked = tab.page.waitForRequest((request) => request.url().endsWith("/completions/apply"));
  await tab.page.keyboard.press("Tab");
  expect((await asked).postDataJSON()).toMatchObject({ text: expect.stringMatching(/^read @?"?berths\.csv/) });
  await tab.quiet();
});

test("a list that was opened further stays so when something happens", async () => {
  const ids: string[] = [];
  for (let number = 0; number < 55; number += 1) ids.push(await server.session());
  const tab = await Tab.open(browser, server);
  const rows = tab.page.locator(".session-row");
  await tab.page.getByRole("button", { name: "Show more" }).click();
  await expect.poll(() => rows.count()).toBeGreaterThanOrEqual(55);
  // The list is read again after an event; it must not have shrunk then.
  const readAgain = tab.page.waitForResponse((response) => response.url().includes("/sessions?") && response.url().includes("cursor="));
  await server.api(`/sessions/${ids.at(-1)}`, { title: "Renamed meanwhile" }, "PATCH");
  await tab.page.getByRole("navigation", { name: "Sessions" }).getByText("Renamed meanwhile").waitFor();
  await readAgain;
  expect(await rows.count()).toBeGreaterThanOrEqual(55);
  await Promise.all(ids.map((id) => server.api(`/sessions/${id}`, undefined, "DELETE")));
  await tab.quiet();
});

test("Esc in the search empties it and stops nothing", async () => {
  const tab = await Tab.open(browser, server);
  // A request that waits for a person ends when that person says so, however long the test takes.
  await tab.say("run the check");
  await tab.page.locator(".approval").waitFor();
  const search = tab.page.getByRole("searchbox", { name: "Search sessions" });
  await search.fill("harbour");
  await search.press("Escape");
  await expect.poll(() => search.inputValue()).toBe("");
  expect(await tab.stop.isVisible()).toBe(true);
  await tab.page.locator(".approval").getByRole("button", { name: "Allow" }).click();
  await tab.answer.getByText("The check is done.").waitFor();
  await tab.quiet();
});

test("a message is deleted only after a question", async () => {
  const tab = await Tab.session(browser, server, await server.session("hello", "think about it"));
  await tab.answer.getByText("Yes.").waitFor();
  await tab.menu("More", "Delete message");
  const dialog = tab.page.getByRole("dialog", { name: "Delete this message?" });
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await tab.page.locator(".answer").count()).toBe(2);
  await tab.menu("More", "Delete message");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await tab.page.locator(".answer", { hasText: "Yes." }).waitFor({ state: "detached" });
  await tab.quiet();
});

test("buttons of plugins are there for calls and results of tools, too", async () => {
  const tab = await Tab.session(browser, server, await server.session("mend free.sh"));
  await tab.page.getByRole("button", { name: /^read_file/ }).click();
  const card = tab.page.locator(".tool", { has: tab.page.getByRole("button", { name: /^read_file/ }) });
  for (const [trigger, said] of [
    ["More for the result", "Message 3"],
    ["More for the call", "Message 1"],
  ] as const) {
    await card.getByRole("button", { name: trigger }).click();
    await tab.page.getByRole("menuitem", { name: "Show a banner" }).click();
    await tab.page.locator(".banner").getByText(said).waitFor();
  }
  await tab.accessible();
  await tab.quiet();
});

test("the model is chosen before the first word", async () => {
  const tab = await Tab.open(browser, server);
  await tab.page.getByRole("button", { name: /^Agent mate/ }).click();
  await tab.page.getByRole("menuitemradio", { name: "mate-large" }).click();
  await tab.page.getByRole("button", { name: /mate-large/ }).waitFor();
  await tab.ask("hello");
  await tab.answer.getByText("Aye.").waitFor();
  await tab.page.locator(".turn-facts").getByText("mate-large").waitFor();
  await tab.page.reload();
  await tab.page.getByRole("button", { name: /mate-large/ }).waitFor();
  await tab.quiet();
});

test("among many models one is found by its name", async () => {
  const tab = await Tab.open(browser, server);
  const models = Array.from({ length: 60 }, (_, number) => ({ id: `model-${number}` }));
  await tab.page.route("**/api/v1/agents/*/models", (route) => route.fulfill({ json: { items: models } }));
  await tab.page.reload();
  await tab.page.getByRole("button", { name: /^Agent mate/ }).click();
  await tab.page.getByRole("menuitem", { name: "Choose among 60 models" }).click();
  const dialog = tab.page.getByRole("dialog", { name: "Choose a model" });
  expect(await dialog.getByRole("option").count()).toBe(60);
  await tab.accessible();
  await tab.page.keyboard.type("-57");
  await expect.poll(() => dialog.getByRole("option").allTextContents()).toEqual(["model-57"]);
  await tab.page.keyboard.press("Enter");
  await tab.page.getByRole("button", { name: /model-57/ }).waitFor();
  await tab.quiet();
});

test("a setting goes back to its default, and none is asked for", async () => {
  const id = await server.session("hello");
  await server.api(`/sessions/${id}`, { overrides: { probe_level: 3 } }, "PATCH");
  const tab = await Tab.session(browser, server, id);
  await tab.menu("Session menu", "Settings of this session");
  const dialog = tab.page.getByRole("dialog", { name: "Settings of this session" });
  const level = dialog.getByLabel("Level");
  expect([await level.inputValue(), await level.getAttribute("aria-required")]).toEqual(["3", null]);
  await dialog.getByRole("button", { name: "Use default of Level" }).click();
  expect(await level.inputValue()).toBe("1");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  const { metadata } = await server.api<{ metadata: { overrides?: object } }>(`/sessions/${id}`);
  expect(metadata.overrides ?? {}).not.toHaveProperty("probe_level");
  await tab.quiet();
});

test("what may be attached is said before anything is sent", async () => {
  const tab = await Tab.open(browser, server);
  const uploads: string[] = [];
  tab.page.on("request", (request) => request.url().endsWith("/assets") && uploads.push(request.url()));
  const field = tab.page.locator('.composer input[type="file"]');
  expect(await field.getAttribute("accept")).toBe("text/*,image/png");
  await tab.page.getByRole("button", { name: "Attach files" }).focus();
  await tab.page.getByText("Files: up to 20 files of type text/*, image/png, each of 2.0 KB at most").waitFor();
  await field.setInputFiles([
    { name: "long.txt", mimeType: "text/plain", buffer: Buffer.alloc(3_000, "x") },
    { name: "tune.mp3", mimeType: "audio/mpeg", buffer: Buffer.from("la") },
  ]);
  const list = tab.page.getByRole("list", { name: "Attached files" });
  await list.getByText("Too large: 2.9 KB of at most 2.0 KB.").waitFor();
  await list.getByText("Files of type audio/mpeg are not taken here.").waitFor();
  await tab.accessible();
  expect(uploads).toEqual([]);
  await tab.quiet();
});

test("a note stays while somebody reads it, and a deleted session can be brought back as long", async () => {
  const id = await server.session("hello");
  const context = await browser.newContext({ viewport: { width: 1280, height: 820 } });
  await context.clock.install();
  const tab = await Tab.in(await context.newPage(), server, `/#/s/${id}`);
  await tab.answer.getByText("Aye.").waitFor();
  await tab.menu("Session menu", "Delete");
  const note = tab.page.getByRole("status").filter({ hasText: "Session deleted." });
  await note.hover();
  await context.clock.fastForward(30_000);
  await note.getByRole("button", { name: "Undo" }).waitFor();
  await tab.page.mouse.move(10, 400);
  await context.clock.fastForward(8_000);
  await note.waitFor({ state: "detached" });
  await expect.poll(() => server.api(`/sessions/${id}`).then(() => "there", () => "gone")).toBe("gone");
  await tab.quiet();
});

test("on a phone the list has the keyboard for itself, and Esc closes it", async () => {
  const tab = await Tab.session(browser, server, await server.session("hello"), PHONE);
  await tab.answer.getByText("Aye.").waitFor();
  await tab.page.getByRole("button", { name: "Show sessions" }).click();
  const list = tab.page.getByRole("navigation", { name: "Sessions" });
  await list.waitFor();
  const inList = () => tab.page.evaluate(() => document.activeElement?.closest(".sidebar") !== null);
  await expect.poll(inList).toBe(true);
  for (let presses = 0; presses < 30; presses += 1) {
    await tab.page.keyboard.press("Tab");
    expect(await tab.page.evaluate(() => document.activeElement?.closest("main") === null)).toBe(true);
  }
  await tab.page.keyboard.press("Escape");
  await list.waitFor({ state: "detached" });
  await expect.poll(() => tab.focused).toBe("Show sessions");
  await tab.quiet();
});

test("the hint in the message field is whole on a phone, before and after an answer", async () => {
  const tab = await Tab.open(browser, server, "/", { ...PHONE, viewport: { width: 375, height: 780 } });
  const cutOff = () => tab.composer.evaluate((field) => field.scrollHeight - field.clientHeight);
  expect(await cutOff()).toBeLessThanOrEqual(0);
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  expect(await cutOff()).toBeLessThanOrEqual(0);
  await tab.stop.click();
  await tab.idle();
  await expect.poll(cutOff).toBeLessThanOrEqual(0);
  await tab.quiet();
});

test("however many files and messages wait, the conversation keeps its room", async () => {
  const tab = await Tab.open(browser, server, "/", { ...PHONE, viewport: { width: 375, height: 780 } });
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  for (let said = 1; said <= 12; said += 1) await tab.say(`message ${said}`);
  await tab.stop.click();
  await tab.page.getByText("message 12").waitFor();
  const files = Array.from({ length: 15 }, (_, place) => ({ name: `notes of the ${place + 1}th of the month.txt`, mimeType: "text/plain", buffer: Buffer.from("fog") }));
  await tab.page.locator('.composer input[type="file"]').setInputFiles(files);
  await expect.poll(() => tab.page.locator(".file-chip").count()).toBe(15);
  const height = (selector: string) => tab.page.locator(selector).evaluate((element) => element.getBoundingClientRect().height);
  expect(await height(".messages")).toBeGreaterThan(150);
  await tab.page.getByRole("button", { name: "Remove notes of the 15th" }).click();
  await tab.page.getByRole("button", { name: "Do not send" }).last().click();
  await tab.fits();
  await tab.accessible();
  await tab.quiet();
});

test("an address of a plugin is opened in a tab that knows nothing of this one", async () => {
  const tab = await Tab.session(browser, server, await server.session("hello"));
  const context = tab.page.context();
  let from: string | undefined = "nobody asked";
  await context.route("https://example.test/**", async (route) => {
    from = (await route.request().allHeaders()).referer;
    await route.fulfill({ contentType: "text/html", body: "<title>There</title>" });
  });
  await tab.menu("Session menu", "Show what stays");
  const opened = context.waitForEvent("page");
  await tab.page.getByRole("button", { name: "Open it" }).click();
  const other = await opened;
  await other.waitForLoadState();
  expect([await other.title(), await other.evaluate(() => window.opener), from]).toEqual(["There", null, undefined]);
  await tab.quiet();
});

test("the theme that was chosen holds after a reload", async () => {
  const tab = await Tab.open(browser, server, "/", { colorScheme: "light" });
  const ground = () => tab.page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]);
  const [, light] = await ground();
  await tab.page.keyboard.press("Control+.");
  await tab.page.getByRole("dialog", { name: "Settings" }).getByText("Dark", { exact: true }).click();
  await expect.poll(async () => (await ground())[0]).toBe("dark");
  expect((await ground())[1]).not.toBe(light);
  await tab.page.reload();
  await tab.composer.waitFor();
  expect((await ground())[0]).toBe("dark");
  expect((await ground())[1]).not.toBe(light);
  await tab.quiet();
});

test("an address that cannot be read names no session", async () => {
  const tab = await Tab.open(browser, server, "/#/s/%");
  await tab.page.getByRole("heading", { name: "This session does not exist" }).waitFor();
  await tab.page.context().close();
  expect(tab.complaints.filter((complaint) => !/404|400/.test(complaint))).toEqual([]);
});

test("a session that is found by its words says which", async () => {
  await server.session("the lighthouse keeper sleeps");
  const tab = await Tab.open(browser, server);
  await tab.page.getByRole("searchbox", { name: "Search sessions" }).fill("lighthouse keeper");
  await tab.page.locator(".session-snippet", { hasText: "lighthouse" }).first().waitFor();
  await tab.accessible();
  await tab.quiet();
});
