//! The inspector: the trace of a request, usage, the parts of the agent, and all plugins, each as a file, too.

import { readFile } from "node:fs/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Tab, launch } from "./browser";
import { Cable } from "./cable";
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
  await panel().getByRole("button", { name: label, exact: true }).click();
  return readFile(await (await downloading).path(), "utf8");
}

test("a request is a timeline of model calls with tokens and cost, tools, and what plugins changed", async () => {
  // The script has no prices; a provider that has them counts them here.
  await tab.page.route("**/trace", async (route) => {
    const response = await route.fetch();
    const trace = (await response.json()) as { items: { detail?: { step?: number; usage?: Record<string, number> } }[] };
    for (const { detail } of trace.items) if (detail?.usage) detail.usage.cost = 0.0125;
    await route.fulfill({ response, json: trace });
  });
  await tab.page.keyboard.press("Alt+i");
  await tab.page.keyboard.press("Alt+i");
  await panel().getByText("2 model calls").waitFor();
  const rows = panel().locator(".timeline li");
  const first = rows.filter({ hasText: "Model call 1" });
  await first.getByText("900 in · 60 out · $0.01").waitFor();
  await rows.filter({ hasText: "Model call 2" }).getByText("1,000 in · 10 out").waitFor();
  // A scale of time, and what the colours mean.
  expect(await panel().locator(".timeline-axis span").first().textContent()).toBe("0");
  expect(await panel().locator(".timeline-axis span").count()).toBeGreaterThan(1);
  expect(await panel().locator(".legend").innerText()).toMatch(/model.*tool.*hook.*failed.*changed something/s);
  // Bars stand in one column, hooks below the call they ran in, and questions to plugins are left out.
  const places = await rows.locator(".timeline-bar").evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().left));
  expect(new Set(places).size).toBe(1);
  const change = rows.filter({ hasText: "initialize_request" }).first();
  expect(await change.getAttribute("data-depth")).toBe("1");
  expect(await change.locator(".timeline-change").innerText()).toContain("state");
  expect(await rows.filter({ hasText: "get_actions" }).count()).toBe(0);
  const few = await rows.count();
  const all = panel().getByRole("checkbox", { name: /Show every hook/ });
  await panel().getByText(/^\d+ more$/).waitFor();
  await all.check();
  expect(await rows.count()).toBeGreaterThan(few);
  expect(await rows.filter({ hasText: "get_actions" }).count()).toBeGreaterThan(0);
  await change.getByRole("button").click();
  await change.locator("pre", { hasText: '"change"' }).waitFor();
  await tab.accessible();
  const trace = JSON.parse(await exported("Export as JSON")) as { kind: string }[];
  expect(new Set(trace.map((entry) => entry.kind))).toContain("model_call");
  expect(await exported("Export as SVG")).toContain("Model call 1");
  await tab.quiet();
});

