//! The pictures of the README and the book, taken from a session of the demo project: each view, light and dark.

import { cp, mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PHONE, Tab, launch } from "./browser";
import { Server } from "./server";

const PICTURES = resolve(import.meta.dirname, "../../docs/pictures");
const DESK: BrowserContextOptions = { viewport: { width: 1280, height: 800 } };
const SMALL: BrowserContextOptions = { ...PHONE, viewport: { width: 390, height: 760 }, deviceScaleFactor: 1.5 };
const SCHEMES = ["light", "dark"] as const;

/** Other sessions of the project, the newest last. */
const OTHERS = [
  "Licence of the sample data",
  "Draft the notes for 0.4",
  "Flaky test in test_harmonics",
  "Rename Station to Gauge",
  "SQLite or Parquet for the archive?",
  "Plan the move to async",
  "Words for the command line",
  "Review: retries of the fetcher",
  "Why does the build fail on Windows?",
  "Read the buoys every ten minutes",
  "Speed up the parser",
];
const PINNED = ["Release checklist"];

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start("", "demo"), launch({ FONTCONFIG_FILE: resolve(import.meta.dirname, "demo/fonts.conf") })]);
  await mkdir(PICTURES, { recursive: true });
  for (const title of [...PINNED, ...OTHERS]) {
    const { session_id } = await server.api<{ session_id: string }>("/sessions", {});
    await server.api(`/sessions/${session_id}`, { title, ...(PINNED.includes(title) ? { metadata: { pinned: true } } : {}) }, "PATCH");
  }
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

/** Takes a picture of what a tab shows, in both themes. */
async function take(name: string, path: string, options: BrowserContextOptions, show: (tab: Tab) => Promise<unknown>): Promise<void> {
  for (const colorScheme of SCHEMES) {
    const tab = await Tab.open(browser, server, path, { ...options, colorScheme });
    await show(tab);
    await tab.page.evaluate(() => document.fonts.ready);
    await tab.page.screenshot({ path: `${PICTURES}/${name}-${colorScheme}.png`, animations: "disabled", caret: "hide" });
    await tab.quiet();
  }
}

/** Days before today: nobody waits a month for a picture of one. */
async function withEarlierDays(tab: Tab): Promise<void> {
  await tab.page.route("**/actions/usage/show_usage", async (route) => {
    const response = await route.fetch();
    const outcome = (await response.json()) as { result: { usage: { days: Record<string, unknown> } } };
    for (let ago = 1; ago < 30; ago += 1) {
      const at = new Date(Date.now() - ago * 86_400_000);
      const busy = [0, 6].includes(at.getUTCDay()) ? 0 : 0.35 + 0.6 * Math.abs(Math.sin(ago * 1.7));
      const tally = (part: number) => ({ requests: Math.round(40 * busy * part), input_tokens: Math.round(210_000 * busy * part), output_tokens: Math.round(31_000 * busy * part), cost: 0.34 * busy * part });
      const agents = { builder: tally(0.78), reviewer: tally(0.22) };
      const models = { "demo-large": tally(0.9), "demo-small": tally(0.1) };
      if (busy > 0) outcome.result.usage.days[at.toISOString().slice(0, 10)] = { total: tally(1), agents, models, plugins: { session_title: tally(0.02), compaction: tally(0.05) } };
    }
    await route.fulfill({ response, json: outcome });
  });
}

const inspector = async (tab: Tab, name: string, sign: string) => {
  await tab.page.keyboard.press("Alt+i");
  await tab.page.getByRole("tab", { name }).click();
  await tab.page.locator(".inspector").getByText(sign).first().waitFor();
};

test("every picture is taken", async () => {
  await take("start", "/", DESK, (tab) => tab.page.getByText("What shall we work on?").waitFor());

  const tab = await Tab.open(browser, server, "/", DESK);
  await tab.say("Since the clocks changed, the printed tide table is an hour late. Find out why and fix it.");
  await tab.page.getByRole("button", { name: "Allow" }).click();
  await tab.answer.getByText("Both tests pass.").waitFor();
  await tab.idle();
  await expect.poll(() => tab.page.title()).toContain("Tide table an hour late");
  const session = `/#/s/${tab.sessionId}`;
  await take("timeline", session, DESK, async (tab) => {
    await inspector(tab, "Request", "By plugin");
    // What plugins offer for calls comes after the conversation, and moves it.
    await tab.page.getByRole("button", { name: "More for the call" }).first().waitFor();
  });

  await tab.page.locator('.composer input[type="file"]').setInputFiles(resolve(import.meta.dirname, "demo/docs/spring-tide.png"));
  await tab.page.getByRole("list", { name: "Attached files" }).getByText("13 KB").waitFor();
  await tab.ask("What does this plot show, and how do I get the next three days as a table?");
  await tab.answer.getByRole("heading", { name: "A spring tide at Brest" }).waitFor();
  await tab.idle();
  const drawn = async (tab: Tab) => {
    await tab.answer.locator("math").waitFor();
    await tab.answer.locator(".hl-keyword").first().waitFor();
  };
  await take("chat", session, DESK, drawn);
  await take("phone", session, SMALL, drawn);
  await take("usage", session, DESK, async (tab) => {
    await withEarlierDays(tab);
    await inspector(tab, "Usage", "Tokens per day");
    await tab.page.getByText("session_title").waitFor();
  });
  await take("plugins", session, DESK, (tab) => inspector(tab, "Plugins", "permissions"));
  await take("settings", session, DESK, async (tab) => {
    await drawn(tab);
    await tab.page.keyboard.press("Control+.");
    await tab.page.getByRole("dialog", { name: "Settings" }).waitFor();
  });

  await cp(resolve(import.meta.dirname, "demo/src"), `${server.folder}/work/src`, { recursive: true });
  await tab.page.goto(server.url);
  await tab.say("The tide table is an hour late. Please mend it, and run the tests.");
  await tab.page.locator(".approval").waitFor();
  const waiting = `/#/s/${tab.sessionId}`;
  await take("tools", waiting, DESK, async (tab) => {
    await tab.page.locator(".approval").waitFor();
    await tab.page.locator(".diff").waitFor();
  });
  await take("phone-decision", waiting, SMALL, async (tab) => {
    const allow = tab.page.locator(".approval").getByRole("button", { name: "Allow" });
    await allow.waitFor();
    // The view goes to the end once the sizes of what stands above are known.
    await expect.poll(() => allow.evaluate((button) => button.getBoundingClientRect().bottom < (document.querySelector(".composer")?.getBoundingClientRect().top ?? 0))).toBe(true);
  });
  await tab.quiet();
});
