//! What plugins contribute by data alone, on every surface.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Tab, launch } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;
let tab: Tab;
beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});
beforeEach(async () => {
  tab = await Tab.session(browser, server, await server.session("hello"));
  await tab.answer.getByText("Aye.").waitFor();
});

const display = () => tab.page.locator(".display");

// covers: K-14, J-16
test("displays of session actions are inline, whatever they ask for", async () => {
  await tab.menu("Session menu", "Show inline");
  await display().locator("strong", { hasText: "Bold" }).waitFor();
  expect(await tab.page.getByRole("dialog").count()).toBe(0);
  await display().getByRole("button", { name: "Dismiss" }).click();
  expect(await display().count()).toBe(0);
  await tab.quiet();
});

// covers: J-17, J-20
test("message actions know their message, and show banners and popups", async () => {
  await tab.menu("More", "Show a banner");
  await tab.page.locator(".display.banner").getByText("Message 1").waitFor();
  await tab.menu("More", "Show a popup");
  const popup = tab.page.getByRole("dialog", { name: "Probe" });
  await popup.getByText("Message 1").waitFor();
  await tab.accessible();
  await tab.page.keyboard.press("Escape");
  await popup.waitFor({ state: "detached" });
  await tab.quiet();
});

// covers: G-26, G-29, K-15
test("displays of every variant are shown in every presentation, and what is not known becomes the default", async () => {
  const variants = { info: "info", success: "success", warning: "warning", error: "error", mauve: "info" };
  const showAs = async (variant: string, presentation: string) => {
    await tab.menu("More", "Show anything");
    const form = tab.page.getByRole("dialog", { name: "Show anything" });
    await form.getByLabel(variant, { exact: true }).check();
    await form.getByLabel(presentation, { exact: true }).check();
    await form.getByRole("button", { name: "Show anything" }).click();
    await form.waitFor({ state: "detached" });
  };
  for (const [variant, shownAs] of Object.entries(variants)) {
    await showAs(variant, variant === "mauve" ? "hologram" : "inline");
    const card = tab.page.locator(".display:not(.banner)", { hasText: `A ${variant}` });
    await card.getByText("Bold words.").waitFor();
    expect(await card.getAttribute("data-variant")).toBe(shownAs);
    await showAs(variant, "banner");
    expect(await tab.page.locator(".display.banner", { hasText: `A ${variant}` }).getAttribute("data-variant")).toBe(shownAs);
  }
  await tab.accessible();
  for (const variant of ["success", "error"]) {
    await showAs(variant, "modal");
    const popup = tab.page.getByRole("dialog", { name: `A ${variant}` });
    expect(await popup.locator("[data-variant]").getAttribute("data-variant")).toBe(variant);
    await tab.accessible();
    await popup.getByRole("button", { name: "Close" }).click();
    await popup.waitFor({ state: "detached" });
  }
  while ((await display().count()) > 0) await display().first().getByRole("button", { name: "Dismiss" }).click();
  await tab.quiet();
});

test("many banners leave room for the conversation", async () => {
  for (let count = 1; count <= 6; count += 1) {
    await tab.menu("More", "Show a banner");
    await expect.poll(() => tab.page.locator(".display.banner").count()).toBe(count);
  }
  const box = async (selector: string) => (await tab.page.locator(selector).first().boundingBox()) ?? { y: 0, height: 0 };
  const [chat, banners, newest] = [await box(".chat"), await box(".banners"), await box(".display.banner")];
  expect(banners.height / chat.height).toBeLessThan(0.36);
  expect(newest.y).toBeCloseTo(banners.y, 0);
  await tab.accessible();
  await tab.quiet();
});

