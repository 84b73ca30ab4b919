//! How it looks and who can use it: every view in light and dark, on desks and phones; keyboard only; long sessions. Takes the pictures, too.

import { cp, mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PHONE, Tab, launch } from "./browser";
import { Server } from "./server";

const PICTURES = resolve(import.meta.dirname, "../test-results");
let server: Server;
let browser: Browser;
let worked: string;

/** A session in which work was done. */
async function work(): Promise<string> {
  await cp(resolve(import.meta.dirname, "project/free.sh"), `${server.folder}/work/free.sh`);
  const id = await server.session("mend free.sh", "please stream the tide table");
  await server.api(`/sessions/${id}`, { title: "Free berths" }, "PATCH");
  return id;
}

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await mkdir(PICTURES, { recursive: true });
  worked = await work();
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

interface View {
  name: string;
  /** Brings it into view, from the session in which work was done. */
  show: (tab: Tab) => Promise<unknown>;
  /** Leaves it again; without it, with Escape. */
  leave?: (tab: Tab) => Promise<unknown>;
}

const dialog = (tab: Tab, name: string) => tab.page.getByRole("dialog", { name }).waitFor();
const nothing = () => Promise.resolve();

const inspectorTab = (name: string, sign: string): View => ({
  name: name.toLowerCase(),
  show: async (tab) => {
    if (!(await tab.page.getByRole("tab", { name }).isVisible())) await tab.page.getByRole("button", { name: "Inspector" }).first().click();
    await tab.page.getByRole("tab", { name }).click();
    await tab.page.locator(".inspector").getByText(sign).first().waitFor();
  },
  leave: (tab) => tab.page.getByRole("button", { name: "Close inspector" }).click(),
});

