//! Chatting: streaming, stopping, coming back, editing, approving.

import { writeFile } from "node:fs/promises";
import type { Browser, Locator } from "playwright-core";
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

const open = (path = "/") => Tab.open(browser, server, path);

test("an answer streams as Markdown, with tables, code, formulas and links", async () => {
  const tab = await open();
  await tab.ask("Please stream the tide table");
  const { answer } = tab;
  await answer.getByRole("heading", { name: "The tide table" }).waitFor();
  expect(await answer.locator("td").allTextContents()).toEqual(["06:12", "3.4 m", "12:30", "0.8 m"]);
  await answer.locator("math").waitFor();
  await answer.locator(".hl-string").waitFor();
  expect(await answer.getByRole("link", { name: "the book" }).getAttribute("rel")).toContain("noopener");
  await answer.getByRole("button", { name: "Copy code" }).click();
  expect(await tab.page.evaluate(() => navigator.clipboard.readText())).toBe("grep -c ',free$' berths.csv");
  expect(await tab.page.locator(".turn-facts").textContent()).toContain("1,200 in");
  await tab.quiet();
});

test("what a model writes is shown, and never run", async () => {
  const tab = await open();
  await tab.ask("Say <script>");
  expect(await tab.page.title()).not.toContain("owned");
  expect(await tab.answer.locator("script, img").count()).toBe(0);
  expect(await tab.answer.getByRole("link").allTextContents()).toEqual(["spy"]);
  await tab.quiet();
});

test("reasoning is folded", async () => {
  const tab = await open();
  await tab.ask("think about it");
  await tab.answer.getByText("Yes.").waitFor();
  expect(await tab.answer.getByText("The question is short").isVisible()).toBe(false);
  await tab.answer.getByText("Thought").click();
  await tab.answer.getByText("The question is short, so the answer is, too.").waitFor();
  await tab.quiet();
});

test("Esc stops an answer; what was said is kept, and the next turn works", async () => {
  const tab = await open();
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  await tab.page.keyboard.press("Escape");
  await tab.page.getByText("Stopped here.").waitFor();
  expect(await tab.page.locator(".answer .prose").last().textContent()).toMatch(/^1 2 3/);
  await tab.ask("hello");
  await tab.answer.getByText("Aye.").waitFor();
  await tab.quiet();
});

test("a page that is reloaded in the middle of an answer loses no character", async () => {
  const tab = await open();
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  await tab.page.reload();
  await tab.answer.getByText("done.").waitFor();
  await tab.idle();
  expect(await tab.answer.locator(".prose").textContent()).toBe(`${Array.from({ length: 30 }, (_, n) => n + 1).join(" ")} done.`);
  await tab.quiet();
});

test("two browsers on one session see the same stream", async () => {
  const id = await server.session("hello");
  const [first, second] = await Promise.all([Tab.session(browser, server, id), Tab.session(browser, server, id)]);
  await second.answer.getByText("Aye.").waitFor();
  await first.say("count slowly");
  await second.page.locator(".bubble", { hasText: "count slowly" }).waitFor();
  await second.answer.getByText("1 2 3").waitFor();
  expect(await first.stop.isVisible()).toBe(true);
  await second.stop.click();
  await Promise.all([first, second].map((tab) => tab.page.getByText("Stopped here.").waitFor()));
  await Promise.all([first.quiet(), second.quiet()]);
});

test("a message written while the agent works waits its turn, and can be taken back", async () => {
  const tab = await open();
  await tab.say("count slowly");
  await tab.stop.waitFor();
  await tab.say("hello");
  await tab.say("never mind ".repeat(40));
  await tab.page.getByRole("list", { name: "Waiting messages" }).getByText("never mind").waitFor();
  const takeBack = tab.page.getByRole("button", { name: "Do not send" }).last();
  const [field, button] = await Promise.all([tab.composer.boundingBox(), takeBack.boundingBox()]);
  expect((button?.x ?? 0) + (button?.width ?? 0)).toBeLessThanOrEqual((field?.x ?? 0) + (field?.width ?? 0));
  await takeBack.click();
  await tab.answer.getByText("Aye.").waitFor();
  await tab.idle();
  expect(await tab.page.locator(".bubble").allTextContents()).toEqual(["count slowly", "hello"]);
  await tab.quiet();
});