test("notes cover neither the message field, nor an open menu, nor the head of a dialog", async () => {
  await tab.menu("Session menu", "Fail");
  const note = tab.page.getByRole("alert").filter({ hasText: "It could not be done today." });
  await note.waitFor();
  const before = tab.page.viewportSize() ?? { width: 0, height: 0 };
  for (const width of [375, 800, 1280, 1440, 1920]) {
    await tab.page.setViewportSize({ width, height: 820 });
    const [told, field] = [await note.boundingBox(), await tab.page.locator(".composer-area").boundingBox()];
    expect((told?.y ?? 0) + (told?.height ?? 0), `at ${width}`).toBeLessThan(field?.y ?? 0);
    await tab.fits();
  }
  await tab.page.setViewportSize(before);
  await tab.page.getByRole("button", { name: "Session menu" }).click();
  for (const item of await tab.page.getByRole("menuitem").all()) await item.click({ trial: true });
  await tab.page.getByRole("menuitem", { name: "Archive" }).click();
  await tab.page.getByText("Session archived.").waitFor();
  await tab.page.keyboard.press("Control+.");
  await tab.page.setViewportSize({ width: 1000, height: 820 });
  await tab.page.getByRole("button", { name: "Close", exact: true }).click({ timeout: 3_000 });
  await tab.quiet();
});

// covers: G-27
test("how far an action is stands in one display, which each step replaces", async () => {
  await tab.menu("Session menu", "One step");
  const work = display().filter({ hasText: "At work" });
  await work.getByText(/^\d of 3 done$/).waitFor();
  const before = await work.textContent();
  await tab.menu("Session menu", "One step");
  await expect.poll(() => work.textContent()).not.toBe(before);
  expect(await work.count()).toBe(1);
  await tab.quiet();
});

// covers: J-19, J-23, J-24, G-23
test("a form asks first, checks types, and hands on typed answers", async () => {
  await tab.page.getByRole("button", { name: "Session menu" }).click();
  expect(await tab.page.getByRole("menuitem").first().textContent()).toBe("Ask first");
  await tab.page.getByRole("menuitem", { name: "Ask first" }).click();
  const form = tab.page.getByRole("dialog", { name: "Two numbers" });
  expect(await form.getByLabel("Second (optional)").inputValue()).toBe("2");
  await form.getByLabel("First").fill("five");
  await form.getByRole("button", { name: "Ask first" }).click();
  await form.getByText("First must be a whole number such as 5").waitFor();
  await tab.accessible();
  await form.getByLabel("First").fill("40");
  await form.getByLabel("First").press("Enter");
  await tab.page.getByText("The sum is 42.").waitFor();
  await tab.quiet();
});

test("a form keeps its answers until they were of use", async () => {
  await tab.menu("Session menu", "Ask first");
  const form = tab.page.getByRole("dialog", { name: "Two numbers" });
  await form.getByLabel("First").fill("40");
  const actions = (url: URL) => url.pathname.endsWith("/actions/probe/add");
  await tab.page.route(actions, (route) => route.abort());
  await form.getByLabel("First").press("Enter");
  await tab.page.getByText("The server cannot be reached.").waitFor();
  expect(await form.getByLabel("First").inputValue()).toBe("40");
  await tab.page.unroute(actions);
  await form.getByLabel("First").press("Enter");
  await tab.page.getByText("The sum is 42.").waitFor();
  await form.waitFor({ state: "detached" });
  await tab.quietButCutOff();
});

test("what an action shows is shown in the session it is of, and nowhere else", async () => {
  const other = await server.session("think about it");
  let letGo = () => undefined as void;
  const left = new Promise<void>((done) => (letGo = done));
  await tab.page.route(
    (url) => url.pathname.endsWith("/actions/probe/show"),
    async (route) => {
      await left;
      await route.continue();
    },
  );
  const answered = tab.page.waitForResponse(/actions\/probe\/show/);
  await tab.menu("Session menu", "Show inline");
  await tab.page.evaluate((id) => (location.hash = `#/s/${id}`), other);
  await tab.answer.getByText("Yes.").waitFor();
  letGo();
  await (await answered).finished();
  // What is asked later is shown later.
  await tab.menu("Session menu", "Reload");
  await tab.page.getByText("Told.").waitFor();
  expect(await display().count()).toBe(0);
  await tab.quiet();
});

