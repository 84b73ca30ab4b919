//! Two people on one server, and in one browser.

import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DESKTOP, launch, serveFolder } from "./browser";
import { Server } from "./server";

const ANA = "the-tide-turns-at-six";
const BO = "the-wind-turns-at-ten";
const TOKENS = [
  { token: ANA, tenant: "acme", user: "ana" },
  { token: BO, tenant: "harbour", user: "bo" },
].map(({ token, tenant, user }) => `\n[[server.tokens]]\ntoken = "${token}"\ntenant = "${tenant}"\nuser = "${user}"\n`);

let server: Server;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(TOKENS.join("")), launch()]);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

const context = () => browser.newContext({ viewport: DESKTOP });
const composer = (page: Page) => page.getByRole("textbox", { name: "Message", exact: true });
const rows = (page: Page) => page.locator(".session-row");
const idOf = (page: Page) => decodeURIComponent(/#\/s\/(.+)$/.exec(page.url())?.[1] ?? "");
const kept = (page: Page) => page.evaluate(() => JSON.stringify([localStorage, sessionStorage]));

async function open(context: BrowserContext, path = "/"): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  if (process.env.ORLOP_PAGE) await serveFolder(page, server, process.env.ORLOP_PAGE);
  await page.goto(server.url + path);
  return page;
}

async function enter(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Go in" }).click();
  await composer(page).waitFor();
}

async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await composer(page).press("Enter");
  await page.locator(".answer").getByText("Aye.").waitFor();
  await page.locator('[role="feed"][aria-busy="false"]').waitFor();
}

/** A session of somebody, made over the API. */
async function sessionOf(token: string, title: string): Promise<string> {
  const call = async (path: string, method: string, body: unknown) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const response = await fetch(`${server.url}/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return (await response.json()) as { session_id: string };
  };
  const { session_id } = await call("/sessions", "POST", {});
  await call(`/sessions/${session_id}`, "PATCH", { title });
  return session_id;
}

// covers: K-01
test("what is somebody else's looks exactly like what does not exist", async () => {
  const foreign = await sessionOf(ANA, "Sealed orders");
  await sessionOf(BO, "Bo's own");
  const held = await context();
  const page = await open(held);
  await enter(page, BO);
  await rows(page).getByText("Bo's own").waitFor();
  expect(await rows(page).getByText("Sealed orders").count()).toBe(0);
  const looks = async (id: string) => {
    await page.evaluate((id) => (location.hash = `#/s/${id}`), id);
    await page.getByRole("heading", { name: "This session does not exist" }).waitFor();
    await page.getByRole("button", { name: "New session" }).first().waitFor();
    return { text: await page.locator("body").innerText(), title: await page.title(), markup: (await page.locator(".main").innerHTML()).replaceAll(id, "ID") };
  };
  const unknown = foreign.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
  const first = await looks(unknown);
  expect(await looks(foreign)).toEqual(first);
  // Nor can it be found by its words.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("Sealed");
  await page.getByText("Nothing found.").waitFor();
  await held.close();
});

test("another token shows what is its owner's, and leaves nothing of who was here before", async () => {
  const held = await context();
  const page = await open(held);
  await enter(page, ANA);
  await say(page, "hello from ana");
  const id = idOf(page);
  await composer(page).fill("a private thought of ana");
  await expect.poll(() => kept(page)).toContain("private thought");
  await page.keyboard.press("Control+.");
  await page.getByRole("button", { name: "Forget the token" }).click();
  await page.getByLabel("Token").waitFor();
  expect(await kept(page)).not.toMatch(/tide|ana/);
  await enter(page, BO);
  await page.getByRole("heading", { name: "What shall we work on?" }).waitFor();
  expect(page.url()).not.toContain(id);
  await rows(page).getByText("Bo's own").waitFor();
  expect(await page.locator("body").innerText()).not.toContain("ana");
  expect(await composer(page).inputValue()).toBe("");
  await held.close();
});

test("a token that is taken back and replaced by somebody else's takes nothing over", async () => {
  const held = await context();
  const page = await open(held);
  await enter(page, ANA);
  await say(page, "hello from ana");
  // What she sends now does not arrive, and her token is not good any more.
  await page.route("**/api/v1/sessions/*/requests", (route) => route.fulfill({ status: 401, json: { error_type: "unauthorized", message: "No." } }));
  await composer(page).fill("an order of ana");
  await composer(page).press("Enter");
  await page.getByText("The server does not know this token any more.").waitFor();
  expect(await kept(page)).toContain("an order of ana");
  await page.unroute("**/api/v1/sessions/*/requests");
  const sent: string[] = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
  await enter(page, BO);
  await page.getByRole("heading", { name: "What shall we work on?" }).waitFor();
  await rows(page).getByText("Bo's own").waitFor();
  expect(await page.locator("body").innerText()).not.toContain("ana");
  expect(await kept(page)).not.toContain("ana");
  expect(sent).toEqual([]);
  await held.close();
});

test("the same person with a new token goes on", async () => {
  const held = await context();
  const page = await open(held);
  await enter(page, ANA);
  await say(page, "hello from ana");
  let refuse = true;
  await page.route("**/api/v1/sessions/*/requests", (route) => (refuse && route.request().method() === "POST" ? route.fulfill({ status: 401, json: { error_type: "unauthorized", message: "No." } }) : route.fallback()));
  await composer(page).fill("hello again");
  await composer(page).press("Enter");
  await page.getByText("The server does not know this token any more.").waitFor();
  refuse = false;
  await enter(page, ANA);
  await page.locator(".bubble", { hasText: "hello again" }).waitFor();
  await page.locator(".answer").nth(1).getByText("Aye.").waitFor();
  await held.close();
});

test("tabs of two people in one browser tell each other nothing", async () => {
  const held = await context();
  const [first, second] = [await open(held), await open(held)];
  await enter(first, ANA);
  await enter(second, BO);
  await rows(second).getByText("Bo's own").waitFor();
  const before = await rows(second).count();
  await first.bringToFront();
  await say(first, "hello from ana");
  await second.bringToFront();
  await say(second, "hello from bo");
  await expect.poll(() => rows(second).count()).toBe(before + 1);
  expect(await second.locator("body").innerText()).not.toContain("ana");
  expect(await first.locator("body").innerText()).not.toMatch(/hello from bo|Bo's own/);
  await held.close();
});
