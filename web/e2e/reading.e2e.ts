//! What stands in a conversation is read: in either direction, however wide or long it is, and on paper.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Tab, launch, onPhone } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});
afterAll(async () => {
  await browser.close();
  await server.remove();
});

/** A session that has these messages, by turns of the user and of the model. */
async function held(...texts: string[]): Promise<string> {
  const { session_id } = await server.api<{ session_id: string }>("/sessions", {});
  for (const [place, content] of texts.entries()) await server.api(`/sessions/${session_id}/messages`, { role: place % 2 === 0 ? "user" : "assistant", content });
  return session_id;
}

test("words that are written from right to left are read so, and those beside them are not", async () => {
  const answer = "שלום לכם\n\nHello again\n\n- ראשון\n- second\n\n> ציטוט קצר\n\n| שם | Name |\n| --- | --- |\n| אבא | Ann |\n\nהרץ `ls -l` עכשיו";
  const id = await held("מה שלומך?\nAnd in English?", answer);
  await server.api(`/sessions/${id}`, { title: "שיחה על הנמל" }, "PATCH");
  const tab = await Tab.session(browser, server, id);
  const { page } = tab;
  await tab.answer.getByText("Hello again").waitFor();
  /** Where the first line of an element begins: at its right edge or at its left. */
  const side = (selector: string, text: string) =>
    page.locator(selector, { hasText: text }).last().evaluate((element, text) => {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      let node = walker.nextNode();
      while (node && !node.textContent?.includes(text)) node = walker.nextNode();
      const range = document.createRange();
      const from = node?.textContent?.indexOf(text) ?? 0;
      range.setStart(node as Node, from);
      range.setEnd(node as Node, from + text.length);
      const [words, box] = [range.getBoundingClientRect(), element.getBoundingClientRect()];
      return box.right - words.right < words.left - box.left ? "right" : "left";
    }, text);
  expect(await side(".answer p", "שלום לכם")).toBe("right");
  expect(await side(".answer p", "Hello again")).toBe("left");
  expect(await side(".answer blockquote", "ציטוט קצר")).toBe("right");
  expect(await side(".answer li", "second")).toBe("right");
  expect(await side(".answer .table-scroll", "שם")).toBe("right");
  const styles = await tab.answer.evaluate((answer) => {
    const style = (selector: string) => getComputedStyle(answer.querySelector(selector) as Element);
    return { list: style("ul").direction, bar: style("blockquote").borderRightWidth, table: style("table").direction, code: style("p code").direction };
  });
  expect(styles).toEqual({ list: "rtl", bar: "3px", table: "rtl", code: "ltr" });
  expect(await side(".bubble", "מה שלומך?")).toBe("right");
  expect(await side(".bubble", "And in English?")).toBe("left");
  const directionOf = (selector: string) => page.locator(selector).first().evaluate((element) => getComputedStyle(element).direction);
  expect(await directionOf(".chat-header h1")).toBe("rtl");
  await tab.composer.fill("שלום");
  expect(await tab.composer.evaluate((field) => getComputedStyle(field).direction)).toBe("rtl");
  await tab.showSessions();
  expect(await page.locator(".session-title", { hasText: "שיחה" }).evaluate((element) => getComputedStyle(element).direction)).toBe("rtl");
  await tab.hideSessions();
  await tab.accessible();
  await page.screenshot({ path: `test-results/right-to-left-${onPhone ? "phone" : "desk"}.png` });
  await tab.quiet();
});

test("the end of a long formula can be scrolled to", async () => {
  const sum = Array.from({ length: 60 }, (_, place) => `x_{${place}}`).join(" + ");
  const tab = await Tab.session(browser, server, await held("sum", `The sum:\n\n$$\n${sum}\n$$\n\nAnd $${sum}$ in a line.`));
  const formula = tab.answer.getByRole("group", { name: "Formula" });
  await formula.waitFor();
  await formula.focus();
  await tab.page.keyboard.press("End");
  await formula.evaluate((element) => (element.scrollLeft = element.scrollWidth));
  const outside = () =>
    formula.evaluate((element) => {
      const last = [...element.querySelectorAll("math mn")].at(-1)?.getBoundingClientRect();
      return (last?.right ?? Number.POSITIVE_INFINITY) - element.getBoundingClientRect().right;
    });
  expect(await outside()).toBeLessThanOrEqual(1);
  const line = tab.answer.locator("p", { hasText: "in a line" });
  expect(await line.evaluate((element) => element.scrollWidth > element.clientWidth && getComputedStyle(element).overflowX)).toBe("auto");
  await tab.fits();
  await tab.accessible();
  await tab.page.screenshot({ path: `test-results/formula-${onPhone ? "phone" : "desk"}.png` });
  await tab.quiet();
});