test("a tool call that needs a person waits, is allowed, and is remembered for the session", async () => {
  const tab = await open();
  await tab.say("run the check");
  const card = tab.page.locator(".approval");
  await card.waitFor();
  await card.getByLabel("For this session").check();
  await card.getByText("shell(./check.sh)").waitFor();
  await card.getByRole("button", { name: "Allow" }).click();
  await tab.answer.getByText("The check is done.").waitFor();
  await tab.page.getByRole("button", { name: /^shell/ }).click();
  await tab.page.getByText("all is well").waitFor();
  await tab.ask("run the check again");
  expect(await tab.page.locator(".approval").count()).toBe(0);
  await tab.quiet();
});

test("a refusal reaches the model, and a question survives a reload", async () => {
  const tab = await open();
  await tab.say("run the check");
  await tab.page.locator(".approval").waitFor();
  await tab.page.reload();
  const card = tab.page.locator(".approval");
  expect(await card.getByRole("textbox").count()).toBe(0);
  await card.getByRole("button", { name: "Say why not" }).click();
  await card.getByLabel("Why not").fill("not today");
  await tab.page.keyboard.press("Enter");
  await tab.answer.getByText("The check is done.").waitFor();
  await tab.page.getByRole("button", { name: /^shell/ }).click();
  await tab.page.getByText("not today").first().waitFor();
  // What was denied stays so, when the conversation goes on and when it is read again.
  const state = tab.page.locator(".tool .tool-state");
  await expect.poll(() => state.allTextContents()).toEqual(["denied"]);
  await tab.ask("hello");
  expect(await state.allTextContents()).toEqual(["denied"]);
  await tab.page.reload();
  await expect.poll(() => state.allTextContents()).toEqual(["denied"]);
  await tab.quiet();
});

test("a question of the agent is a form; an answer that is missing is asked for", async () => {
  const tab = await open();
  await tab.say("which unit is it?");
  const form = tab.page.getByRole("form", { name: "Which unit?" });
  await form.getByRole("button", { name: "Answer", exact: true }).click();
  await form.getByRole("alert").waitFor();
  await form.getByLabel("feet").check();
  await form.getByRole("button", { name: "Answer", exact: true }).click();
  await tab.answer.getByText(/You said:.*feet/).waitFor();
  await tab.quiet();
});

test("half an answer to a question is there after looking at something else", async () => {
  const messages = Array.from({ length: 200 }, (_, n) => ({ role: n % 2 ? "assistant" : "user", content: `Message ${n}`, metadata: {} }));
  const { session_id } = await server.api<{ session_id: string }>("/sessions/import", { session_id: "half-asked", messages, metadata: { agent_id: "mate" } });
  const tab = await Tab.session(browser, server, session_id);
  // The end of it is there first; what comes later would move the way up.
  await tab.page.locator('[aria-setsize="200"]').first().waitFor();
  await tab.say("which unit is it?");
  const form = tab.page.getByRole("form", { name: "Which unit?" });
  await form.getByLabel("feet").check();
  await tab.page.locator(".scroller").press("Home");
  const feed = tab.page.getByRole("feed");
  await feed.getByText("Message 0", { exact: true }).waitFor();
  await feed.getByText("Message 190", { exact: true }).waitFor({ state: "detached" });
  expect(await form.getByLabel("feet").isChecked()).toBe(true);
  await tab.page.getByRole("button", { name: "Jump to latest" }).click();
  await form.getByRole("button", { name: "Answer", exact: true }).click();
  await tab.answer.getByText(/You said:.*feet/).waitFor();
  await tab.quiet();
});

test("edits are shown as diffs, plans as lists", async () => {
  const tab = await open();
  await tab.ask("mend free.sh");
  await tab.page.getByText('+  [ "$state" = free ]').waitFor();
  await tab.page.getByRole("list", { name: "Plan" }).getByText("mend it").waitFor();
  await tab.answer.getByText("free.sh is mended.").waitFor();
  await tab.quiet();
});

test("a delegated agent works inside of the call", async () => {
  const tab = await open();
  await tab.ask("get a second pair of eyes");
  await tab.page.getByRole("button", { name: /reviewer/ }).first().click();
  await tab.page.locator(".delegated").getByText("It does what it says.").waitFor();
  await tab.quiet();
});

