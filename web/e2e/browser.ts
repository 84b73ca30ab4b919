//! A browser, and pages that remember every complaint: of scripts, of the console, of the page's policy.

import { AxeBuilder } from "./axe";
import { type Browser, type BrowserContextOptions, type Locator, type Page, chromium } from "playwright-core";
import { expect, onTestFailed } from "vitest";

/** Where the page is: a server, or the near end of a cable to one. */
interface Place {
  url: string;
}

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** With these a page that is served from a folder under another name than this machine's may ask a server of this machine. */
export const OTHER_NAME = ["--host-resolver-rules=MAP harbour.test 127.0.0.1", "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"];

export function launch(env: Record<string, string> = {}, more: string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: [...FLAGS, ...more], env: { ...process.env, ...env } });
}

export const DESKTOP = { width: 1280, height: 820 };
export const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true };

/** Whether this run of the tests is the one at the size of a phone. */
export const onPhone = process.env.ORLOP_SIZE === "phone";
const SIZE: BrowserContextOptions = onPhone ? PHONE : { viewport: DESKTOP };

export class Tab {
  readonly complaints: string[] = [];

  private constructor(
    readonly page: Page,
    server: Place,
  ) {
    page.on("pageerror", (error) => this.complaints.push(`error: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.complaints.push(`console: ${message.text()}`);
    });
    page.on("request", (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol.startsWith("http") && host !== new URL(server.url).host) this.complaints.push(`asked elsewhere: ${request.url()}`);
    });
  }

  static async open(browser: Browser, server: Place, path = "/", options: BrowserContextOptions = {}): Promise<Tab> {
    const context = await browser.newContext({ ...SIZE, permissions: ["clipboard-read", "clipboard-write"], ...options });
    return Tab.in(await context.newPage(), server, path);
  }

  static async in(page: Page, server: Place, path = "/"): Promise<Tab> {
    const tab = new Tab(page, server);
    await page.exposeFunction("policyReport", (report: string) => tab.complaints.push(`policy: ${report}`));
    await page.addInitScript(() => {
      // As newer browsers do, whatever this one does.
      const scroll = Element.prototype.scrollIntoView;
      Element.prototype.scrollIntoView = function (...how) {
        scroll.apply(this, how);
        return Promise.resolve() as unknown as undefined;
      };
      addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
        (globalThis as unknown as { policyReport: (report: string) => void }).policyReport(`${violatedDirective} ${blockedURI}`);
      });
    });
    if (process.env.ORLOP_PAGE) await serveFolder(page, server, process.env.ORLOP_PAGE);
    page.setDefaultTimeout(15_000);
    onTestFailed(() => tab.tell());
    await page.goto(server.url + path);
    await tab.composer.waitFor();
    return tab;
  }

  static session(browser: Browser, server: Place, id: string, options: BrowserContextOptions = {}): Promise<Tab> {
    return Tab.open(browser, server, `/#/s/${id}`, options);
  }

  get composer(): Locator {
    return this.page.getByRole("textbox", { name: "Message", exact: true });
  }

  get stop(): Locator {
    return this.page.getByRole("button", { name: "Stop (Esc)" });
  }

  /** The last thing the model said. */
  get answer(): Locator {
    return this.page.locator(".answer").last();
  }

  async say(text: string): Promise<void> {
    await this.composer.fill(text);
    await this.send();
  }

  /** Sends what is written, as one does here. */
  async send(): Promise<void> {
    const fingers = await this.page.evaluate(() => matchMedia("(pointer: coarse)").matches);
    if (fingers) await this.page.locator(".composer .send").tap();
    else await this.composer.press("Enter");
  }

  /** Says something and waits for the end of the answer. */
  async ask(text: string): Promise<void> {
    await this.say(text);
    await this.page.locator(".bubble", { hasText: text }).last().waitFor();
    await this.idle();
  }

  async idle(): Promise<void> {
    await this.page.locator('[role="feed"][aria-busy="false"]').waitFor({ timeout: 30_000 });
  }

  get sessionId(): string {
    return decodeURIComponent(/#\/s\/(.+?)(?:@\d+)?$/.exec(this.page.url())?.[1] ?? "");
  }

  /** Brings the list of sessions into view, which on a phone is out of the way until it is wanted. */
  async showSessions(): Promise<void> {
    if (onPhone && !(await this.page.locator(".sidebar").isVisible())) await this.page.getByRole("button", { name: "Show sessions" }).tap();
  }

  /** Puts the list out of the way again, where it covers the conversation. */
  async hideSessions(): Promise<void> {
    if (onPhone && (await this.page.locator(".sidebar").isVisible())) await this.page.locator(".sidebar-cover").click({ position: { x: 370, y: 400 } });
  }

  async menu(trigger: string | RegExp, item: string): Promise<void> {
    await this.page.getByRole("button", { name: trigger }).last().click();
    await this.page.getByRole("menuitem", { name: item }).click();
  }

  /** No violation of accessibility rules in what is shown now. */
  async accessible(rules: "all" | "colours" = "all"): Promise<void> {
    expect(await new AxeBuilder(this.page).violations(rules)).toEqual([]);
  }

  /** Nothing was complained about. Closes the tab. */
  async quiet(): Promise<void> {
    await this.page.context().close();
    expect(this.complaints).toEqual([]);
  }

  /** Nothing was complained about but the connection, which the browser does by itself. */
  async quietButCutOff(): Promise<void> {
    const lost = /^console: (Failed to load resource: net::ERR_|.* net::ERR_)/;
    await this.page.context().close();
    expect(this.complaints.filter((complaint) => !lost.test(complaint))).toEqual([]);
  }

  /** Nothing is wider than the view. */
  async fits(): Promise<void> {
    expect(await this.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  }

  /** Prints what was to be seen when a test failed, and what was complained about: the one look at it there is. */
  private async tell(): Promise<void> {
    if (this.page.isClosed()) return;
    const seen = await this.page.evaluate(() => ({ state: document.querySelector('[role="feed"]')?.getAttribute("aria-busy"), text: document.body.innerText })).catch(String);
    console.error("the page was", this.page.url(), seen, this.complaints);
  }

  /** The text that is focused, as a screen reader would name it. */
  get focused(): Promise<string> {
    return this.page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "");
  }
}

/** Serves the page from a folder, under the server's own policy: while one works on it, the program need not be built again. */
export async function serveFolder(page: Page, server: Place, folder: string): Promise<void> {
  const near = new URL(server.url);
  near.hostname = "127.0.0.1";
  const policy = (await fetch(near)).headers.get("content-security-policy") ?? "";
  const isPage = (url: URL) => url.origin === server.url && (url.pathname === "/" || url.pathname.startsWith("/assets/"));
  await page.route(isPage, async (route) => {
    const { pathname } = new URL(route.request().url());
    const path = pathname === "/" ? "index.html" : pathname.slice(1);
    await route.fulfill({ path: `${folder}/${path}`, headers: { "content-type": mediaType(path), "content-security-policy": policy } });
  });
}

function mediaType(path: string): string {
  const types: Record<string, string> = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
  return types[path.split(".").at(-1) ?? ""] ?? "application/octet-stream";
}
