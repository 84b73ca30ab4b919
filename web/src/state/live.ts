//! The events of everything: keeps the list of sessions true and finds requests that others began.

import { follow } from "../api/follow";
import { asProblem } from "../api/problem";
import { watchUse } from "../api/tabs";
import { type Event, type JsonMap, endsRequest } from "../api/types";
import { afterEvent, titleOf } from "../sessions/list";
import type { AppState } from "./app";
import { isBusy } from "./conversation";
import { type Told, note, worthANote } from "./notify";
import { ownerOf } from "./owner";
import type { Page } from "./page";

/** A page that nobody looks at gives its connection back after this long; browsers have few. */
const IDLE_MS = 60_000;

/** So long after a server said no it is asked again: it may have been something between that said it. */
const REFUSED_MS = 10_000;

export class Live {
  private stop: AbortController | null = null;
  private after: number | null = null;
  private joined = false;
  private connectedBefore = false;
  private idle: ReturnType<typeof setTimeout> | undefined;
  /** When the requests that run began. */
  private readonly began = new Map<string, number>();
  /** The questions of sessions that nobody has answered yet. */
  private readonly questions = new Map<string, Set<string>>();

  constructor(private readonly page: Page) {
    page.tabs.onEvent = (event) => this.heard(event);
    page.tabs.onTurn(() => this.takeTurn());
    document.addEventListener("visibilitychange", () => {
      clearTimeout(this.idle);
      if (document.visibilityState !== "visible") this.idle = setTimeout(() => this.rest(), IDLE_MS);
      else if (page.store.get().access === "granted") this.connect();
    });
  }

  /** Other tabs stream in place of this one, or do not any more. */
  private takeTurn(): void {
    if (!this.joined) return;
    if (this.page.tabs.mayStream()) this.connect();
    else this.disconnect();
  }

  private rest(): void {
    const { running } = this.page.store.get();
    if (Object.keys(running).length > 0) {
      this.idle = setTimeout(() => this.rest(), IDLE_MS);
      return;
    }
    this.page.tabs.leave();
    this.disconnect();
  }

  private disconnect(): void {
    this.stop?.abort();
    this.stop = null;
  }

  /** Follows what happens, unless it does already, or another tab does. */
  connect(): void {
    const { info } = this.page.store.get();
    if (!this.joined && info) {
      this.joined = true;
      watchUse(this.page.tabs);
      this.page.tabs.join(ownerOf(info.user));
    }
    if (this.stop || !this.page.tabs.mayStream()) return;
    const stop = new AbortController();
    this.stop = stop;
    const again = this.connectedBefore;
    this.connectedBefore = true;
    follow({
      client: this.page.api.client,
      path: (after) => this.page.api.eventsPath(after),
      after: this.after,
      once: false,
      onEvent: (event) => {
        this.page.tabs.share(event);
        this.heard(event);
      },
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
      if (problem.unauthorized) {
        this.page.lockOut();
        return;
      }
      this.page.store.patch({ link: "waiting" });
      setTimeout(() => this.page.store.get().access === "granted" && this.connect(), REFUSED_MS);
    });
    if (again) this.catchUp();
  }

  private catchUp(): void {
    void this.page.sessions.refresh();
    const { conversation, returns } = this.page.store.get();
    this.page.store.patch({ returns: returns + 1 });
    if (conversation && !isBusy(conversation)) void this.page.chat.reload();
  }

  private heard(event: Event): void {
    // Several tabs may tell of it.
    if (this.after !== null && event.seq <= this.after) return;
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
        this.page.chat.changed();
        void this.page.actions.loadElements();
        break;
      case "session_deleted":
        this.page.go(null);
        this.page.toast("The session you looked at was deleted.");
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
    const { session_id: id, request_id: request } = event;
    if (id && event.type === "session_deleted") this.forget(id);
    if (!id || !request) return;
    this.page.chat.reached(id, request);
    if (event.type === "approval_requested" || event.type === "approval_resolved") this.noteQuestion(id, event);
    if (!isTask(event)) this.noteWork(id, request, event);
    if (!endsRequest(event)) return;
    this.page.chat.ended(id, event);
    this.page.sessions.ended(id);
  }

  private noteWork(id: string, request: string, event: Event): void {
    const { running, attention, openId } = this.page.store.get();
    if (event.type === "request_started") {
      this.began.set(request, Date.parse(event.at));
      this.page.store.patch({ running: { ...running, [id]: request } });
    }
    if (!endsRequest(event)) return;
    this.questions.delete(id);
    const { [id]: ran, ...others } = running;
    const looking = openId === id && document.visibilityState === "visible";
    const ended = event.type === "request_failed" ? ("failed" as const) : ("done" as const);
    if (ran && event.type !== "request_cancelled") this.notify(ended, id, event);
    this.began.delete(request);
    this.page.store.patch({ running: others });
    if (ran || attention[id] === "asking") this.mark(id, ran && !looking ? ended : null);
  }

  /** A question marks its session until it is answered, whoever looked at it. That of a task marks the session that it works for. */
  private noteQuestion(from: string, event: Extract<Event, { call_id: string }>): void {
    const { running } = this.page.store.get();
    const outer = Object.keys(running).find((session) => event.request_id?.startsWith(`${running[session]}.`));
    const id = isTask(event) ? outer : from;
    if (!id) return;
    const open = this.questions.get(id) ?? new Set();
    this.questions.set(id, open);
    const question = `${event.request_id} ${event.call_id}`;
    if (event.type === "approval_requested") {
      open.add(question);
      this.notify("asking", id, event);
    } else open.delete(question);
    if (open.size > 0) this.mark(id, "asking");
    else if (this.page.store.get().attention[id] === "asking") this.mark(id, null);
  }

  private mark(id: string, mark: AppState["attention"][string] | null): void {
    const { [id]: _, ...others } = this.page.store.get().attention;
    this.page.store.patch({ attention: mark ? { ...others, [id]: mark } : others });
  }

  /** Nobody waits for a session that is gone. */
  private forget(id: string): void {
    const { [id]: _, ...others } = this.page.store.get().running;
    this.page.store.patch({ running: others });
    this.questions.delete(id);
    this.mark(id, null);
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

/** Whether an event is of a task that one agent gave to another, which waits for it: its request has the id of its session. */
function isTask({ session_id, request_id }: Event): boolean {
  return session_id === request_id;
}
