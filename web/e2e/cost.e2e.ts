//! What streaming costs: the share of the main thread that a stream of 200 fragments a second takes.

import { readFile, writeFile } from "node:fs/promises";
import type { Browser, CDPSession } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Tab, launch } from "./browser";
import { Server } from "./server";

const FRAGMENTS = 1_200;
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
  const reply = `[[replies]]\nwhen = { contains = "write much" }\ntext = ${JSON.stringify(pieces)}\npace_ms = 4\n\n`;
  await writeFile(script, (await readFile(script, "utf8")).replace("[[replies]]", `${reply}[[replies]]`));
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

/** Seconds of processor time that the main thread has worked, by Chromium's own count. */
async function worked(devtools: CDPSession): Promise<{ busy: number; at: number }> {
  const { metrics } = await devtools.send("Performance.getMetrics");
  const value = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0;
  return { busy: value("TaskDuration"), at: Date.now() / 1_000 };
}

test("a stream of 200 fragments a second leaves the main thread free", async () => {
  const tab = await Tab.session(browser, server, await server.session("hello"));
  const devtools = await tab.page.context().newCDPSession(tab.page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  await tab.say("write much");
  await tab.answer.getByText("word10 ").waitFor();
  const before = await worked(devtools);
  await tab.page.waitForTimeout(4_000);
  const after = await worked(devtools);
  const { length } = await tab.answer.innerText();
  const share = (after.busy - before.busy) / (after.at - before.at);
  console.log(`streaming: ${(share * 100).toFixed(1)} % of the main thread, ${length} characters shown`);
  expect(share).toBeLessThan(0.3);
  await tab.idle();
  await tab.quiet();
});