test("a failure says what happened, and another try works", async () => {
  const tab = await open();
  await tab.say("break once");
  const failure = tab.page.locator(".failure").filter({ has: tab.page.getByRole("alert"), hasText: "the model server is on fire" });
  await failure.waitFor();
  await tab.page.reload();
  await failure.getByRole("button", { name: "Try again" }).click();
  await tab.answer.getByText("It works now.").waitFor();
  expect(await tab.page.locator(".bubble").count()).toBe(1);
  await tab.quiet();
});

test("editing a message asks again in a branch, and branches can be walked", async () => {
  const tab = await open();
  await tab.ask("hello");
  await tab.page.locator(".bubble").click();
  await tab.page.getByRole("button", { name: "Edit and ask again" }).click();
  await tab.page.getByRole("textbox", { name: "Edit message" }).fill("think about it");
  if (onPhone) await tab.page.getByRole("button", { name: "Ask again" }).click();
  else await tab.page.keyboard.press("Enter");
  await tab.answer.getByText("Yes.").waitFor();
  await tab.page.getByText("2/2").waitFor();
  await tab.page.getByRole("button", { name: "Previous branch" }).click();
  await tab.answer.getByText("Aye.").waitFor();
  await tab.page.getByText("1/2").waitFor();
  await tab.quiet();
});

test("what was written instead of a message stays until it is sent", async () => {
  const tab = await Tab.session(browser, server, await server.session("hello"));
  await tab.page.locator(".bubble").click();
  await tab.page.getByRole("button", { name: "Edit and ask again" }).click();
  const field = tab.page.getByRole("textbox", { name: "Edit message" });
  await field.fill("think about it");
  const branches = (url: URL) => url.pathname.endsWith("/branches");
  await tab.page.route(branches, (route) => route.abort());
  if (onPhone) await tab.page.getByRole("button", { name: "Ask again" }).click();
  else await field.press("Enter");
  await tab.page.getByRole("alert").getByText("The server cannot be reached.").waitFor();
  expect(await field.inputValue()).toBe("think about it");
  await tab.page.unroute(branches);
  await tab.page.getByRole("button", { name: "Ask again" }).click();
  await tab.answer.getByText("Yes.").waitFor();
  await field.waitFor({ state: "detached" });
  await tab.quietButCutOff();
});

test("what was meant for one message does not happen to another that took its place", async () => {
  const id = await server.session("hello", "think about it", "stream the tide table");
  const tab = await Tab.session(browser, server, id);
  const changed = tab.page.getByText("The conversation changed meanwhile.");
  const bubble = (text: string) => tab.page.locator(".bubble", { hasText: text });
  const takeAwayFirst = () => server.api(`/sessions/${id}/slice`, { remove_indices: [0, 1] });
  const answer = tab.page.locator(".item", { hasText: "Aye." });
  await openMenu(answer);
  await tab.page.getByRole("menuitem", { name: "Delete message" }).click();
  await takeAwayFirst();
  await bubble("hello").waitFor({ state: "detached" });
  await tab.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await changed.waitFor();
  await tab.page.getByRole("button", { name: "Close note" }).click();
  await bubble("think about it").click();
  await tab.page.getByRole("button", { name: "Edit and ask again" }).first().click();
  await tab.page.getByRole("textbox", { name: "Edit message" }).fill("think twice");
  await takeAwayFirst();
  await expect.poll(() => tab.page.locator(".item").count()).toBe(2);
  await tab.page.getByRole("button", { name: "Ask again" }).click();
  await changed.waitFor();
  expect(await tab.page.getByRole("textbox", { name: "Edit message" }).inputValue()).toBe("think twice");
  expect(tab.sessionId).toBe(id);
  expect((await server.api<{ messages: { content: string }[] }>(`/sessions/${id}`)).messages[0]?.content).toBe("stream the tide table");
  await tab.quiet();
});

/** Opens the menu of a message. One that is tapped while its session is being read may be drawn anew, and has to be tapped again. */
async function openMenu(item: Locator): Promise<void> {
  const more = item.getByRole("button", { name: "More" });
  await expect
    .poll(async () => {
      await item.click();
      await more.click({ timeout: 2_000 }).catch(() => {});
      return more.getAttribute("aria-expanded");
    })
    .toBe("true");
}

/** What somebody else does, the first time only. */
function once(work: () => Promise<unknown>): () => Promise<unknown> {
  let done: Promise<unknown> | null = null;
  return () => (done ??= work());
}

