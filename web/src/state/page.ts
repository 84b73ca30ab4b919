//! The page as a program: one store, and what can be done with it. Components call these and hold no rules.

import { createContext, useContext } from "react";
import { Client } from "../api/client";
import { asProblem } from "../api/problem";
import { Api } from "../api/routes";
import type { Info, JsonMap, Summary } from "../api/types";
import { tabsOfBrowser } from "../api/tabs";
import { type AppState, type AppStore, type Attachment, type Toast, newStore } from "./app";
import { ActionRunner } from "../actions/run";
import { SessionCommands } from "../sessions/commands";
import { isPicture } from "../chat/attached";
import { forgetDrafts, openDrafts } from "../chat/drafts";
import { forgetFiles, keepFiles, keptFiles } from "../chat/keptFiles";
import { Chat } from "./chat";
import { newId } from "./ids";
import { Live } from "./live";
import { keepOutbox, keptOutbox } from "./outbox";
import { ownerOf } from "./owner";
import { useStore } from "./store";

export class Page {
  readonly store: AppStore = newStore();
  readonly api: Api;
  readonly tabs = tabsOfBrowser(newId());
  readonly chat: Chat;
  readonly sessions: SessionCommands;
  readonly actions: ActionRunner;
  private readonly live: Live;
  private lastToast = 0;

  constructor(client: Client) {
    this.api = new Api(client);
    this.chat = new Chat(this);
    this.sessions = new SessionCommands(this);
    this.actions = new ActionRunner(this);
    this.live = new Live(this);
    let { outbox, files } = this.store.get();
    this.store.subscribe(() => {
      const { outbox: now, files: attached, info } = this.store.get();
      if (!info) return;
      if (now !== outbox) keepOutbox(ownerOf(info.user), (outbox = now));
      if (attached !== files) {
        keepFiles(ownerOf(info.user), files, attached);
        files = attached;
      }
    });
    addEventListener("hashchange", () => {
      // What is read by a link has nothing in common with what is one's own.
      if (linkInAddress() !== this.store.get().shared) location.reload();
      else if (this.store.get().access === "granted" && !this.isShown(inAddress())) this.followAddress();
    });
  }

  /** Asks the server who it is; without access, the page asks for a token. */
  async start(): Promise<void> {
    const shared = linkInAddress();
    if (shared !== null) {
      this.store.patch({ shared });
      return;
    }
    try {
      const [info, agents] = await Promise.all([this.api.info(), this.api.agents()]);
      if (!this.welcome(info)) return;
      this.store.patch({ access: "granted", accessProblem: null, agents });
    } catch (error) {
      const problem = asProblem(error);
      if (problem.unauthorized) {
        const tried = this.api.client.hasToken;
        this.store.patch({ access: "token-needed", accessProblem: tried ? "The server does not know this token." : null });
      } else {
        this.store.patch({ accessProblem: problem.message });
        setTimeout(() => void this.start(), 2_000);
      }
      return;
    }
    this.live.connect();
    void this.sessions.refresh();
    this.followAddress();
    this.chat.deliverAll();
  }

  /** Takes up what its user left in this browser. If the page was somebody else's before, it begins anew, without anything of theirs. */
  private welcome(info: Info): boolean {
    const owner = ownerOf(info.user);
    const before = this.store.get().info;
    if (before && ownerOf(before.user) !== owner) {
      this.beginAnew();
      return false;
    }
    openDrafts(owner);
    this.store.patch({ info, ...(before ? {} : { outbox: keptOutbox(owner), files: keptFiles(owner) }) });
    if (!before) this.lookAfterFiles();
    return true;
  }

  /** Files that were attached before the page was loaded: pictures are shown again, and what the server has no more goes. */
  private lookAfterFiles(): void {
    for (const file of Object.values(this.store.get().files).flat()) {
      if (file.assetId !== null) void this.lookAfter(file, file.assetId);
    }
  }

  private async lookAfter({ id, name, mediaType }: Attachment, asset: string): Promise<void> {
    try {
      if (!isPicture(mediaType)) await this.api.findAsset(asset);
      else {
        const preview = URL.createObjectURL(await this.api.asset(asset));
        this.changeFile(id, (held) => [{ ...held, preview }]);
      }
    } catch (error) {
      if (asProblem(error).status !== 404) return;
      this.changeFile(id, () => []);
      this.toast(`“${name}” is not on the server any more. Attach it again.`);
    }
  }

  /** Changes a file of a message that is being written, in whichever session that is by now. */
  changeFile(id: string, edit: (held: Attachment) => Attachment[]): void {
    const changed = Object.entries(this.store.get().files).map(([session, files]) => [session, files.some((file) => file.id === id) ? files.flatMap((file) => (file.id === id ? edit(file) : [file])) : files] as const);
    this.store.patch({ files: Object.fromEntries(changed.filter(([, files]) => files.length > 0)) });
  }