test("all of a long conversation is on paper, and the view is as before", async () => {
  const texts = Array.from({ length: 300 }, (_, place) => `message number ${place} of them`);
  const tab = await Tab.session(browser, server, await held(...texts), { colorScheme: "dark" });
  await tab.page.getByText("message number 299 of them").waitFor();
  expect(await tab.page.locator(".item").count()).toBeLessThan(100);
  await tab.page.evaluate(() => {
    addEventListener("beforeprint", () => {
      const items = [...document.querySelectorAll(".item")].map((item) => item.textContent ?? "");
      Object.assign(globalThis, { printed: items });
    });
  });
  await tab.page.emulateMedia({ media: "print" });
  await tab.page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const printed = await tab.page.evaluate(() => (globalThis as unknown as { printed: string[] }).printed);
  expect([printed.length, printed[0], printed.at(-1)]).toEqual([300, expect.stringContaining("number 0 "), expect.stringContaining("number 299 ")]);
  // One below the other, on white.
  const tops = await tab.page.locator(".item").evaluateAll((items) => items.map((item) => item.getBoundingClientRect()).map(({ top, height }) => [Math.round(top), height]));
  for (const [place, [top]] of tops.entries()) if (place > 0) expect(top).toBeGreaterThanOrEqual((tops[place - 1]?.[0] ?? 0) + 20);
  expect(await tab.page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)).toBe("light");
  const pdf = (await tab.page.pdf()).toString("latin1");
  expect([...pdf.matchAll(/\/Type\s*\/Page\b/g)].length).toBeLessThan(40);
  await tab.page.emulateMedia({ media: null });
  await tab.page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await expect.poll(() => tab.page.locator(".item").count()).toBeLessThan(100);
  await tab.quiet();
});

test("a long message of one's own is folded, with its end a click away", async () => {
  const lines = Array.from({ length: 400 }, (_, place) => `line ${place}`).join("\n");
  const tab = await Tab.session(browser, server, await held(lines, "Read."));
  await tab.answer.getByText("Read.").waitFor();
  const bubble = tab.page.locator(".bubble");
  expect(await bubble.innerText()).not.toContain("line 399");
  await bubble.getByRole("button", { name: "Show all 400 lines" }).click();
  await bubble.getByText("line 399").waitFor();
  await bubble.getByRole("button", { name: "Show less" }).click();
  await expect.poll(() => bubble.innerText()).not.toContain("line 399");
  await tab.quiet();
});

test("code is shown letter by letter, and footnotes lead there and back", async () => {
  const tab = await Tab.session(browser, server, await held("proof", "It holds[^1], as `a != b` does.\n\n```js\na !== b\n```\n\n[^1]: See the book.\n"));
  const { answer } = tab;
  await answer.getByText("See the book.").waitFor();
  for (const code of ["p code", "pre code"]) expect(await answer.locator(code).first().evaluate((element) => getComputedStyle(element).fontVariantLigatures)).toBe("none");
  await answer.getByRole("button", { name: "1", exact: true }).click();
  expect(await tab.page.evaluate(() => document.activeElement?.textContent)).toContain("See the book.");
  await answer.getByRole("button", { name: "Back to reference 1" }).click();
  expect(await tab.page.evaluate(() => document.activeElement?.textContent)).toBe("1");
  await tab.accessible();
  await tab.quiet();
});

test("the way back to the end stands on no edge, wherever there is room for it", async () => {
  const tab = await Tab.session(browser, server, await held(...Array.from({ length: 60 }, (_, place) => `message number ${place} of them`)));
  await tab.page.getByText("message number 59 of them").waitFor();
  await tab.page.getByRole("region", { name: "Conversation" }).focus();
  await tab.page.keyboard.press("Home");
  const jump = tab.page.getByRole("button", { name: "Jump to latest" });
  const apart = async () => {
    const [button, column] = await Promise.all([jump.boundingBox(), tab.page.locator(".column").boundingBox()]);
    if (!button || !column) return "nowhere";
    if (button.x >= column.x + column.width - 24) return "beside";
    return Math.abs(button.x + button.width / 2 - (column.x + column.width / 2)) <= 1 ? "middle" : "on an edge";
  };
  await jump.waitFor();
  expect(await apart()).toBe(onPhone ? "middle" : "beside");
  if (!onPhone) {
    await tab.page.keyboard.press("Alt+i");
    await tab.page.getByRole("tabpanel").waitFor();
    await expect.poll(apart).toBe("middle");
    await tab.page.screenshot({ path: "test-results/jump-desk.png" });
  }
  await tab.quiet();
});