test("usage is drawn by day, agent, model and plugin, and goes to spreadsheets and reports", async () => {
  await tab.page.keyboard.press("Alt+i");
  await tab.ask("please stream the tide table");
  await tab.page.keyboard.press("Alt+i");
  await show("Usage");
  const chart = panel().getByRole("img", { name: /^Tokens per day: \d{4}-\d{2}-\d{2} \d+/ });
  await chart.waitFor();
  // Thirty days, those without use, too, on a scale with numbers.
  expect(await chart.locator(".day-room").count()).toBe(30);
  const marks = await chart.locator("text").allTextContents();
  expect(marks[0]).toBe("0");
  expect(marks.slice(1).some((mark) => /^[\d.,]+k?$/.test(mark))).toBe(true);
  const bars = (title: string) => panel().locator("section", { has: tab.page.getByRole("heading", { name: title }) }).locator("li");
  await bars("Agents").filter({ hasText: "mate" }).waitFor();
  await bars("Models").filter({ hasText: "mate" }).waitFor();
  await bars("Plugins that asked models of their own").filter({ hasText: "session_title" }).waitFor();
  const lines = (await exported("Export as CSV")).trim().split("\r\n");
  expect(lines[0]).toBe("by,name,requests,input_tokens,output_tokens,cost_dollars");
  expect(lines.some((line) => /^day,\d{4}-\d{2}-\d{2},\d+,\d+,\d+,/.test(line))).toBe(true);
  expect(lines.some((line) => line.startsWith("agent,mate,"))).toBe(true);
  expect(lines.some((line) => /^plugin,session_title,[1-9]/.test(line))).toBe(true);
  expect(JSON.parse(await exported("Export as JSON"))).toHaveProperty("days");
  const picture = await exported("Export as SVG");
  expect(picture).toMatch(/^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  // Colours are written out: there are no styles where the picture goes.
  expect(picture).toMatch(/<rect[^>]* fill="rgb\(/);
  expect(picture).not.toContain("var(");
  await tab.quiet();
});

test("the parts of the agent are listed, and each tool with what it takes", async () => {
  await show("Agent");
  await panel().getByText("Features, in the order they run").waitFor();
  await panel().locator("summary", { hasText: "edit_file" }).click();
  await panel().locator("pre", { hasText: "old_string" }).waitFor();
  await tab.quiet();
});

test("all plugins are listed, with their state, what they may do, what went wrong and how long they took", async () => {
  await expect(server.api("/actions/probe/crash", { params: {} })).rejects.toThrow("the probe fell over");
  await show("Plugins");
  const entry = (name: string) => panel().locator(".plugins > li", { has: tab.page.locator("strong", { hasText: new RegExp(`^${name}$`) }) });
  await entry("files").getByRole("img", { name: "running" }).waitFor();
  await entry("probe").locator("summary").click();
  await entry("probe").getByText(/from a package/).waitFor();
  // What it was granted, and what went wrong.
  await entry("probe").locator(".grants").getByText("show events in your programs").waitFor();
  const errors = entry("probe").locator(".plugin-errors li");
  await errors.filter({ hasText: "execute_action" }).getByText(/the probe fell over/).first().waitFor();
  expect(await entry("probe").locator("summary").innerText()).toMatch(/\d+ errors?/);
  await tab.accessible();
  const plugins = JSON.parse(await exported("Export")) as { name: string; state: string }[];
  expect(plugins.find((plugin) => plugin.name === "files")).toMatchObject({ state: "running" });
  await tab.quiet();
});

test("what could not be read while the server was gone is read once it is back", async () => {
  await tab.quiet();
  const cable = await Cable.to(server.port);
  const far = await Tab.session(browser, cable, await server.session("hello"));
  await far.page.getByRole("button", { name: "Inspector" }).click();
  const inspector = far.page.getByRole("complementary", { name: "Inspector" });
  await inspector.getByRole("tab", { name: "Request" }).waitFor();
  cable.cut();
  await inspector.getByRole("tab", { name: "Agent" }).click();
  await inspector.getByRole("alert").getByText("The server cannot be reached.").waitFor();
  const link = far.page.getByText("Not connected. Trying again.").filter({ visible: true });
  await link.waitFor();
  // Also where the inspector takes the place of the sessions.
  const before = far.page.viewportSize() ?? { width: 0, height: 0 };
  for (const width of [761, 900, 1080, 1081, 1280]) {
    await far.page.setViewportSize({ width, height: 820 });
    await expect.poll(() => link.count(), { message: `at ${width}` }).toBe(1);
    await far.fits();
  }
  await far.page.setViewportSize(before);
  cable.mend();
  await inspector.getByText("read_file").first().waitFor({ timeout: 30_000 });
  expect(await inspector.getByRole("alert").count()).toBe(0);
  await far.quietButCutOff();
});

test("without a session nothing was asked, and what is of the server is there", async () => {
  await panel().getByText("2 model calls").waitFor();
  await tab.page.goto(`${server.url}/#/`);
  await panel().getByText("Nothing was asked in this session yet.").waitFor();
  await show("Plugins");
  await panel().getByText("probe", { exact: true }).first().waitFor();
  await tab.page.getByRole("button", { name: "Close inspector" }).click();
  await panel().waitFor({ state: "detached" });
  await tab.page.getByRole("button", { name: "Inspector", exact: true }).click();
  await panel().getByText("Nothing was asked in this session yet.").waitFor();
  await tab.accessible();
  await tab.quiet();
});

test("a request is chosen by what was asked", async () => {
  await server.api(`/sessions/${tab.sessionId}/requests`, { content: "think about it for as long as it takes you to be sure", stream: false });
  const choice = panel().getByLabel("Request");
  await expect.poll(() => choice.locator("option").allTextContents()).toEqual([expect.stringMatching(/ · completed · think about it for as long as it takes…$/), expect.stringMatching(/ · completed · mend free\.sh$/)]);
  await tab.quiet();
});