  private beginAnew(): void {
    history.replaceState(null, "", "#/");
    location.reload();
  }

  /** The server does not let us in any more. */
  lockOut(): void {
    this.store.patch({ access: "token-needed", accessProblem: "The server does not know this token any more." });
  }

  /** Makes a session with the agent and the model that were chosen for it. */
  async newSession(): Promise<Summary & { metadata: JsonMap }> {
    const { newModel } = this.store.get();
    const session = await this.api.createSession(this.agentId());
    if (newModel === null) return { ...session, metadata: {} };
    const overrides = { model: newModel };
    await this.api.patchSession(session.session_id, { overrides });
    this.store.patch({ newModel: null });
    return { ...session, metadata: { overrides } };
  }

  async useToken(token: string): Promise<void> {
    this.api.client.setToken(token.trim() || null);
    await this.start();
  }

  /** Leaves nothing in this browser of whoever used it. */
  forgetUser(): void {
    this.api.client.setToken(null);
    forgetDrafts();
    this.store.patch({ outbox: {}, files: {} });
    const { info } = this.store.get();
    if (info) forgetFiles(ownerOf(info.user));
    this.beginAnew();
  }

  /** Shows what the address names. */
  followAddress(): void {
    const { id, index } = inAddress();
    this.store.patch({ place: index === null ? null : { index } });
    if (id !== this.store.get().openId || !this.store.get().conversation) void this.chat.open(id);
  }

  private isShown({ id, index }: Address): boolean {
    const { openId, place } = this.store.get();
    return id === openId && index === (place?.index ?? null);
  }

  /** Goes to a session, and to a message in it; `null` is a new one. */
  go(id: string | null, index: number | null = null): void {
    const hash = id === null ? "#/" : addressOf(id, index);
    if (location.hash !== hash && (id !== null || location.hash !== "")) location.hash = hash;
    // The browser tells of the change later; another key may be pressed before that.
    this.followAddress();
  }

  /** Tells something. It goes by itself, unless it is of a failure. */
  toast(text: string, tone: Toast["tone"] = "info", action?: Toast["action"], forMs = 6_000, onGone?: () => void): number {
    this.lastToast += 1;
    const id = this.lastToast;
    const { toasts } = this.store.get();
    for (const old of toasts.slice(0, -3)) this.closeToast(old.id);
    // The same failure twice is told once.
    const others = this.store.get().toasts.filter((toast) => toast.tone !== "error" || toast.text !== text);
    this.store.patch({ toasts: [...others, { id, tone, text, action, forMs: tone === "error" ? null : forMs, onGone }] });
    return id;
  }

  /** Takes a note away, because its action was wanted or because it was not. */
  closeToast(id: number, wanted = false): void {
    const { toasts } = this.store.get();
    const closed = toasts.find((toast) => toast.id === id);
    if (!closed) return;
    this.store.patch({ toasts: toasts.filter((toast) => toast.id !== id) });
    if (!wanted) closed.onGone?.();
  }

  /** Runs something that may fail, and tells how. */
  async attempt<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      const problem = asProblem(error);
      if (problem.unauthorized) this.lockOut();
      else if (problem.busy) this.toast("The agent is at work in this session. Try again once the answer is complete.", "error");
      else if (problem.errorType !== "cancelled") this.toast(problem.message, "error");
      return null;
    }
  }

  /** The agent of the session in view, or of the next one. */
  agentId(): string | null {
    const { conversation, newAgent, agents, openId } = this.store.get();
    const own = conversation?.metadata.agent_id;
    if (openId && typeof own === "string") return own;
    return newAgent ?? agents.find((agent) => agent.default)?.agent_id ?? agents[0]?.agent_id ?? null;
  }
}

/** The link by which a session is read, if the address is one. It stands where browsers tell no server of it. */
function linkInAddress(): string | null {
  return named(/^#\/shared\/(.+)$/);
}

interface Address {
  id: string | null;
  index: number | null;
}

/** Where a session is, or a message in it. */
export function addressOf(id: string, index: number | null): string {
  return `#/s/${encodeURIComponent(id)}${index === null ? "" : `@${index}`}`;
}

/** The session in the address, and the message, if they are named. */
function inAddress(): Address {
  const index = /^#\/s\/.+@(\d{1,9})$/.exec(location.hash)?.[1];
  return { id: named(/^#\/s\/(.+?)(?:@\d{1,9})?$/), index: index === undefined ? null : Number(index) };
}

/** What the address names. Somebody may have typed it: what cannot be decoded is taken as it is, and nothing will be found by it. */
function named(form: RegExp): string | null {
  const name = form.exec(location.hash)?.[1];
  if (!name) return null;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (!page) throw new Error("components stand inside of a PageContext");
  return page;
}

/** A part of what the page knows; `select` must not make a new object each time. */
export function useApp<S>(select: (state: AppState) => S): S {
  return useStore(usePage().store, select);
}
