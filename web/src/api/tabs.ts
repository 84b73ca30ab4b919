//! Which tabs of this browser hold connections. A browser has six to a server for all of them, and streams of events keep theirs: the
//! tabs that were used last stream and tell the others what happens; those look in on their own answers from time to time.

import type { Event } from "./types";

/** So many tabs stream at once: each of them an answer and what else happens. Two connections are left for everything else. */
const STREAMING = 2;

type Said = { kind: "used"; tab: string; at: number } | { kind: "gone"; tab: string } | { kind: "who" } | { kind: "event"; event: Event };

/** Tabs of different people have nothing to say to each other. */
type Word = Said & { owner: string };

/** What tabs say to each other by; a browser's channel, or a stand-in. */
export interface Channel {
  postMessage(word: Word): void;
  onmessage: ((event: { data: Word }) => void) | null;
}

export class Tabs {
  /** When other tabs were used last. */
  private readonly others = new Map<string, number>();
  private readonly turns = new Set<() => void>();
  private used = 0;
  private owner = "";
  /** Hears the events that another tab was told. */
  onEvent: (event: Event) => void = () => undefined;

  constructor(
    private readonly tab: string,
    private readonly channel: Channel | null,
    private readonly now: () => number = () => Date.now(),
  ) {}

  /** From now on this tab counts, among those of its user. */
  join(owner = ""): void {
    this.owner = owner;
    if (this.channel) this.channel.onmessage = ({ data }) => this.heard(data);
    this.say({ kind: "who" });
    this.use();
  }

  /** Whether this tab may keep connections open. */
  mayStream(): boolean {
    return this.newer() < STREAMING;
  }

  /** Somebody uses this tab. */
  use(): void {
    if (this.used > 0 && this.newer() === 0) return;
    // Clocks stand still for a moment now and then; who says it last is last.
    this.used = Math.max(this.now(), ...[...this.others.values()].map((at) => at + 1));
    this.say({ kind: "used", tab: this.tab, at: this.used });
    this.tell();
  }

  /** The tab is closed, or nobody looks at it: others need not wait for it. */
  leave(): void {
    this.used = 0;
    this.say({ kind: "gone", tab: this.tab });
  }

  /** Tells the others what happened. */
  share(event: Event): void {
    if (this.others.size > 0) this.say({ kind: "event", event });
  }

  /** Tells when `mayStream` may have changed; gives back how to end that. */
  onTurn(listener: () => void): () => void {
    this.turns.add(listener);
    return () => this.turns.delete(listener);
  }

  private newer(): number {
    return [...this.others.values()].filter((at) => at > this.used).length;
  }

  private heard(word: Word): void {
    if (word.owner !== this.owner) return;
    switch (word.kind) {
      case "event":
        this.onEvent(word.event);
        return;
      case "who":
        if (this.used > 0) this.say({ kind: "used", tab: this.tab, at: this.used });
        return;
      case "used":
        this.others.set(word.tab, word.at);
        break;
      case "gone":
        this.others.delete(word.tab);
        break;
    }
    this.tell();
  }

  private say(said: Said): void {
    this.channel?.postMessage({ ...said, owner: this.owner });
  }

  private tell(): void {
    for (const listener of [...this.turns]) listener();
  }
}

/** The tabs of this browser. */
export function tabsOfBrowser(tab: string): Tabs {
  const channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("orlop.tabs");
  return new Tabs(tab, channel as Channel | null);
}

/** Notices when somebody uses this tab, and when it goes. */
export function watchUse(tabs: Tabs): void {
  const use = () => tabs.use();
  for (const sign of ["pointerdown", "keydown", "focus", "pageshow"]) addEventListener(sign, use, { capture: true, passive: true });
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && use());
  addEventListener("pagehide", () => tabs.leave());
}