const VIEWS: View[] = [
  {
    name: "chat",
    show: async (tab) => {
      await tab.answer.locator("math").waitFor();
      await tab.answer.locator(".hl-string").waitFor();
      await tab.page.locator(".turn-facts").waitFor();
    },
    leave: nothing,
  },
  { name: "tools", show: (tab) => tab.page.locator(".scroller").press("Home"), leave: nothing },
  {
    name: "card",
    show: async (tab) => {
      await tab.page.getByRole("button", { name: /^read_file/ }).click();
      await tab.page.locator(".tool-body").getByText("Arguments").waitFor();
    },
    leave: (tab) => tab.page.getByRole("button", { name: /^read_file/ }).click(),
  },
  inspectorTab("Request", "By plugin"),
  inspectorTab("Usage", "Tokens per day"),
  inspectorTab("Agent", "Tools the model may call"),
  inspectorTab("Plugins", "probe"),
  {
    name: "palette",
    show: async (tab) => {
      await tab.page.keyboard.press("Control+k");
      await tab.page.getByRole("option").first().waitFor();
    },
  },
  { name: "settings", show: (tab) => tab.page.keyboard.press("Control+.").then(() => dialog(tab, "Settings")) },
  { name: "keys", show: (tab) => tab.page.keyboard.press("Control+/").then(() => dialog(tab, "Keys")) },
  { name: "session-settings", show: (tab) => tab.menu("Session menu", "Settings of this session").then(() => dialog(tab, "Settings of this session")) },
  { name: "form", show: (tab) => tab.menu("Session menu", "Ask first").then(() => dialog(tab, "Two numbers")) },
  { name: "menu", show: (tab) => tab.page.getByRole("button", { name: "Session menu" }).click() },
  {
    name: "display",
    show: async (tab) => {
      await tab.menu("Session menu", "Show what stays");
      await tab.menu("More", "Show a banner");
      await tab.page.locator(".display.banner").waitFor();
    },
    leave: (tab) => tab.page.locator(".display.banner").getByRole("button", { name: "Dismiss" }).click(),
  },
  {
    name: "completions",
    show: async (tab) => {
      await tab.composer.pressSequentially("/");
      await tab.page.getByRole("option").first().waitFor();
    },
    leave: async (tab) => {
      await tab.page.keyboard.press("Escape");
      await tab.composer.fill("");
    },
  },
  {
    name: "attachment",
    show: async (tab) => {
      const file = (name: string, text: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
      await tab.page.locator('.composer input[type="file"]').setInputFiles([file("the-log-of-the-night-watch-with-a-very-long-name.log", "02:14 fog"), file("empty.txt", "")]);
      await tab.page.getByText("The file is empty.").waitFor();
      await tab.page.getByText("9 B").waitFor();
    },
    leave: async (tab) => {
      for (const name of [/^Remove the-log/, /^Remove empty/]) await tab.page.getByRole("button", { name }).click();
    },
  },
  {
    name: "approval",
    show: async (tab) => {
      await tab.say("run the check");
      await tab.page.locator(".approval").waitFor();
    },
    leave: async (tab) => {
      await tab.page.getByRole("button", { name: "Deny" }).click();
      await tab.answer.getByText("The check is done.").waitFor();
      await tab.idle();
    },
  },
  {
    name: "question",
    show: async (tab) => {
      await tab.say("which unit is it?");
      await tab.page.getByRole("form", { name: "Which unit?" }).waitFor();
    },
    leave: async (tab) => {
      await tab.page.getByRole("button", { name: "Do not answer" }).click();
      await tab.idle();
    },
  },
  {
    name: "failure",
    show: async (tab) => {
      await tab.say(`break often, ${"a-word-without-an-end-".repeat(8)}`);
      await tab.page.getByText("the model server is on fire").waitFor();
    },
    leave: nothing,
  },
  {
    name: "long-words",
    show: async (tab) => {
      await tab.ask("show long words");
      await tab.answer.locator("td").first().waitFor();
    },
    leave: nothing,
  },
  {
    name: "nowhere",
    show: async (tab) => {
      await tab.page.goto(tab.page.url().replace(/#.*/, "#/s/nobody"));
      await tab.page.getByText("This session does not exist").waitFor();
    },
    leave: nothing,
  },
];

const SIZES = { desktop: {}, phone: PHONE } as const;

for (const [size, options] of Object.entries(SIZES)) {
  for (const colorScheme of ["light", "dark"] as const) {
    test(`every view is accessible, fits and is drawn, ${colorScheme}, ${size}`, async () => {
      const id = await work();
      const tab = await Tab.open(browser, server, "/", { ...options, colorScheme });
      const look = async (name: string) => {
        await tab.fits();
        // Nothing but colours differs in the dark.
        await tab.accessible(colorScheme === "light" ? "all" : "colours");
        await tab.page.screenshot({ path: `${PICTURES}/${size}-${colorScheme}-${name}.png` });
      };
      await tab.page.getByText("What shall we work on?").waitFor();
      await look("new");
      if (size === "phone") {
        await tab.page.getByRole("button", { name: "Show sessions" }).tap();
        await tab.page.getByRole("button", { name: "New session" }).waitFor();
        await look("sessions");
        await tab.page.locator(".sidebar-cover").click({ position: { x: 360, y: 400 } });
        await tab.page.locator(".sidebar").waitFor({ state: "detached" });
      }
      await tab.page.goto(`${server.url}/#/s/${id}`);
      for (const { name, show, leave } of VIEWS) {
        await show(tab);
        await look(name);
        await (leave ? leave(tab) : tab.page.keyboard.press("Escape"));
        await tab.page.locator("[role=dialog], [role=menu]").waitFor({ state: "detached" });
      }
      await tab.page.context().close();
      const missing = /^console: Failed to load resource: the server responded with a status of 404/;
      expect(tab.complaints.filter((complaint) => !missing.test(complaint))).toEqual([]);
    }, 120_000);
  }
}

test("a conversation goes on at the size of a phone, by touch", async () => {
  const tab = await Tab.session(browser, server, worked, PHONE);
  await tab.answer.waitFor();
  await tab.page.getByRole("button", { name: "Show sessions" }).tap();
  await tab.page.locator(".session-link", { hasText: "Free berths" }).first().tap();
  await tab.page.locator(".sidebar").waitFor({ state: "detached" });
  await tab.composer.fill("hello");
  await tab.page.getByRole("button", { name: "Send", exact: true }).tap();
  await tab.answer.getByText("Aye.").waitFor();
  await tab.quiet();
});

test("on a phone, what can be done with a message is shown for the last one, and for one that is tapped", async () => {
  const tab = await Tab.session(browser, server, await server.session("hello", "hello again"), PHONE);
  const tools = (text: string) => tab.page.locator(".item", { hasText: text }).locator(".message-tools");
  const shown = (text: string) => tools(text).evaluate((box) => getComputedStyle(box).opacity === "1" && getComputedStyle(box).pointerEvents !== "none");
  await tab.answer.waitFor();
  expect(await shown("hello again")).toBe(false);
  expect(await tab.page.locator(".item[data-last] .message-tools").evaluate((box) => getComputedStyle(box).opacity)).toBe("1");
  await tab.page.locator(".bubble", { hasText: "hello again" }).tap();
  await expect.poll(() => shown("hello again")).toBe(true);
  await tab.page.locator(".bubble", { hasText: /^hello$/ }).tap();
  await expect.poll(() => shown("hello again")).toBe(false);
  await tab.quiet();
});

test("the way to the end stands beside the text, and reading with keys draws no frame around it", async () => {
  const tab = await Tab.session(browser, server, worked);
  await tab.answer.waitFor();
  await tab.page.locator(".scroller").press("Home");
  const jump = await tab.page.getByRole("button", { name: "Jump to latest" }).boundingBox();
  const text = await tab.page.locator(".item").first().boundingBox();
  expect(jump?.x).toBeGreaterThanOrEqual((text?.x ?? 0) + (text?.width ?? 0));
  expect(await tab.page.locator(".scroller").evaluate((view) => getComputedStyle(view).outlineStyle)).toBe("none");
  // The agent and its model have the same name, which is said once.
  expect(await tab.page.locator(".choice-button").innerText()).toMatch(/^Agent\s+mate$/);
  await tab.quiet();
});

test("cards say whether they are open, and plans and changes are", async () => {
  const tab = await Tab.session(browser, server, worked);
  await tab.answer.waitFor();
  await tab.page.locator(".scroller").press("Home");
  const head = (name: string) => tab.page.getByRole("button", { name: new RegExp(`^${name}`) });
  expect(await head("read_file").getAttribute("aria-expanded")).toBe("false");
  expect(await head("todo").getAttribute("aria-expanded")).toBe("true");
  expect(await head("todo").innerText()).toContain("1 of 3");
  const diff = tab.page.getByRole("group", { name: "Changes: 1 lines added, 1 removed" });
  expect(await diff.locator('[data-kind="added"] [data-number="4"]').count()).toBe(1);
  expect(await diff.getByText("+++").count()).toBe(0);
  await head("edit_file").click();
  await diff.waitFor({ state: "detached" });
  expect(await head("edit_file").getAttribute("aria-expanded")).toBe("false");
  await tab.quiet();
});

/** Walks with Tab, or back with Shift+Tab, to what has this name. */
async function walkTo(tab: Tab, name: RegExp, key: "Tab" | "Shift+Tab"): Promise<void> {
  for (let steps = 0; steps < 80; steps += 1) {
    await tab.page.keyboard.press(key);
    if (name.test(await tab.focused)) return;
  }
  throw new Error(`${key} does not lead to ${name}`);
}

/** Walks down an open menu to an item, and takes it. */
async function chooseInMenu(tab: Tab, name: string): Promise<void> {
  await tab.page.getByRole("menuitem", { name }).waitFor();
  for (let now = await tab.focused; now !== name; now = await tab.focused) {
    await tab.page.keyboard.press("ArrowDown");
    // The menu hands the focus on a moment later.
    await expect.poll(() => tab.focused).not.toBe(now);
  }
  await tab.page.keyboard.press("Enter");
}

test("cards, decisions, the inspector and dialogs are reached by walking with Tab", async () => {
  const tab = await Tab.open(browser, server);
  const { keyboard } = tab.page;
  await keyboard.type("run the check");
  await keyboard.press("Enter");
  await tab.page.locator(".approval").waitFor();
  await walkTo(tab, /^Allow$/, "Shift+Tab");
  await keyboard.press("Enter");
  await tab.answer.getByText("The check is done.").waitFor();
  await tab.idle();
  await keyboard.press("Control+Shift+L");
  await walkTo(tab, /^shell/, "Shift+Tab");
  await keyboard.press("Enter");
  await tab.page.getByText("all is well").waitFor();
  await keyboard.press("Alt+i");
  await tab.page.getByText("By plugin").waitFor();
  await walkTo(tab, /^Request$/, "Tab");
  await keyboard.press("ArrowRight");
  await tab.page.getByText("Tokens per day").waitFor();
  expect(await tab.focused).toBe("Usage");
  await keyboard.press("Alt+i");
  await tab.page.locator(".inspector").waitFor({ state: "detached" });
  // A dialog holds the focus, and gives it back.
  await keyboard.press("Control+Shift+L");
  await keyboard.press("Control+.");
  await tab.page.getByRole("dialog", { name: "Settings" }).waitFor();
  for (let steps = 0; steps < 12; steps += 1) {
    await keyboard.press("Tab");
    expect(await tab.page.evaluate(() => document.activeElement?.closest("[role=dialog]") !== null)).toBe(true);
  }
  await keyboard.press("Escape");
  await expect.poll(() => tab.focused).toBe("Message");
  await tab.quiet();
});

test("editing, branches, attachments, forms of plugins and questions need no mouse", async () => {
  const tab = await Tab.open(browser, server);
  const { keyboard } = tab.page;
  await keyboard.type("hello");
  await keyboard.press("Enter");
  await tab.answer.getByText("Aye.").waitFor();
  await tab.idle();
  await keyboard.press("Control+Shift+L");
  await walkTo(tab, /^Edit and ask again$/, "Shift+Tab");
  await keyboard.press("Enter");
  await keyboard.press("Control+a");
  await keyboard.type("think about it");
  await keyboard.press("Enter");
  await tab.answer.getByText("Yes.").waitFor();
  await tab.page.getByText("2/2").waitFor();
  await keyboard.press("Control+Shift+L");
  await walkTo(tab, /^Previous branch$/, "Shift+Tab");
  await keyboard.press("Enter");
  await tab.answer.getByText("Aye.").waitFor();
  await tab.page.getByText("1/2").waitFor();
  // A file is picked, and taken away again.
  await keyboard.press("Control+Shift+L");
  const choosing = tab.page.waitForEvent("filechooser");
  await walkTo(tab, /^Attach files/, "Tab");
  await keyboard.press("Enter");
  await (await choosing).setFiles({ name: "night.log", mimeType: "text/plain", buffer: Buffer.from("02:14 fog") });
  await tab.page.getByRole("list", { name: "Attached files" }).getByText("9 B").waitFor();
  await keyboard.press("Control+Shift+L");
  await walkTo(tab, /^Remove night.log$/, "Shift+Tab");
  await keyboard.press("Enter");
  await tab.page.getByRole("list", { name: "Attached files" }).waitFor({ state: "detached" });
  // The form of a plugin, from the menu of the session.
  await walkTo(tab, /^Session menu$/, "Shift+Tab");
  await keyboard.press("Enter");
  await chooseInMenu(tab, "Ask first");
  await tab.page.getByRole("dialog", { name: "Two numbers" }).waitFor();
  await keyboard.type("3");
  await keyboard.press("Enter");
  await tab.page.getByText("The sum is 5.").waitFor();
  // A question of the agent.
  await keyboard.press("Control+Shift+L");
  await keyboard.type("which unit is it?");
  await keyboard.press("Enter");
  await tab.page.getByRole("form", { name: "Which unit?" }).waitFor();
  const chosen = () => tab.page.evaluate(() => document.activeElement instanceof HTMLInputElement && document.activeElement.type === "radio");
  for (let steps = 0; steps < 40 && !(await chosen()); steps += 1) await keyboard.press("Shift+Tab");
  await keyboard.press("Space");
  await keyboard.press("Enter");
  await tab.answer.getByText(/You said:.*(metres|feet)/).waitFor();
  await tab.quiet();
});

test("nothing moves for those who asked for that", async () => {
  const tab = await Tab.open(browser, server, "/", { reducedMotion: "reduce" });
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  const moving = await tab.page.evaluate(() => document.getAnimations().filter((animation) => animation.playState === "running").length);
  expect(moving).toBe(0);
  await tab.page.keyboard.press("Escape");
  await tab.idle();
  await tab.quiet();
});

test("the end of an answer is told to screen readers, paragraph by paragraph", async () => {
  const tab = await Tab.open(browser, server);
  await tab.ask("think about it");
  await expect.poll(() => tab.page.locator('[aria-live="polite"][aria-atomic="true"]').textContent()).toContain("Yes.");
  await tab.quiet();
});

test("everything can be done with the keyboard alone", async () => {
  const quay = await server.session("hello");
  await server.api(`/sessions/${quay}`, { title: "The quay" }, "PATCH");
  const tab = await Tab.open(browser, server);
  const { keyboard } = tab.page;
  await keyboard.type("hello");
  await keyboard.press("Enter");
  await tab.answer.getByText("Aye.").waitFor();
  await keyboard.press("Control+Shift+O");
  await tab.page.getByText("What shall we work on?").waitFor();
  await keyboard.press("Control+k");
  await tab.page.getByRole("dialog").waitFor();
  await keyboard.type("The quay");
  await tab.page.getByRole("option", { name: /The quay/ }).first().waitFor();
  await keyboard.press("Enter");
  await tab.page.getByRole("heading", { name: "The quay", level: 1 }).waitFor();
  await keyboard.press("Alt+ArrowDown");
  await expect.poll(() => tab.sessionId).not.toBe(quay);
  await keyboard.press("Alt+ArrowUp");
  await expect.poll(() => tab.sessionId).toBe(quay);
  await keyboard.press("Control+Shift+L");
  expect(await tab.composer.evaluate((box) => box === document.activeElement)).toBe(true);
  await keyboard.press("Control+Shift+S");
  await tab.page.locator(".sidebar").waitFor({ state: "detached" });
  await keyboard.press("Control+/");
  await tab.page.getByRole("dialog", { name: "Keys" }).waitFor();
  await keyboard.press("Escape");
  // The menu of the session, by walking to it.
  await tab.page.getByRole("button", { name: "Session menu" }).focus();
  await keyboard.press("Enter");
  await chooseInMenu(tab, "Rename");
  await tab.page.getByRole("dialog", { name: "Rename session" }).waitFor();
  await keyboard.type("By hand");
  await keyboard.press("Enter");
  await tab.page.getByRole("heading", { name: "By hand", level: 1 }).waitFor();
  await tab.quiet();
});

test("a session of 10,000 messages opens at its end, keeps few of them in the page, and scrolls", async () => {
  const messages = Array.from({ length: 10_000 }, (_, n) => ({ role: n % 2 ? "assistant" : "user", content: `Message ${n} ${"and more words ".repeat(n % 17)}`, metadata: {} }));
  const { session_id } = await server.api<{ session_id: string }>("/sessions/import", { session_id: "long", messages, metadata: { agent_id: "mate", title: "Long" } });
  const tab = await Tab.session(browser, server, session_id);
  await tab.page.getByText("Message 9999").waitFor();
  await tab.page.locator('[aria-setsize="10000"]').first().waitFor();
  expect(await tab.page.locator(".item").count()).toBeLessThan(80);
  await tab.page.locator(".scroller").press("Home");
  await tab.page.getByText("Message 0 ", { exact: true }).waitFor();
  await tab.page.getByRole("button", { name: "Jump to latest" }).click();
  await tab.page.getByText("Message 9999").waitFor();
  await tab.quiet();
});

test("the view stays at the end while what stands above changes its size", async () => {
  const tab = await Tab.session(browser, server, worked);
  await tab.answer.waitFor();
  const view = tab.page.locator(".scroller");
  const toEnd = () => view.evaluate((view) => view.scrollHeight - view.scrollTop - view.clientHeight);
  await expect.poll(toEnd).toBeLessThan(2);
  // Past the time in which everything is taken for sizes that become known.
  await tab.page.evaluate(() => {
    const { now } = performance;
    performance.now = () => now.call(performance) + 5_000;
  });
  await view.evaluate((view) => {
    const feed = view.querySelector<HTMLElement>('[role="feed"]');
    if (feed) feed.style.paddingBottom = "700px";
    view.scrollTop -= 60;
  });
  await expect.poll(toEnd).toBeLessThan(2);
  await view.evaluate((view) => (view.scrollTop -= 300));
  await tab.page.getByRole("button", { name: "Jump to latest" }).click();
  await expect.poll(toEnd).toBeLessThan(2);
  await tab.quiet();
});

test("the inspector covers nothing of the place to write, where it does not cover everything", async () => {
  const tab = await Tab.session(browser, server, worked);
  for (const width of [761, 900, 1080, 1200]) {
    await tab.page.setViewportSize({ width, height: 820 });
    const inspector = tab.page.getByRole("complementary", { name: "Inspector" });
    if ((await inspector.count()) === 0) await tab.page.getByRole("button", { name: "Inspector" }).click();
    await inspector.getByRole("tab", { name: "Request" }).waitFor();
    const [beside, field] = await Promise.all([inspector.boundingBox(), tab.page.locator(".composer").boundingBox()]);
    expect((field?.x ?? 0) + (field?.width ?? 0)).toBeLessThanOrEqual(beside?.x ?? 0);
    await tab.composer.fill("hello");
    await tab.page.getByRole("button", { name: "Send (Enter)" }).click({ trial: true });
    await tab.fits();
  }
  await tab.composer.fill("");
  await tab.quiet();
});

test("where the inspector stands in place of the sessions, the way to them leads back", async () => {
  const tab = await Tab.session(browser, server, worked, { viewport: { width: 1000, height: 820 } });
  const list = tab.page.getByRole("navigation", { name: "Sessions" });
  await list.waitFor();
  for (const show of [() => tab.page.getByRole("button", { name: "Show sessions" }).click(), () => tab.page.keyboard.press("Control+Shift+S")]) {
    await tab.page.getByRole("button", { name: "Inspector" }).click();
    await list.waitFor({ state: "hidden" });
    await show();
    await list.waitFor();
    await tab.page.getByRole("button", { name: "Hide sessions" }).waitFor();
  }
  await tab.quiet();
});

test("there is a way to the end as soon as an answer grows away from its reader", async () => {
  const tab = await Tab.session(browser, server, worked);
  await tab.answer.waitFor();
  const jump = tab.page.getByRole("button", { name: "Jump to latest" });
  await tab.page.locator(".scroller").evaluate(async (view) => {
    view.dispatchEvent(new Event("wheel", { bubbles: true }));
    view.scrollTop -= 100;
    await new Promise(requestAnimationFrame);
  });
  expect(await jump.count()).toBe(0);
  await tab.page.getByRole("feed").evaluate((feed) => (feed.style.paddingBottom = "700px"));
  await jump.click();
  await jump.waitFor({ state: "detached" });
  await tab.quiet();
});

test("the view stays where the reader scrolled to while an answer grows", async () => {
  const tab = await Tab.session(browser, server, worked);
  await tab.answer.waitFor();
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  await tab.page.locator(".scroller").hover();
  await tab.page.mouse.wheel(0, -900);
  await tab.page.getByRole("button", { name: "Jump to latest" }).waitFor();
  const place = () => tab.page.locator(".scroller").evaluate((view) => view.scrollTop);
  // The wheel rolls out; where it comes to rest is the place to stay at.
  let before = await place();
  const moved = async () => {
    const last = before;
    before = await place();
    return before !== last;
  };
  await expect.poll(moved).toBe(false);
  await tab.page.locator(".answer", { hasText: "12 13 14" }).waitFor({ state: "attached" });
  expect(await place()).toBe(before);
  await tab.page.keyboard.press("Escape");
  await tab.idle();
  await tab.quiet();
});