test("messages with the same words are not taken for each other", async () => {
  const id = await server.session("hello", "hello", "hello");
  const tab = await Tab.session(browser, server, id);
  const changed = tab.page.getByText("The conversation changed meanwhile.");
  const count = async () => (await server.api<{ message_count: number }>(`/sessions/${id}`)).message_count;
  const ask = async (nth = 1) => {
    const answer = tab.page.locator(".item", { hasText: "Aye." }).nth(nth);
    await openMenu(answer);
    await tab.page.getByRole("menuitem", { name: "Delete message" }).click();
  };
  const confirm = () => tab.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await tab.answer.getByText("Aye.").waitFor();
  await ask();
  await server.api(`/sessions/${id}/slice`, { remove_indices: [0, 1] });
  await expect.poll(() => tab.page.locator(".item").count()).toBe(4);
  await confirm();
  await changed.waitFor();
  await tab.page.getByRole("button", { name: "Close note" }).click();
  expect(await count()).toBe(4);
  // The same if the page has not heard of it: the server knows.
  await ask();
  const others = once(() => server.api(`/sessions/${id}/messages`, { role: "user", content: "hello" }));
  await tab.page.route(`**/sessions/${id}/slice`, async (route) => {
    await others();
    await route.continue();
  });
  await confirm();
  await changed.waitFor();
  expect(await count()).toBe(5);
  await expect.poll(() => tab.page.locator(".item").count()).toBe(5);
  // A name moves nothing.
  await ask();
  await server.api(`/sessions/${id}`, { title: "Three times hello" }, "PATCH");
  await tab.page.getByRole("heading", { name: "Three times hello", level: 1, includeHidden: true }).waitFor();
  await confirm();
  await expect.poll(count).toBe(4);
  // Nor does one that the page has not heard of.
  await ask(0);
  const name = once(() => server.api(`/sessions/${id}`, { title: "Hello" }, "PATCH"));
  await tab.page.unroute(`**/sessions/${id}/slice`);
  await tab.page.route(`**/sessions/${id}/slice`, async (route) => {
    await name();
    await route.continue();
  });
  await confirm();
  await expect.poll(count).toBe(3);
  await tab.page.context().close();
  expect(tab.complaints.filter((complaint) => !complaint.includes("409"))).toEqual([]);
});

test("a try after a failure takes nothing away that it has not seen", async () => {
  const tab = await open();
  await tab.say("break often");
  const again = tab.page.locator(".failure").getByRole("button", { name: "Try again" });
  await again.waitFor();
  const path = `**/sessions/${tab.sessionId}/slice`;
  const others = once(() => server.api(`/sessions/${tab.sessionId}/messages`, { role: "user", content: "from elsewhere" }));
  await tab.page.route(path, async (route) => {
    await others();
    await route.continue();
  });
  await again.click();
  await tab.page.getByText("The conversation changed meanwhile.").waitFor();
  await tab.page.locator(".bubble", { hasText: "from elsewhere" }).waitFor();
  await tab.page.context().close();
  expect(tab.complaints.filter((complaint) => !complaint.includes("409"))).toEqual([]);
});

test("commands complete with the keyboard and answer in place of the model", async () => {
  const tab = await open();
  await tab.ask("hello");
  await tab.composer.pressSequentially("/titl");
  await tab.page.getByRole("option", { name: /\/title/ }).waitFor();
  await tab.page.keyboard.press("Tab");
  await expect.poll(() => tab.composer.inputValue()).toBe("/title ");
  await tab.composer.pressSequentially("Harbour");
  await tab.send();
  await tab.page.getByRole("heading", { name: "Harbour", level: 1 }).waitFor();
  await tab.idle();
  await tab.page.locator(".bubble", { hasText: "/title Harbour" }).waitFor();
  await tab.ask("think about it");
  await tab.answer.getByText("Yes.").waitFor();
  await tab.quiet();
});

