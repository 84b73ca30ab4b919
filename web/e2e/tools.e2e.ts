//! Every tool that ships is called, and what it gives back is drawn: pages, the work of other agents, diffs, plans, output.

import { writeFile } from "node:fs/promises";
import { type Server as HttpServer, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Tab, launch } from "./browser";
import { Server } from "./server";

interface Call {
  name: string;
  arguments: Record<string, unknown>;
}

/** A call of each tool that ships. A new one wants a line here, and somebody who looks at what the page makes of it. */
const calls = (site: string): Call[] => [
  { name: "todo", arguments: { items: [{ text: "look around", status: "completed" }, { text: "write it down", status: "in_progress" }] } },
  { name: "list_files", arguments: {} },
  { name: "find_files", arguments: { pattern: "*.csv" } },
  { name: "search_files", arguments: { pattern: "free" } },
  { name: "read_file", arguments: { path: "free.sh" } },
  { name: "edit_file", arguments: { path: "free.sh", old_string: "= yes ]", new_string: "= free ]" } },
  { name: "write_file", arguments: { path: "notes.txt", content: "A1 is free\n" } },
  { name: "apply_patch", arguments: { patch: "*** Begin Patch\n*** Update File: berths.csv\n@@\n-A2,taken\n+A2,free\n*** End Patch" } },
  { name: "shell", arguments: { command: "./check.sh" } },
  { name: "shell_output", arguments: { job: "nobody" } },
  { name: "shell_stop", arguments: { job: "nobody" } },
  { name: "web_fetch", arguments: { url: `${site}/tides` } },
  { name: "remember", arguments: { text: "Berth A1 is free." } },
  { name: "recall", arguments: {} },
  { name: "forget", arguments: { text: "nothing of the kind" } },
  { name: "skill", arguments: { name: "tides" } },
  { name: "delegate", arguments: { agent: "reviewer", task: "Review free.sh" } },
  { name: "ask_user", arguments: { question: "Which unit?", options: ["metres", "feet"] } },
];

let site: HttpServer;
let server: Server;
let browser: Browser;
let address: string;

beforeAll(async () => {
  site = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<title>Tides of the harbour</title><h1>Tides</h1><p>High water at 06:12.</p>");
  });
  await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
  const host = `127.0.0.1:${(site.address() as AddressInfo).port}`;
  address = `http://${host}`;
  const agent = `
[agents.all]
extends = "mate"
script = "\${env:CONFIG_DIR}/all.json"
tools = ["actions", "ask_user", "delegate", "files", "memory", "shell", "skills", "todo", "web_fetch"]
web_fetch = { allow_hosts = ["${host}"] }
permissions = { mode = "all" }
`;
  [server, browser] = await Promise.all([Server.start(agent), launch()]);
  const script = {
    at_end: "repeat",
    replies: [{ when: { contains: "call everything", tool_result: false }, text: "All of them.", tool_calls: calls(address) }, { text: "That was all." }],
  };
  await writeFile(`${server.folder}/work/all.json`, JSON.stringify(script));
});
afterAll(async () => {
  await browser.close();
  await server.remove();
  site.close();
});

test("what every shipped tool gives back is drawn in a form the page knows", async () => {
  const { items: plugins } = await server.api<{ items: { name: string; kinds: string[]; source: string }[] }>("/plugins");
  const shipped = plugins.filter((plugin) => plugin.source === "built_in" && plugin.kinds.includes("tool")).map((plugin) => plugin.name);
  const { tools: used } = await server.api<{ tools: string[] }>("/agents/all/plugins");
  expect(shipped.filter((name) => !used.includes(name))).toEqual([]);
  const { items: tools } = await server.api<{ items: { schema: { name?: string; function?: { name: string } } }[] }>("/agents/all/tools");
  const names = tools.map(({ schema }) => schema.function?.name ?? schema.name);
  expect(
    calls(address)
      .map((call) => call.name)
      .toSorted(),
  ).toEqual(names.toSorted());

  const { session_id } = await server.api<{ session_id: string }>("/sessions", { agent_id: "all" });
  const tab = await Tab.session(browser, server, session_id);
  await tab.say("call everything");
  const question = tab.page.getByRole("form", { name: "Which unit?" });
  await question.getByLabel("feet").check();
  await question.getByRole("button", { name: "Answer", exact: true }).click();
  await tab.idle();
  await tab.page.setViewportSize({ width: 1280, height: 6_000 });
  await tab.answer.getByText("That was all.").waitFor();
  for (const { name } of calls(address)) {
    const head = tab.page.getByRole("button", { name: new RegExp(`^${name}\\b`) });
    if ((await head.getAttribute("aria-expanded")) !== "true") await head.click();
  }
  expect(await tab.page.locator(".tool").count()).toBeGreaterThanOrEqual(calls(address).length);
  expect(await tab.page.locator("[data-unknown-display]").evaluateAll((all) => all.map((one) => one.getAttribute("data-unknown-display")))).toEqual([]);
  const page = tab.page.getByRole("link", { name: "Tides of the harbour" });
  expect(await page.getAttribute("href")).toBe(`${address}/tides`);
  await tab.page.getByText("High water at 06:12.").waitFor();
  await tab.accessible();
  await tab.quiet();
});

test("the work of another agent is there after a reload, inside of its card and as a session", async () => {
  const id = await server.session("get a second pair of eyes");
  const tab = await Tab.session(browser, server, id);
  await tab.answer.getByText("It was reviewed.").waitFor();
  const work = tab.page.locator(".delegated");
  await work.getByText(/finished · 1,000 in · 20 out/).waitFor();
  await work.getByRole("button", { name: /reviewer/ }).click();
  await work.getByText("I read it.").waitFor();
  await work.getByRole("button", { name: /^read_file/ }).waitFor();
  await work.getByText("It does what it says.").waitFor();
  // What is done to messages is done to those of the session in view.
  expect(await work.getByRole("button", { name: "Another answer" }).count()).toBe(0);
  await tab.accessible();
  await work.getByRole("button", { name: "Open its session" }).click();
  await tab.page.locator(".bubble", { hasText: "Review free.sh" }).waitFor();
  expect(tab.sessionId).not.toBe(id);
  await tab.page.getByRole("button", { name: "Back to the session it works for" }).click();
  await expect.poll(() => tab.sessionId).toBe(id);
  await tab.quiet();
});
