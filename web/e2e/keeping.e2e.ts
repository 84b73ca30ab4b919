//! Nothing that was written is lost: not to another session, a reload, a lost connection or a stopped answer. Nor are files.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Tab, launch } from "./browser";
import { Cable } from "./cable";
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

const bubbles = (tab: Tab) => tab.page.locator(".bubble").allTextContents();
const waiting = (tab: Tab) => tab.page.getByRole("list", { name: "Waiting messages" });
const goTo = (tab: Tab, id: string) => tab.page.evaluate((id) => (location.hash = `#/s/${id}`), id);

/** What users said in a session, as it is stored. */
async function stored(id: string): Promise<string[]> {
  const { messages } = await server.api<{ messages: { role: string; content: string }[] }>(`/sessions/${id}`);
  return messages.filter((message) => message.role === "user").map((message) => message.content);
}

async function newSession(tab: Tab): Promise<void> {
  await tab.page.keyboard.press("Control+Shift+O");
  await tab.page.getByRole("heading", { name: "What shall we work on?" }).waitFor();
}

test("what waits in a session is sent when its answer is done, also while another session is looked at", async () => {
  const tab = await Tab.open(browser, server);
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  await tab.say("hello");
  await waiting(tab).getByText("hello").waitFor();
  const id = tab.sessionId;
  await newSession(tab);
  expect(await waiting(tab).count()).toBe(0);
  await expect.poll(() => stored(id), { timeout: 20_000 }).toEqual(["count slowly", "hello"]);
  await goTo(tab, id);
  await tab.answer.getByText("Aye.").waitFor();
  await expect.poll(() => bubbles(tab)).toEqual(["count slowly", "hello"]);
  await tab.quiet();
});

test("what waits survives a reload", async () => {
  const tab = await Tab.open(browser, server);
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  await tab.say("hello");
  await waiting(tab).getByText("hello").waitFor();
  await tab.page.reload();
  await tab.answer.getByText("Aye.").waitFor({ timeout: 20_000 });
  await tab.idle();
  expect(await bubbles(tab)).toEqual(["count slowly", "hello"]);
  expect(await stored(tab.sessionId)).toEqual(["count slowly", "hello"]);
  await tab.quiet();
});

test("after an answer was stopped, what waits is sent when the user says so, and before what is written later", async () => {
  const tab = await Tab.open(browser, server);
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  await tab.say("hello");
  await waiting(tab).getByText("hello").waitFor();
  await tab.page.keyboard.press("Escape");
  await tab.page.getByText("Not sent. The answer was stopped.").waitFor();
  await tab.accessible();
  await tab.say("think about it");
  await tab.answer.getByText("Yes.").waitFor();
  await tab.idle();
  expect(await bubbles(tab)).toEqual(["count slowly", "hello", "think about it"]);
  await tab.say("count slowly");
  await tab.answer.getByText("1 2 3").waitFor();
  await tab.say("hello again");
  await waiting(tab).getByText("hello again").waitFor();
  await tab.page.keyboard.press("Escape");
  await tab.page.getByRole("button", { name: "Send now" }).click();
  await tab.answer.getByText("Aye.").waitFor();
  expect((await bubbles(tab)).at(-1)).toBe("hello again");
  await tab.quiet();
});

test("what is sent while the network is gone arrives once, whatever is looked at meanwhile", async () => {
  const cable = await Cable.to(server.port);
  const id = await server.session("hello");
  const tab = await Tab.session(browser, cable, id);
  await tab.answer.getByText("Aye.").waitFor();
  cable.cut();
  await tab.say("think about it");
  await tab.page.locator(".user-message[data-pending]").waitFor();
  await newSession(tab);
  cable.mend();
  await expect.poll(() => stored(id), { timeout: 30_000 }).toEqual(["hello", "think about it"]);
  await goTo(tab, id);
  await tab.answer.getByText("Yes.").waitFor();
  await expect.poll(() => bubbles(tab)).toEqual(["hello", "think about it"]);
  await tab.quietButCutOff();
});

test("an answer that ends while its session is being read is shown", async () => {
  const id = await server.session("hello");
  const tab = await Tab.open(browser, server);
  let reads = 0;
  // The session as it was just before the end, and the request as it was just after.
  await tab.page.route(
    (url) => url.pathname === `/api/v1/sessions/${id}`,
    async (route) => {
      const response = await route.fetch();
      const session = (await response.json()) as { messages: unknown[] };
      reads += 1;
      await route.fulfill({ response, json: reads === 1 ? { ...session, messages: session.messages.slice(0, -1) } : session });
    },
  );
  await goTo(tab, id);
  await tab.answer.getByText("Aye.").waitFor();
  // Something else may have changed the session, too: it gets its name about now.
  expect(reads).toBeGreaterThanOrEqual(2);
  await tab.quiet();
});

