//! A server that asks for a token.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AxeBuilder } from "./axe";
import { launch, serveFolder } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;
beforeAll(async () => {
  const token = '\n[[server.tokens]]\ntoken = "the-tide-turns-at-six"\ntenant = "acme"\nuser = "ana"\n';
  [server, browser] = await Promise.all([Server.start(token), launch()]);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

test("the page asks for the token, keeps it, and forgets it when told to", async () => {
  const page = await browser.newPage();
  if (process.env.ORLOP_PAGE) await serveFolder(page, server, process.env.ORLOP_PAGE);
  await page.goto(server.url);
  const field = page.getByLabel("Token");
  await field.waitFor();
  expect(await new AxeBuilder(page).violations()).toEqual([]);
  await field.fill("not this one");
  await page.getByRole("button", { name: "Go in" }).click();
  await page.getByText("The server does not know this token.").waitFor();
  await field.fill("the-tide-turns-at-six");
  await page.keyboard.press("Enter");
  const composer = page.getByRole("textbox", { name: "Message", exact: true });
  await composer.fill("hello");
  await composer.press("Enter");
  await page.locator(".answer").getByText("Aye.").waitFor();
  expect(page.url()).not.toContain("tide");
  await page.reload();
  await page.locator(".answer").getByText("Aye.").waitFor();
  await composer.fill("something private");
  await expect.poll(() => page.evaluate(() => JSON.stringify(localStorage))).toContain("private");
  await page.keyboard.press("Control+.");
  await page.getByRole("button", { name: "Forget the token" }).click();
  await field.waitFor();
  expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))).not.toMatch(/tide|private/);
  await page.close();
});