test("what a command says stays, and the next message is answered", async () => {
  const tab = await open();
  const said = tab.page.locator(".answer[data-handled]");
  await tab.ask("/nonsense");
  await said.getByText("there is no command /nonsense").waitFor();
  await tab.ask("hello");
  await tab.answer.getByText("Aye.").waitFor();
  expect(await tab.page.locator(".bubble").allTextContents()).toEqual(["/nonsense", "hello"]);
  // A command that changes the messages shows what became of them.
  await tab.ask("/compact");
  await tab.ask("think about it");
  await tab.answer.getByText("Yes.").waitFor();
  await tab.page.locator(".bubble", { hasText: "/compact" }).waitFor();
  expect(await said.count()).toBe(2);
  await tab.say("/help");
  await said.last().getByText("Shows the commands there are").waitFor();
  await tab.idle();
  // It stays with its session while another is looked at.
  const id = tab.sessionId;
  await tab.page.keyboard.press("Control+Shift+O");
  await tab.page.getByRole("heading", { name: "What shall we work on?" }).waitFor();
  await tab.page.evaluate((id) => (location.hash = `#/s/${id}`), id);
  await said.last().getByText("Shows the commands there are").waitFor();
  await tab.quiet();
});

test("what a command of the user printed is shown once, with its lines", async () => {
  const tab = await open();
  await tab.ask("hello");
  const printed = tab.page.locator(".ran pre");
  for (const when of ["at once", "after a reload"]) {
    if (when === "at once") await tab.say("!printf 'one\\n  * two\\n\\nthree\\n'");
    else await tab.page.reload();
    await printed.waitFor();
    expect(await printed.textContent()).toBe("one\n  * two\n\nthree\n[exit code 0]");
    expect(await tab.page.locator(".answer[data-handled], .display").count()).toBe(0);
    expect(await tab.page.locator(".bubble").allTextContents()).toEqual(["hello", "!printf 'one\\n  * two\\n\\nthree\\n'"]);
  }
  await tab.fits();
  await tab.accessible();
  await tab.quiet();
});

test("what the action of a typed command shows is shown once, with its lines", async () => {
  const tab = await open();
  await tab.ask("hello");
  const answer = tab.page.locator(".answer[data-handled]");
  await tab.ask("/show_context");
  await answer.waitFor();
  const lines = (await answer.innerText()).split("\n").filter((line) => line.trim() !== "");
  expect(lines.length).toBeGreaterThan(1);
  expect(await tab.page.locator(".display").count()).toBe(0);
  await tab.quiet();
});

test("code is copied as the model wrote it, also beside formulas", async () => {
  const tab = await open();
  await tab.ask("show me brackets");
  await tab.answer.locator("math").last().waitFor();
  await tab.answer.getByRole("button", { name: "Copy code" }).click();
  expect(await tab.page.evaluate(() => navigator.clipboard.readText())).toBe("grep '\\(a\\|b\\)' f");
  await tab.quiet();
});

test("files are attached by picking and pasting, and go with the message", async () => {
  const tab = await open();
  const file = { name: "night.log", mimeType: "text/plain", buffer: Buffer.from("02:14 fog") };
  await tab.page.locator('.composer input[type="file"]').setInputFiles(file);
  const list = tab.page.getByRole("list", { name: "Attached files" });
  await list.getByText("9 B").waitFor();
  expect(await list.getByText("9 B").evaluate((size) => getComputedStyle(size).whiteSpace)).toBe("nowrap");
  await tab.page.locator('.composer input[type="file"]').setInputFiles({ name: "empty.txt", mimeType: "text/plain", buffer: Buffer.alloc(0) });
  await list.getByText("The file is empty.").waitFor();
  await tab.page.getByRole("button", { name: "Remove empty.txt" }).click();
  await tab.ask("what came with it?");
  await tab.answer.getByText(/Read:/).waitFor();
  await tab.page.locator(".bubble").getByText("night.log").waitFor();
  await tab.quiet();
});

test("a draft survives a reload", async () => {
  const tab = await open();
  await tab.composer.fill("half a thought");
  await tab.page.reload();
  await tab.composer.waitFor();
  expect(await tab.composer.inputValue()).toBe("half a thought");
  await tab.quiet();
});

