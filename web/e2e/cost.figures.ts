//! What the page costs: figures for `cargo xtask bench page`, and the budgets that hold for them.

import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Tab, launch } from "./browser";
import { Server } from "./server";
import { mainThread } from "./tracing";

/** So many fragments, so many milliseconds apart. */
const FRAGMENTS = 1_400;
const PACE_MS = 5;
let server: Server;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  const pieces = Array.from({ length: FRAGMENTS }, (_, n) => {
    if (n % 120 === 119) return "\n\n```rust\nfn berth(number: u32) -> Option<Berth> { BERTHS.get(number) }\n```\n\n";
    if (n % 60 === 59) return "\n\n- **first** of `many`\n- second\n\n";
    return n % 20 === 19 ? "and so it ends.\n\n" : `word${n} `;
  });
  const script = `${server.folder}/work/script.toml`;
  const reply = `[[replies]]\nwhen = { contains = "write much" }\ntext = ${JSON.stringify(pieces)}\npace_ms = ${PACE_MS}\n\n`;
  await writeFile(script, (await readFile(script, "utf8")).replace("[[replies]]", `${reply}[[replies]]`));
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

const told = (what: string, figure: string) => console.log(`page/${what}: ${figure}`);

test("the chat view loads less than 250 kB of JavaScript", () => {
  const said = execFileSync(process.execPath, [resolve(import.meta.dirname, "../scripts/size.mjs")], { encoding: "utf8" });
  told("first load", said.trim());
});

test("a stream of 200 fragments a second takes less than 30 % of the main thread", async () => {
  const tab = await Tab.session(browser, server, await server.session("hello"));
  await tab.answer.getByText("Aye.").waitFor();
  await tab.say("write much");
  await tab.answer.getByText("word10 ").waitFor();
  const shown = async () => (await tab.page.locator(".answer").last().innerText()).length;
  const before = await shown();
  const { share, seconds, longest } = await mainThread(browser, tab.page, async () => {
    await tab.page.locator(".answer").last().getByText("word1000 ").waitFor({ timeout: 60_000 });
  });
  const rate = 1_000 / PACE_MS;
  told("stream", `${(share * 100).toFixed(1)} % of the main thread for ${seconds.toFixed(1)} s at ${rate} fragments a second, longest task ${longest.toFixed(0)} ms, ${(await shown()) - before} characters`);
  expect(share).toBeLessThan(0.3);
  await tab.page.keyboard.press("Escape");
  await tab.idle();
  await tab.quiet();
});

test("a session of 10,000 messages opens and scrolls", async () => {
  const messages = Array.from({ length: 10_000 }, (_, n) => ({ role: n % 2 ? "assistant" : "user", content: `Message ${n} ${"and **more** words ".repeat(n % 17)}`, metadata: {} }));
  const { session_id } = await server.api<{ session_id: string }>("/sessions/import", { session_id: "long", messages, metadata: { agent_id: "mate", title: "Long" } });
  const began = performance.now();
  const tab = await Tab.session(browser, server, session_id);
  await tab.page.getByText("Message 9999").waitFor();
  told("10,000 messages", `the end is shown after ${Math.round(performance.now() - began)} ms, the browser's new window included`);
  await tab.page.locator('[aria-setsize="10000"]').first().waitFor();
  const inPage = await tab.page.locator(".item").count();
  expect(inPage).toBeLessThan(80);
  const view = tab.page.locator(".scroller");
  await view.hover();
  const frames = await tab.page.evaluate(() => {
    const times: number[] = [];
    (globalThis as unknown as { frames: number[] }).frames = times;
    let last = performance.now();
    const step = (now: number) => {
      times.push(now - last);
      last = now;
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
    return times.length;
  });
  expect(frames).toBe(0);
  const { share, longest } = await mainThread(browser, tab.page, async () => {
    for (let turn = 0; turn < 60; turn += 1) await tab.page.mouse.wheel(0, -800);
    await expect.poll(() => view.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight)).toBeGreaterThan(20_000);
  });
  const times = (await tab.page.evaluate(() => (globalThis as unknown as { frames: number[] }).frames)).slice(1).sort((a, b) => a - b);
  const at = (part: number) => (times[Math.floor((times.length - 1) * part)] ?? 0).toFixed(0);
  told("scrolling", `${inPage} of 10,000 messages in the page; frames of ${at(0.5)} ms, 95 % below ${at(0.95)} ms; ${(share * 100).toFixed(0)} % of the main thread, longest task ${longest.toFixed(0)} ms`);
  await tab.quiet();
});