// covers: J-23
test("a form says beside each field what it does not take, and sends nothing until it fits", async () => {
  const asked: string[] = [];
  tab.page.on("request", (request) => request.url().includes("/actions/probe/within") && asked.push(request.url()));
  await tab.menu("Session menu", "Ask within bounds");
  const form = tab.page.getByRole("dialog", { name: "A berth" });
  await form.getByLabel("Length").fill("41");
  await form.getByLabel("Mail (optional)").fill("nowhere");
  await form.getByLabel("Code (optional)").fill("12");
  await form.getByLabel("Broken (optional)").fill("anything");
  await form.getByLabel("Mon").check();
  await form.getByRole("button", { name: "Ask within bounds" }).click();
  await expect.poll(() => form.getByRole("alert").allTextContents()).toEqual([
    "Length must be between 1 and 40",
    "Mail must be an e-mail address such as name@example.org",
    "Code does not have the form that is asked for, such as AB12",
    "Days must have at least 2 entries",
  ]);
  await tab.accessible();
  expect(asked).toEqual([]);
  await form.getByLabel("Length").fill("7.5");
  await form.getByLabel("Mail (optional)").fill("");
  await form.getByLabel("Code (optional)").fill("AB12");
  await form.getByLabel("Wed").check();
  await form.getByRole("button", { name: "Ask within bounds" }).click();
  await tab.page.getByText("A berth of 7.5 m on Mon and Wed.").waitFor();
  expect(asked.length).toBe(1);
  await tab.quiet();
});

// covers: J-19
test("an action with a form is chosen in the palette with the keyboard, and its form has the keys next", async () => {
  await tab.page.keyboard.press("Control+k");
  const palette = tab.page.getByRole("dialog", { name: "Search sessions and commands" });
  await palette.getByRole("combobox").waitFor();
  await tab.page.keyboard.type("ask first");
  await palette.getByRole("option", { name: "Ask first", selected: true }).waitFor();
  await tab.page.keyboard.press("Enter");
  const form = tab.page.getByRole("dialog", { name: "Two numbers" });
  await expect.poll(() => form.getByLabel("First").evaluate((field) => field === document.activeElement)).toBe(true);
  await tab.page.keyboard.type("40");
  await tab.page.keyboard.press("Enter");
  await tab.page.getByText("The sum is 42.").waitFor();
  await form.waitFor({ state: "detached" });
  expect(await tab.focused).toBe("Message");
  await tab.quiet();
});

test("a dialog without fields asks whether to go on", async () => {
  await tab.menu("Session menu", "Confirm");
  await tab.page.getByRole("dialog", { name: "Really?" }).getByRole("button", { name: "Go on" }).click();
  await display().waitFor();
  await tab.quiet();
});

// covers: K-16, K-17, G-27, G-28
test("a display that stays has buttons that copy, open and run", async () => {
  await tab.menu("Session menu", "Show what stays");
  const fixed = display().filter({ has: tab.page.getByRole("button", { name: "Run it" }) });
  await fixed.waitFor();
  expect(await fixed.getByRole("button", { name: "Dismiss" }).count()).toBe(0);
  expect(await fixed.getByRole("button", { name: "Never shown" }).count()).toBe(0);
  await fixed.getByRole("button", { name: "Copy it" }).click();
  expect(await tab.page.evaluate(() => navigator.clipboard.readText())).toBe("copied words");
  await fixed.getByRole("button", { name: "Run it" }).click();
  await display().getByText(/^Run \d+$/).waitFor();
  await fixed.getByRole("button", { name: "Run it" }).click();
  await expect.poll(() => display().count()).toBe(2);
  await tab.menu("Session menu", "Show what stays");
  await expect.poll(() => display().count()).toBe(2);
  await tab.quiet();
});