test("the first message of a session that cannot be made is kept", async () => {
  const tab = await Tab.open(browser, server);
  const refuse = (url: URL) => url.pathname === "/api/v1/sessions";
  await tab.page.route(refuse, (route) => (route.request().method() === "POST" ? route.abort() : route.fallback()));
  await tab.say("hello");
  await tab.page.getByText("Not sent. The session could not be made.").waitFor();
  await tab.page.unroute(refuse);
  await tab.page.getByRole("button", { name: "Send now" }).click();
  await tab.answer.getByText("Aye.").waitFor();
  expect(await bubbles(tab)).toEqual(["hello"]);
  await tab.quietButCutOff();
});

/** Keeps calls of the API from the server until they are let go; counts them. */
async function keepFrom(tab: Tab, path: RegExp): Promise<{ calls: number; letGo: () => void }> {
  const gate = { calls: 0, letGo: () => undefined as void };
  const open = new Promise<void>((done) => (gate.letGo = done));
  await tab.page.route(
    (url) => path.test(url.pathname),
    async (route) => {
      if (route.request().method() !== "POST") return route.fallback();
      gate.calls += 1;
      await open;
      await route.continue();
    },
  );
  return gate;
}

test("another try goes to its own session, once, whatever is looked at meanwhile", async () => {
  const [one, two] = [await server.session(), await server.session("hello")];
  const tab = await Tab.session(browser, server, one);
  await tab.say("break often");
  const again = tab.page.getByRole("button", { name: "Try again" });
  const slice = await keepFrom(tab, /\/slice$/);
  await again.dblclick();
  await goTo(tab, two);
  await tab.answer.getByText("Aye.").waitFor();
  slice.letGo();
  const requests = async () => (await server.api<{ items: unknown[] }>(`/sessions/${one}/requests`)).items.length;
  await expect.poll(requests).toBe(2);
  expect([slice.calls, await stored(one), await stored(two)]).toEqual([1, ["break often"], ["hello"]]);
  await tab.quiet();
});

test("another answer is asked for once, and takes nobody back who went elsewhere", async () => {
  const [one, two] = [await server.session("hello"), await server.session("think about it")];
  const tab = await Tab.session(browser, server, one);
  const branches = await keepFrom(tab, /\/branches$/);
  await tab.answer.getByRole("button", { name: "Another answer" }).dblclick();
  await goTo(tab, two);
  await tab.answer.getByText("Yes.").waitFor();
  branches.letGo();
  const tries = async () => (await server.api<{ sessions: { session_id: string }[] }>(`/sessions/${one}/branches?index=0`)).sessions.map((summary) => summary.session_id);
  await expect.poll(async () => Promise.all((await tries()).map(stored))).toEqual([["hello"], ["hello"]]);
  expect([branches.calls, tab.sessionId, await stored(two)]).toEqual([1, two, ["think about it"]]);
  await tab.quiet();
});

for (const where of ["a session", "a new session"]) {
  test(`what is stopped right after it was sent is shown as stopped, in ${where}`, async () => {
    const tab = where === "a session" ? await Tab.session(browser, server, await server.session("hello")) : await Tab.open(browser, server);
    const sending = await keepFrom(tab, where === "a session" ? /\/requests$/ : /\/sessions$/);
    await tab.say("take your time");
    await tab.stop.waitFor();
    await tab.page.keyboard.press("Escape");
    sending.letGo();
    await tab.page.locator(".note").getByText("Stopped.", { exact: true }).waitFor();
    expect(await server.ended(tab.sessionId)).toBe("cancelled");
    expect([(await bubbles(tab)).at(-1), (await stored(tab.sessionId)).at(-1), await waiting(tab).count()]).toEqual(["take your time", "take your time", 0]);
    await tab.quiet();
  });
}

test("what is stopped while the network is gone is kept back, and is sent when the user says so", async () => {
  const cable = await Cable.to(server.port);
  const tab = await Tab.session(browser, cable, await server.session("hello"));
  await tab.answer.getByText("Aye.").waitFor();
  cable.cut();
  await tab.say("think about it");
  await tab.page.locator(".user-message[data-pending]").waitFor();
  await tab.page.keyboard.press("Escape");
  await tab.page.getByText("Not sent. It was stopped before it was sent.").waitFor();
  cable.mend();
  await tab.page.getByRole("button", { name: "Send now" }).click();
  await tab.answer.getByText("Yes.").waitFor({ timeout: 30_000 });
  expect(await stored(tab.sessionId)).toEqual(["hello", "think about it"]);
  await tab.quietButCutOff();
});

test("a message that was stopped and had arrived all the same does not wait, and is stopped", async () => {
  const id = await server.session("hello");
  const tab = await Tab.session(browser, server, id);
  await tab.answer.getByText("Aye.").waitFor();
  // The message arrives once it was stopped, and the connection is lost before the server can say so.
  let arrive = () => undefined as void;
  const stopped = new Promise<void>((done) => (arrive = done));
  await tab.page.route(
    (url) => url.pathname.endsWith("/requests"),
    async (route) => {
      if (route.request().method() !== "POST") return route.fallback();
      await stopped;
      await route.abort();
      const request = { ...(route.request().postDataJSON() as object), stream: false };
      await server.api(`/sessions/${id}/requests`, request).catch(() => "stopped");
    },
  );
  await tab.say("take your time");
  await tab.stop.waitFor();
  await tab.page.keyboard.press("Escape");
  arrive();
  await tab.page.locator(".note").getByText("Stopped.", { exact: true }).waitFor();
  expect(await server.ended(id)).toBe("cancelled");
  expect([await waiting(tab).count(), await stored(id)]).toEqual([0, ["hello", "take your time"]]);
  await tab.quietButCutOff();
});

