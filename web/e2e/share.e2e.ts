//! Links by which others read a session, where the server allows them.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AxeBuilder } from "./axe";
import { PHONE, Tab, launch, serveFolder } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start("\n[server]\nshare_links = true\n"), launch()]);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

/** Opens a link as somebody who knows nothing but the link. */
async function follow(url: string, options = {}) {
  const page = await (await browser.newContext(options)).newPage();
  page.setDefaultTimeout(15_000);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  if (process.env.ORLOP_PAGE) await serveFolder(page, server, process.env.ORLOP_PAGE);
  await page.goto(url);
  return { page, asked };
}

test("a link shows the session and what goes on in it, lets nobody write, and leads nowhere once it is taken back", async () => {
  const id = await server.session("mend free.sh");
  await server.api(`/sessions/${id}`, { title: "Free berths" }, "PATCH");
  const tab = await Tab.session(browser, server, id);
  await tab.menu("Session menu", "Share by a link");
  const dialog = tab.page.getByRole("dialog", { name: "Share this session" });
  await dialog.getByRole("button", { name: "Make a link" }).click();
  const url = await dialog.getByLabel("The link").inputValue();
  expect(url).toMatch(/#\/shared\/.{20,}/);
  await tab.accessible();
  await dialog.getByRole("button", { name: "Copy link" }).click();
  expect(await tab.page.evaluate(() => navigator.clipboard.readText())).toBe(url);
  await tab.page.screenshot({ path: `${import.meta.dirname}/../test-results/desktop-light-share.png` });

  const reader = await follow(url);
  await reader.page.getByRole("heading", { name: "Free berths", level: 1 }).waitFor();
  await reader.page.locator(".answer").getByText("free.sh is mended.").waitFor();
  await reader.page.getByRole("button", { name: /^edit_file/ }).waitFor();
  expect(await reader.page.getByRole("textbox").count()).toBe(0);
  expect(await reader.page.getByRole("button", { name: /Edit|Another|More|menu/ }).count()).toBe(0);
  expect(await new AxeBuilder(reader.page).violations()).toEqual([]);
  // Nothing is asked for but what the link is for.
  expect(reader.asked.filter((path) => path.startsWith("/api/") && !path.startsWith("/api/v1/shared/"))).toEqual([]);

  await dialog.getByRole("button", { name: "Close" }).first().click();
  await tab.say("count slowly");
  await reader.page.locator(".answer", { hasText: "1 2 3" }).waitFor();
  await tab.page.keyboard.press("Escape");
  await reader.page.getByText("Stopped here.").waitFor();

  await tab.menu("Session menu", "Share by a link");
  await dialog.getByRole("button", { name: "Take back" }).click();
  await dialog.getByRole("list").waitFor({ state: "detached" });
  await reader.page.reload();
  await reader.page.getByRole("heading", { name: "This link leads nowhere" }).waitFor();
  await reader.page.context().close();
  await tab.quiet();
});

test("a link shows the end of a long session first, on a phone as well", async () => {
  const messages = Array.from({ length: 300 }, (_, n) => ({ role: n % 2 ? "assistant" : "user", content: `Message ${n}.`, metadata: {} }));
  const { session_id } = await server.api<{ session_id: string }>("/sessions/import", { session_id: "long", messages, metadata: { agent_id: "mate", title: "Long" } });
  const { link } = await server.api<{ link: string }>(`/sessions/${session_id}/shares`, {});
  const { page } = await follow(`${server.url}/#/shared/${link}`, PHONE);
  await page.getByText("Message 299.").waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  await page.screenshot({ path: `${import.meta.dirname}/../test-results/phone-light-shared.png` });
  await page.getByRole("button", { name: "Show earlier messages" }).tap();
  await page.getByRole("button", { name: "Show earlier messages" }).tap();
  await page.getByRole("button", { name: "Show earlier messages" }).waitFor({ state: "detached" });
  await page.locator(".scroller").press("Home");
  await page.getByText("Message 0.").waitFor();
  await page.context().close();
});

test("who opens a link in the middle of an answer sees no half of it, and who cannot reach the server can try again", async () => {
  const id = await server.session("hello");
  const { link } = await server.api<{ link: string }>(`/sessions/${id}/shares`, {});
  const tab = await Tab.session(browser, server, id);
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  const { page } = await follow(`${server.url}/#/shared/${link}`);
  const answer = page.locator(".answer").last();
  await answer.getByText("…", { exact: true }).waitFor();
  await answer.getByText(/^1 2 3 .* 30 done\.$/).waitFor();
  await page.locator('[role="feed"][aria-busy="false"]').waitFor();
  const gone = (url: URL) => url.pathname.startsWith("/api/v1/shared/");
  await page.route(gone, (route) => route.abort());
  await page.reload();
  await page.getByRole("heading", { name: "The session could not be loaded" }).waitFor();
  expect(await new AxeBuilder(page).violations()).toEqual([]);
  await page.unroute(gone);
  await page.getByRole("button", { name: "Try again" }).click();
  await answer.getByText("done.").waitFor();
  await page.context().close();
  await tab.quiet();
});

test("a file that is dropped where the page has no use for it is not opened in its place", async () => {
  const { link } = await server.api<{ link: string }>(`/sessions/${await server.session("hello")}/shares`, {});
  const { page } = await follow(`${server.url}/#/shared/${link}`);
  await page.getByText("Aye.").waitFor();
  const opened = await page.evaluate(() =>
    ["dragover", "drop"].map((kind) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["x"], "x.txt"));
      return document.body.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer }));
    }),
  );
  expect(opened).toEqual([false, false]);
  await page.context().close();
});
