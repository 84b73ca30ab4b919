//! The events of everything: keeps the list of sessions true and finds requests that others began.

import { follow } from "../api/follow";
import { asProblem } from "../api/problem";
import { type Event, type JsonMap, endsRequest } from "../api/types";
import { afterEvent, titleOf } from "../sessions/list";
import { isBusy } from "./conversation";
import { type Told, note, worthANote } from "./notify";
import type { Page } from "./page";

/** A page that nobody looks at gives its connection back after this long; browsers have few. */
const IDLE_MS = 60_000;

export class Live {
  private stop: AbortController | null = null;
  private after: number | null = null;
  private idle: ReturnType<typeof setTimeout> | undefined;
  /** When the requests that run began. */
  private readonly began = new Map<string, number>();

  constructor(private readonly page: Page) {
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.idle);
      if (document.visibilityState !== "visible") this.idle = setTimeout(() => this.rest(), IDLE_MS);
      else if (page.store.get().access === "granted") this.connect();
    });
  }

  private rest(): void {
    const { running } = this.page.store.get();
    if (Object.keys(running).length > 0) {
      this.idle = setTimeout(() => this.rest(), IDLE_MS);
      return;
    }
    this.stop?.abort();
    this.stop = null;
  }

  /** Follows what happens, unless it does already. */
  connect(): void {
    if (this.stop) return;
    const stop = new AbortController();
    this.stop = stop;
    const again = this.after !== null;
    follow({
      client: this.page.api.client,
      path: (after) => this.page.api.eventsPath(after),
      after: this.after,
      once: false,
      onEvent: (event) => this.heard(event),
      onLink: (link) => {
        const before = this.page.store.get().link;
        this.page.store.patch({ link });
        // Something may have been missed that is not told again.
        if (link === "open" && before === "waiting") this.catchUp();
      },
      signal: stop.signal,
    }).catch((error: unknown) => {
      if (this.stop === stop) this.stop = null;
      const problem = asProblem(error);
      if (problem.unauthorized) this.page.store.patch({ access: "token-needed", accessProblem: "The server does not know this token any more." });
      else this.page.store.patch({ link: "waiting" });
    });
    if (again) this.catchUp();
  }

  private catchUp(): void {
    void this.page.sessions.refresh();
    const { conversation } = this.page.store.get();
    if (conversation && !isBusy(conversation)) void this.page.chat.reload();
  }

  private heard(event: Event): void {
    this.after = event.seq;
    this.note(event);
    this.page.chat.tries.heard(event);
    const { list, openId, conversation } = this.page.store.get();
    const sessions = afterEvent(list.sessions, event);
    if (sessions === null || list.search !== "" || event.type === "session_updated") this.page.sessions.refreshSoon();
    if (sessions !== null && list.search === "" && sessions !== list.sessions) this.page.store.patch({ list: { ...list, sessions } });
    if (!event.session_id || event.session_id !== openId || !conversation) return;
    const own = conversation.turn?.requestId === event.request_id;
    switch (event.type) {
      case "request_started":
        if (!own && event.request_id) {
          this.page.chat.join(event.request_id, event.message_index ?? null);
          void this.page.chat.reload();
        }
        break;
      case "session_updated":
      case "agent_switched":
        if (!isBusy(conversation)) void this.page.chat.reload();
        void this.page.actions.loadElements();
        break;
      case "session_deleted":
        this.page.go(null);
        break;
      case "action_result":
        if (!own) this.page.actions.ran(event, event.session_id);
        break;
      default:
        // What a plugin publishes may have something to show: how far it is, for instance.
        if ("display" in event) this.page.actions.came(event as unknown as JsonMap, event.session_id);
        break;
    }
  }

  /** Which sessions are at work, and which want somebody to look. */
  private note(event: Event): void {
    const id = event.session_id;
    if (!id || !event.request_id) return;
    const { running, attention, openId } = this.page.store.get();
    const looking = openId === id && document.visibilityState === "visible";
    if (event.type === "request_started") {
      this.began.set(event.request_id, Date.parse(event.at));
      this.page.store.patch({ running: { ...running, [id]: event.request_id } });
    }
    if (event.type === "approval_requested") this.notify("asking", id, event);
    if (event.type === "approval_requested" && !looking) this.page.store.patch({ attention: { ...attention, [id]: "asking" } });
    if (endsRequest(event) && running[id]) {
      const rest = Object.fromEntries(Object.entries(running).filter(([session]) => session !== id));
      const ended = event.type === "request_failed" ? ("failed" as const) : ("done" as const);
      if (event.type !== "request_cancelled") this.notify(ended, id, event);
      this.began.delete(event.request_id);
      this.page.store.patch({ running: rest, attention: looking ? attention : { ...attention, [id]: ended } });
    }
  }

  private notify(kind: Told["kind"], id: string, event: Event): void {
    const began = this.began.get(event.request_id ?? "");
    // One whose beginning was not heard ran before the page was loaded.
    const took = began === undefined ? Number.POSITIVE_INFINITY : Date.parse(event.at) - began;
    if (!worthANote({ kind, took, hidden: document.visibilityState === "hidden" })) return;
    const held = this.page.store.get().list.sessions.find((summary) => summary.session_id === id);
    note(kind, { id, title: titleOf(held ?? {}) }, () => this.page.go(id));
  }
}
