//! A session that somebody reads by a link: its last messages, those before them when asked for, and what is said right now.

import { type Link, follow } from "../api/follow";
import { asProblem } from "../api/problem";
import type { Api } from "../api/routes";
import { type Event, type Json, type Message, type SharedMessage, type SharedSession, isMap } from "../api/types";
import type { Item } from "../state/items";
import { Store } from "../state/store";
import { NOT_LOADED, itemsOf } from "../state/transcript";

export interface Reading {
  phase: "loading" | "ready" | "gone" | "failed";
  problem: string | null;
  title: string | null;
  /** The position of the first message that was read; 0 if there is none before it. */
  first: number;
  messages: SharedMessage[];
  /** What is being said and is no message yet. */
  live: string;
  /** Whether it was heard from its beginning. */
  whole: boolean;
}

export class Reader {
  readonly store = new Store<Reading>({ phase: "loading", problem: null, title: null, first: 0, messages: [], live: "", whole: false });
  private readonly stop = new AbortController();
  private asked = 0;
  /** What was said before the last change, and is a message once that is read. */
  private said = "";
  /** How many messages there were when it was last read, since this connection. */
  private count: number | null = null;

  constructor(
    private readonly api: Api,
    private readonly link: string,
  ) {}

  /** Reads, and goes on reading until `close`. */
  async open(): Promise<void> {
    await this.read();
    if (this.store.get().phase !== "ready") return;
    const failed = (error: unknown) => this.failed(error);
    await follow({
      client: this.api.client,
      path: () => this.api.sharedEventsPath(this.link),
      once: false,
      onEvent: (event) => this.heard(event),
      onLink: (state) => this.begin(state),
      signal: this.stop.signal,
    }).catch(failed);
  }

  close(): void {
    this.stop.abort();
  }

  /** Reads again, after the first try failed. */
  retry(): void {
    this.store.patch({ phase: "loading", problem: null });
    void this.open();
  }

  /** What happened while nobody was connected is not told again, nor is the beginning of what is being said. */
  private begin(link: Link): void {
    this.said = "";
    this.count = null;
    this.store.patch({ live: "", whole: false });
    if (link === "open") void this.read();
  }

  private heard(event: Event): void {
    const { live } = this.store.get();
    if (event.type === "partial") {
      this.store.patch({ live: live + event.message.content });
      return;
    }
    this.said = live;
    void this.read();
  }

  private async read(): Promise<void> {
    this.asked += 1;
    const { asked, said } = this;
    try {
      const session = await this.api.shared(this.link, null, this.stop.signal);
      if (asked !== this.asked) return;
      const { messages, first, live, whole } = this.store.get();
      // What is said after a message is heard from its beginning; after something else, only if nothing was being said.
      const added = this.count !== null && session.message_count > this.count;
      const before = messages.filter((message) => message.index < session.first_index);
      this.store.patch({
        ...seen(session),
        first: before.length > 0 ? first : session.first_index,
        messages: [...before, ...session.messages],
        live: live.startsWith(said) ? live.slice(said.length) : live,
        whole: added || (whole && said === ""),
      });
      this.said = "";
      this.count = session.message_count;
    } catch (error) {
      this.failed(error);
    }
  }

  /** Reads what was said before. */
  async earlier(): Promise<void> {
    const { first, messages } = this.store.get();
    try {
      const session = await this.api.shared(this.link, first, this.stop.signal);
      this.store.patch({ first: session.first_index, messages: [...session.messages, ...messages] });
    } catch (error) {
      this.failed(error);
    }
  }

  private failed(error: unknown): void {
    const problem = asProblem(error);
    if (problem.errorType === "cancelled") return;
    if (problem.status === 404) this.store.patch({ phase: "gone", problem: problem.message, messages: [], live: "" });
    else if (this.store.get().phase === "loading") this.store.patch({ phase: "failed", problem: problem.message });
  }
}

function seen(session: SharedSession): Partial<Reading> {
  return { phase: "ready", problem: null, title: session.title ?? null };
}

/** What a reader sees. Without positions, because nothing can be done with a message here. */
export function itemsRead({ messages, live, whole }: Pick<Reading, "messages" | "live" | "whole">): Item[] {
  // At their own places, so that each keeps its key when earlier ones are read.
  const placed = Array<Message>((messages.at(-1)?.index ?? -1) + 1).fill(NOT_LOADED);
  for (const message of messages) placed[message.index] = asMessage(message);
  const items = itemsOf(placed).map((item) => ("index" in item ? { ...item, index: null } : item)) as Item[];
  if (live === "") return items;
  return [...items, { kind: "text", key: "live", index: null, text: whole ? live : "…", reasoning: "", reasonedFor: null, live: true, message: null }];
}

function asMessage({ index: _, ...message }: SharedMessage): Message {
  const files = message.metadata?.attachments;
  if (!Array.isArray(files)) return message;
  // Readers get the names of files and nothing more.
  const named = files.map((file: Json) => (isMap(file) ? file : { name: file }));
  return { ...message, metadata: { ...message.metadata, attachments: named } };
}
