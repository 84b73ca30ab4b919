//! Files of messages: they go with theirs or it waits, stay over a reload, and are looked at and saved.

import { readFile } from "node:fs/promises";
import type { Browser, Route } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Tab, launch } from "./browser";
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

const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const LOG = { name: "night.log", mimeType: "text/plain", buffer: Buffer.from("02:14 fog") };
const DOT = { name: "dot.png", mimeType: "image/png", buffer: PIXEL };
const PAGE = { name: "page.html", mimeType: "text/html", buffer: Buffer.from("<script>document.title = 'owned'</script>") };

const attach = (tab: Tab, ...files: (typeof LOG)[]) => tab.page.locator('.composer input[type="file"]').setInputFiles(files);
const chips = (tab: Tab) => tab.page.getByRole("list", { name: "Attached files" });
const uploads = (url: URL) => url.pathname.endsWith("/assets");

/** The names of the files of each message of the user. */
async function sent(id: string): Promise<(string[] | undefined)[]> {
  const { messages } = await server.api<{ messages: { role: string; metadata: { attachments?: { name: string }[] } }[] }>(`/sessions/${id}`);
  return messages.filter(({ role }) => role === "user").map(({ metadata }) => metadata.attachments?.map(({ name }) => name));
}

test("a message whose file is on its way goes once the file is there", async () => {
  const tab = await Tab.open(browser, server);
  let go: Route | null = null;
  await tab.page.route(uploads, (route) => void (go = route));
  await attach(tab, LOG);
  await chips(tab).getByText("uploading").waitFor();
  await tab.say("what came with it?");
  await tab.page.getByText("It is sent once its files are uploaded.").waitFor();
  expect(await tab.composer.inputValue()).toBe("what came with it?");
  await tab.accessible();
  await expect.poll(() => go).not.toBe(null);
  await (go as unknown as Route).continue();
  await tab.answer.getByText(/Read:/).waitFor();
  expect(await sent(tab.sessionId)).toEqual([["night.log"]]);
  expect(await tab.composer.inputValue()).toBe("");
  // Whoever writes on has not made up their mind.
  await attach(tab, LOG);
  await chips(tab).getByText("uploading").waitFor();
  await tab.say("first");
  await tab.composer.fill("second");
  await (go as unknown as Route).continue();
  await chips(tab).getByText("9 B").waitFor();
  expect(await tab.composer.inputValue()).toBe("second");
  expect((await sent(tab.sessionId)).length).toBe(1);
  await tab.quiet();
});

test("a message does not go without a file that failed, and says so", async () => {
  const tab = await Tab.open(browser, server);
  // Who sends nothing does not mean what comes later.
  await tab.composer.press("Enter");
  await attach(tab, LOG);
  await chips(tab).getByText("9 B").waitFor();
  await tab.page.getByRole("button", { name: "Remove night.log" }).click();
  await attach(tab, { name: "empty.txt", mimeType: "text/plain", buffer: Buffer.alloc(0) });
  await chips(tab).getByText("The file is empty.").waitFor();
  await tab.say("hello");
  await tab.page.getByRole("alert").getByText("Not sent: “empty.txt” could not be attached. Remove it to send the message without it.").waitFor();
  expect(await tab.composer.inputValue()).toBe("hello");
  await tab.accessible();
  // To take it away is not yet to send.
  await tab.page.getByRole("button", { name: "Remove empty.txt" }).click();
  await tab.page.getByText("Not sent:").waitFor({ state: "detached" });
  expect(await tab.composer.inputValue()).toBe("hello");
  await tab.composer.press("Enter");
  await tab.answer.getByText("Aye.").waitFor();
  expect(await sent(tab.sessionId)).toEqual([undefined]);
  await tab.quiet();
});

test("files that were attached are there after a reload, as long as the server has them", async () => {
  const tab = await Tab.open(browser, server);
  const made: string[] = [];
  tab.page.on("response", async (response) => uploads(new URL(response.url())) && made.push(((await response.json()) as { id: string }).id));
  await tab.composer.fill("half a thought");
  await attach(tab, LOG);
  await chips(tab).getByText("9 B").waitFor();
  await attach(tab, DOT);
  await chips(tab).getByText("70 B").waitFor();
  await tab.page.reload();
  await chips(tab).getByText("night.log").waitFor();
  await chips(tab).locator("img").waitFor();
  expect(await tab.composer.inputValue()).toBe("half a thought");
  // Somebody else's page has them not.
  await server.api(`/assets/${made[0]}`, undefined, "DELETE");
  await tab.page.reload();
  await tab.page.getByText("“night.log” is not on the server any more. Attach it again.").waitFor();
  await expect.poll(() => chips(tab).getByRole("listitem").count()).toBe(1);
  await tab.composer.press("Enter");
  await tab.answer.waitFor();
  expect(await sent(tab.sessionId)).toEqual([["dot.png"]]);
  await tab.page.reload();
  await tab.answer.waitFor();
  expect(await chips(tab).count()).toBe(0);
  await tab.page.context().close();
  expect(tab.complaints.filter((complaint) => !complaint.includes("404"))).toEqual([]);
});

test("pictures are enlarged, files are saved as they are, and nothing of them is opened", async () => {
  const tab = await Tab.open(browser, server, "/", { colorScheme: "dark" });
  await attach(tab, LOG, DOT, PAGE);
  await expect.poll(() => chips(tab).locator('[data-phase="ready"]').count()).toBe(3);
  await tab.ask("what came with it?");
  const bubble = tab.page.locator(".bubble");
  const saved = async (click: () => Promise<void>) => {
    const downloading = tab.page.waitForEvent("download");
    await click();
    const download = await downloading;
    return [download.suggestedFilename(), (await readFile(await download.path())).toString("base64")];
  };
  expect(await saved(() => bubble.getByRole("button", { name: /night\.log/ }).click())).toEqual(["night.log", LOG.buffer.toString("base64")]);
  expect(await saved(() => bubble.getByRole("button", { name: /page\.html/ }).click())).toEqual(["page.html", PAGE.buffer.toString("base64")]);
  await bubble.getByRole("button", { name: "Enlarge dot.png" }).click();
  const dialog = tab.page.getByRole("dialog", { name: "dot.png" });
  await dialog.getByRole("img", { name: "dot.png" }).waitFor();
  await tab.accessible();
  await tab.page.screenshot({ path: "test-results/picture-dark.png" });
  expect(await saved(() => dialog.getByRole("button", { name: "Save" }).click())).toEqual(["dot.png", PIXEL.toString("base64")]);
  await tab.page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect([tab.page.context().pages().length, await tab.page.title()]).toEqual([1, expect.not.stringContaining("owned")]);
  await tab.accessible();
  await tab.page.screenshot({ path: "test-results/files-dark.png" });
  await tab.quiet();
});