// covers: G-24
test("a failure is told as one", async () => {
  await tab.menu("Session menu", "Fail");
  await tab.page.getByRole("alert").getByText("It could not be done today.").waitFor();
  await tab.quiet();
});

// covers: K-13, J-18
test("displays of actions in the list of sessions are not shown", async () => {
  const ran = tab.page.waitForResponse((response) => response.url().includes("/actions/probe/show"));
  await tab.showSessions();
  await tab.menu("Page menu", "Tidy up");
  await (await ran).finished();
  expect(await display().count()).toBe(0);
  await tab.quiet();
});

// covers: J-14
test("settings of plugins are kept with the session, and unknown elements are told", async () => {
  await tab.menu("Session menu", "Settings of this session");
  const dialog = tab.page.getByRole("dialog", { name: "Settings of this session" });
  await dialog.locator("summary", { hasText: "A gauge" }).waitFor();
  await dialog.getByLabel("Level").fill("x");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Level must be a whole number such as 5").waitFor();
  await dialog.getByLabel("Level").fill("3");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  const { metadata } = await server.api<{ metadata: { overrides: unknown } }>(`/sessions/${tab.sessionId}`);
  expect(metadata.overrides).toMatchObject({ probe_level: 3 });
  await tab.quiet();
});

// covers: K-12
test("what plugins add to the list is shown beside each session", async () => {
  await tab.showSessions();
  await tab.page.locator(".session-row").first().getByText("probed").waitFor();
  await tab.quiet();
});

// covers: K-18, K-19
test("the page reloads what an action says, and leaves a session that is gone", async () => {
  const id = tab.sessionId;
  const reloaded = tab.page.waitForResponse((response) => response.url().endsWith(`/sessions/${id}`) && response.request().method() === "GET");
  await tab.menu("Session menu", "Reload");
  await reloaded;
  await tab.menu("Session menu", "Leave");
  await tab.page.getByText("What shall we work on?").waitFor();
  expect(tab.sessionId).toBe("");
  await tab.quiet();
});

test("an action leads to a session that it made, and to the list", async () => {
  const other = await server.session("think about it");
  await tab.menu("Session menu", "Go elsewhere");
  const dialog = tab.page.getByRole("dialog", { name: "Go elsewhere" });
  await dialog.getByLabel("To").fill(other);
  // What it made is asked for.
  const asked = tab.page.waitForRequest((request) => new URL(request.url()).pathname.endsWith("/sessions"));
  await dialog.getByRole("button", { name: "Go elsewhere" }).click();
  await asked;
  await expect.poll(() => tab.sessionId).toBe(other);
  await tab.answer.getByText("Yes.").waitFor();
  await tab.menu("Session menu", "Go elsewhere");
  await dialog.getByRole("button", { name: "Go elsewhere" }).click();
  await tab.page.getByRole("heading", { name: "What shall we work on?" }).waitFor();
  expect(tab.sessionId).toBe("");
  await tab.quiet();
});

test("a form about a message is not sent once another message stands in its place", async () => {
  const id = await server.session("hello", "hello");
  await tab.quiet();
  tab = await Tab.session(browser, server, id);
  await tab.answer.getByText("Aye.").waitFor();
  const runs: string[] = [];
  tab.page.on("request", (request) => request.url().includes("/actions/probe/") && runs.push(request.url()));
  await tab.menu("More", "Show anything");
  const dialog = tab.page.getByRole("dialog", { name: "Show anything" });
  await dialog.getByText("info").click();
  await dialog.getByText("banner").click();
  await server.api(`/sessions/${id}/slice`, { remove_indices: [0, 1] });
  await expect.poll(() => tab.page.locator(".item").count()).toBe(2);
  await dialog.getByRole("button", { name: "Show anything" }).click();
  await tab.page.getByText("The conversation changed meanwhile.").waitFor();
  expect(runs).toEqual([]);
  await tab.quiet();
});
