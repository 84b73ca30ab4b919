//! The inspector: the trace of a request, usage, the parts of the agent, and all plugins, each as a file, too.

import { readFile } from "node:fs/promises";
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
  tab = await Tab.session(browser, server, await server.session("mend free.sh"));
  await tab.answer.getByText("free.sh is mended.").waitFor();
  await tab.page.keyboard.press("Alt+i");
});

const show = (name: string) => tab.page.getByRole("tab", { name }).click();
const panel = () => tab.page.getByRole("tabpanel");

/** What a button hands out. */
async function exported(label: string): Promise<string> {
  const downloading = tab.page.waitForEvent("download");
  await panel().getByRole("button", { name: label }).click();
  return readFile(await (await downloading).path(), "utf8");
}

test("a request is a timeline of model calls, tools and what plugins changed", async () => {
  await panel().getByText("2 model calls").waitFor();
  const rows = panel().locator(".timeline li");
  await rows.filter({ hasText: "Model call 1" }).waitFor();
  await rows.filter({ hasText: "Model call 2" }).waitFor();
  const few = await rows.count();
  await panel().getByLabel("Show every hook").check();
  expect(await rows.count()).toBeGreaterThan(few);
  const changed = rows.filter({ has: tab.page.getByRole("img", { name: "changed something" }) }).first();
  await changed.getByRole("button").click();
  await changed.locator("pre", { hasText: '"change"' }).waitFor();
  await tab.accessible();
  const trace = JSON.parse(await exported("Export")) as { kind: string }[];
  expect(new Set(trace.map((entry) => entry.kind))).toContain("model_call");
  await tab.quiet();
});

test("usage is drawn by day, agent and model, and goes to spreadsheets", async () => {
  await tab.ask("please stream the tide table");
  await show("Usage");
  await panel().getByRole("img", { name: /^Tokens per day: \d{4}-\d{2}-\d{2} \d+/ }).waitFor();
  await panel().locator(".bars li", { hasText: "mate" }).first().waitFor();
  const lines = (await exported("Export as CSV")).trim().split("\r\n");
  expect(lines[0]).toBe("by,name,requests,input_tokens,output_tokens,cost_dollars");
  expect(lines.some((line) => /^day,\d{4}-\d{2}-\d{2},\d+,\d+,\d+,/.test(line))).toBe(true);
  expect(lines.some((line) => line.startsWith("agent,mate,"))).toBe(true);
  expect(JSON.parse(await exported("Export as JSON"))).toHaveProperty("days");
  await tab.quiet();
});

test("the parts of the agent are listed, and each tool with what it takes", async () => {
  await show("Agent");
  await panel().getByText("Features, in the order they run").waitFor();
  await panel().locator("summary", { hasText: "edit_file" }).click();
  await panel().locator("pre", { hasText: "old_string" }).waitFor();
  await tab.quiet();
});

test("all plugins are listed, with their state, what they may do and how long they took", async () => {
  await show("Plugins");
  const entry = (name: string) => panel().locator(".plugins > li", { has: tab.page.locator("strong", { hasText: new RegExp(`^${name}$`) }) });
  await entry("files").getByRole("img", { name: "running" }).waitFor();
  await entry("probe").locator("summary").click();
  await entry("probe").getByText(/from a package/).waitFor();
  await tab.accessible();
  const plugins = JSON.parse(await exported("Export")) as { name: string; state: string }[];
  expect(plugins.find((plugin) => plugin.name === "files")).toMatchObject({ state: "running" });
  await tab.quiet();
});