/** Something that is dragged or pasted: files, or a text. */
function transfer(tab: Tab, content: { files?: { name: string; type: string; base64: string }[]; text?: string }) {
  return tab.page.evaluateHandle(({ files = [], text }) => {
    const data = new DataTransfer();
    for (const { name, type, base64 } of files) data.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name, { type }));
    if (text !== undefined) data.setData("text/plain", text);
    return data;
  }, content);
}

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("files that are dropped are attached, and the page says where to drop them", async () => {
  const tab = await open();
  const dataTransfer = await transfer(tab, { files: [{ name: "berths.txt", type: "text/plain", base64: btoa("A1,free") }] });
  const zone = tab.page.getByText("Drop files to attach them");
  await tab.page.dispatchEvent(".chat", "dragover", { dataTransfer });
  await zone.waitFor();
  // Whoever thinks better of it leaves for nothing, wherever that was.
  await tab.page.dispatchEvent("#composer", "dragleave", { dataTransfer });
  await zone.waitFor({ state: "detached" });
  await tab.page.dispatchEvent(".chat", "dragover", { dataTransfer });
  await zone.waitFor();
  await tab.page.dispatchEvent(".chat", "drop", { dataTransfer });
  await zone.waitFor({ state: "detached" });
  const list = tab.page.getByRole("list", { name: "Attached files" });
  await list.getByText("berths.txt").waitFor();
  await list.getByText("7 B").waitFor();
  await tab.ask("what came with it?");
  await tab.page.locator(".bubble").getByText("berths.txt").waitFor();
  await tab.quiet();
});

test("files that are dropped beside the conversation are attached, and never opened in place of the page", async () => {
  const tab = await Tab.session(browser, server, await server.session("hello"));
  await tab.answer.getByText("Aye.").waitFor();
  await tab.page.getByRole("button", { name: "Inspector" }).click();
  // What stands in its place while it is loaded goes, and takes what is dropped on it along.
  await tab.page.getByRole("tabpanel").waitFor();
  const dataTransfer = await transfer(tab, { files: [{ name: "berths.txt", type: "text/plain", base64: btoa("A1,free") }] });
  const zone = tab.page.getByText("Drop files to attach them");
  const names = tab.page.getByRole("list", { name: "Attached files" }).getByText("berths.txt");
  /** Whether the browser may do with it what it would. */
  const left = (selector: string, type: string) =>
    tab.page.locator(selector).first().evaluate((target, { type, dataTransfer }) => target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true })), { type, dataTransfer });
  const places = [".inspector", ".chat-header", ...(onPhone ? [] : [".session-list"])];
  for (const [place, selector] of places.entries()) {
    expect(await left(selector, "dragover")).toBe(false);
    await zone.waitFor();
    expect(await left(selector, "drop")).toBe(false);
    await zone.waitFor({ state: "detached" });
    await expect.poll(() => names.count()).toBe(place + 1);
  }
  // A dialog has no use for it, and is not left for it either.
  await tab.page.keyboard.press("Control+k");
  await tab.page.getByRole("dialog").waitFor();
  for (const selector of ["html", '[role="dialog"]']) {
    expect([await left(selector, "dragover"), await left(selector, "drop")]).toEqual([false, false]);
    expect(await zone.count()).toBe(0);
  }
  await tab.page.keyboard.press("Escape");
  await expect.poll(() => names.count()).toBe(places.length);
  await tab.quiet();
});

test("a text that is dropped into the message is the browser's to put there", async () => {
  const tab = await open();
  const dataTransfer = await transfer(tab, { text: "dragged words" });
  const left = await tab.composer.evaluate((box, dataTransfer) => box.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true })), dataTransfer);
  expect(left).toBe(true);
  await tab.quiet();
});