const PIXEL = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const LOG = { name: "night.log", mimeType: "text/plain", buffer: Buffer.from("02:14 fog") };
const DOT = { name: "dot.png", mimeType: "image/png", buffer: PIXEL };

test("files stay with their message: after a reload, in another browser, and when it is asked again", async () => {
  const tab = await Tab.open(browser, server);
  await tab.page.locator('.composer input[type="file"]').setInputFiles([LOG, DOT]);
  const list = tab.page.getByRole("list", { name: "Attached files" });
  await list.getByText("9 B").waitFor();
  await list.getByText("70 B").waitFor();
  await tab.ask("what came with it?");
  const complete = async (shown: Tab) => {
    const bubble = shown.page.locator(".bubble");
    await bubble.getByText("night.log").waitFor();
    await bubble.getByText("9 B").waitFor();
    expect(await bubble.getByRole("img", { name: "dot.png" }).evaluate((picture: HTMLImageElement) => picture.decode().then(() => picture.naturalWidth))).toBe(1);
    expect(await bubble.count()).toBe(1);
  };
  await complete(tab);
  await tab.page.reload();
  await complete(tab);
  const other = await Tab.session(browser, server, tab.sessionId);
  await complete(other);
  const first = tab.sessionId;
  await tab.answer.getByRole("button", { name: "Another answer" }).click();
  await expect.poll(() => tab.sessionId).not.toBe(first);
  await tab.answer.getByText(/Read:/).waitFor();
  await complete(tab);
  await Promise.all([tab.quiet(), other.quiet()]);
});

test("a try after a failure takes the files along", async () => {
  const tab = await Tab.open(browser, server);
  await tab.page.locator('.composer input[type="file"]').setInputFiles(LOG);
  await tab.page.getByRole("list", { name: "Attached files" }).getByText("9 B").waitFor();
  await tab.say("break once");
  await tab.page.locator(".failure").getByRole("button", { name: "Try again" }).click();
  await tab.answer.getByText("It works now.").waitFor();
  await tab.page.locator(".bubble").getByText("night.log").waitFor();
  const { messages } = await server.api<{ messages: { metadata: { attachments?: { name: string }[] } }[] }>(`/sessions/${tab.sessionId}`);
  expect(messages.map((message) => message.metadata.attachments?.map((file) => file.name))).toEqual([["night.log"], undefined]);
  await tab.quiet();
});

test("files that are about to be sent belong to the session in which they were picked", async () => {
  const [one, two] = [await server.session("hello"), await server.session("hello")];
  const tab = await Tab.session(browser, server, one);
  const list = tab.page.getByRole("list", { name: "Attached files" });
  await tab.page.locator('.composer input[type="file"]').setInputFiles(LOG);
  await list.getByText("night.log").waitFor();
  await goTo(tab, two);
  await list.waitFor({ state: "detached" });
  await goTo(tab, one);
  await list.getByText("night.log").waitFor();
  await tab.quiet();
});

test("a part of the page that cannot be loaded says so, takes nothing else with it, and can be tried again", async () => {
  const tab = await Tab.session(browser, server, await server.session("hello"));
  await tab.answer.getByText("Aye.").waitFor();
  const gone = (url: URL) => /\/assets\/(Inspector|SettingsDialog)-/.test(url.pathname);
  await tab.page.route(gone, (route) => route.abort("internetdisconnected"));
  // What was fetched ahead is gone with the page.
  await tab.page.reload();
  await tab.answer.getByText("Aye.").waitFor();
  await tab.page.getByRole("button", { name: "Inspector" }).click();
  const inspector = tab.page.getByRole("complementary", { name: "Inspector" });
  await inspector.getByText("This part of the page could not be loaded.").waitFor();
  await tab.accessible();
  await tab.page.keyboard.press("Control+.");
  const dialog = tab.page.getByRole("dialog", { name: "Not loaded" });
  await dialog.waitFor();
  await tab.page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await tab.ask("think about it");
  await tab.answer.getByText("Yes.").waitFor();
  await tab.page.unroute(gone);
  await inspector.getByRole("button", { name: "Try again" }).click();
  await inspector.getByRole("tab").first().waitFor();
  await tab.page.keyboard.press("Control+.");
  await tab.page.getByRole("dialog", { name: "Settings" }).waitFor();
  await tab.page.context().close();
  // React tells the console of what it caught.
  expect(tab.complaints.filter((complaint) => !/net::ERR_|dynamically imported module/.test(complaint))).toEqual([]);
});