/** Pastes into the message, as a browser does. */
async function paste(tab: Tab, content: Parameters<typeof transfer>[1]): Promise<void> {
  const clipboardData = await transfer(tab, content);
  await tab.composer.evaluate((box, clipboardData) => {
    box.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, clipboardData);
}

test("a picture that is pasted has a preview, and a long text becomes a file", async () => {
  const tab = await open();
  await paste(tab, { files: [{ name: "image.png", type: "image/png", base64: PIXEL }] });
  const list = tab.page.getByRole("list", { name: "Attached files" });
  await list.locator("img[src^='blob:']").waitFor();
  await paste(tab, { text: "fog ".repeat(4_000) });
  await list.getByText("pasted.txt").waitFor();
  await list.getByText("16 KB").waitFor();
  expect(await tab.composer.inputValue()).toBe("");
  await tab.page.getByRole("button", { name: "Remove image.png" }).click();
  await tab.page.getByRole("button", { name: "Remove pasted.txt" }).click();
  await list.waitFor({ state: "detached" });
  await tab.quiet();
});

test("files of the project complete after @", async () => {
  const tab = await open();
  await tab.composer.pressSequentially("read @bert");
  const option = tab.page.getByRole("option", { name: /berths\.csv/ });
  await option.waitFor();
  await tab.accessible();
  await tab.page.keyboard.press("Escape");
  await option.waitFor({ state: "detached" });
  await tab.composer.pressSequentially("h");
  await option.waitFor();
  await tab.page.keyboard.press("ArrowDown");
  await tab.page.keyboard.press("ArrowUp");
  await tab.page.keyboard.press("Enter");
  await expect.poll(() => tab.composer.inputValue()).toContain("berths.csv");
  expect(await tab.composer.inputValue()).not.toMatch(/@berth$/);
  await tab.quiet();
});

test("another answer is a branch beside the first, and a branch can be left for the other", async () => {
  const tab = await open();
  await tab.ask("hello");
  const first = tab.sessionId;
  await tab.answer.getByRole("button", { name: "Another answer" }).click();
  await expect.poll(() => tab.sessionId).not.toBe(first);
  await tab.page.getByText("2/2").waitFor();
  expect(await tab.page.locator(".bubble").allTextContents()).toEqual(["hello"]);
  await tab.page.getByRole("button", { name: "Previous branch" }).click();
  await expect.poll(() => tab.sessionId).toBe(first);
  await tab.page.getByText("1/2").waitFor();
  await tab.page.getByRole("button", { name: "Next branch" }).click();
  await expect.poll(() => tab.sessionId).not.toBe(first);
  await tab.quiet();
});

test("what the last request cost, how long its tools took and how full the window is are there after a reload", async () => {
  const tab = await Tab.session(browser, server, await server.session("mend free.sh", "please stream the tide table"));
  const facts = tab.page.locator(".turn-facts");
  await facts.getByText("1,200 in · 80 out").waitFor();
  const gauge = tab.page.getByRole("meter", { name: "Context used" });
  expect(await gauge.getAttribute("aria-valuetext")).toBe("1,280 of 8,000 tokens of context");
  await tab.page.reload();
  await facts.getByText("1,200 in · 80 out").waitFor();
  expect(await gauge.getAttribute("aria-valuenow")).toBe("16");
  await tab.quiet();
});

test("a note of the system tells of a question while nobody looks, once that was asked for", async () => {
  const tab = await open();
  // Headless browsers have no notes of their own.
  await tab.page.evaluate(() => {
    const shown: string[] = [];
    const Note = function (title: string, { body }: { body: string }) {
      shown.push(`${title}: ${body}`);
    };
    Object.assign(Note, { permission: "granted", requestPermission: () => Promise.resolve("granted") });
    Object.assign(globalThis, { Notification: Note, shownNotes: shown });
  });
  const notes = () => tab.page.evaluate(() => (globalThis as unknown as { shownNotes: string[] }).shownNotes);
  const look = (state: "hidden" | "visible") => tab.page.evaluate((state) => Object.defineProperty(document, "visibilityState", { value: state, configurable: true }), state);
  await tab.page.keyboard.press("Control+.");
  const settings = tab.page.getByRole("dialog", { name: "Settings" });
  await settings.getByLabel(/Tell me when a long answer ends/).check();
  await tab.page.keyboard.press("Escape");
  await tab.ask("hello");
  expect(await notes()).toEqual([]);
  await look("hidden");
  await tab.say("run the check");
  await expect.poll(notes).toEqual([expect.stringMatching(/: Waits for your decision\.$/)]);
  await look("visible");
  await tab.page.locator(".approval").getByRole("button", { name: "Deny" }).click();
  await tab.answer.getByText("The check is done.").waitFor();
  await tab.quiet();
});

test("a tool that works says how far it is", async () => {
  const tab = await open();
  await tab.say("run the long check");
  await tab.page.locator(".approval").getByRole("button", { name: "Allow" }).click();
  const card = tab.page.locator('.tool[data-status="running"]');
  await card.getByLabel("Output so far").getByText("half way").waitFor();
  await writeFile(`${server.folder}/work/go`, "");
  await tab.answer.getByText("The check is done.").waitFor();
  await tab.page.getByRole("button", { name: /^shell/ }).click();
  await tab.page.getByText("all the way").waitFor();
  await tab.quiet();
});
