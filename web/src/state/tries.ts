//! The tries of a message: sessions that share everything before it. The host knows them; they are asked for once a message is looked at.

import { useEffect, useState } from "react";
import type { Api } from "../api/routes";
import type { Event, Tries } from "../api/types";
import { Store, useStore } from "./store";

/** Messages that are scrolled past are not asked about. */
const LOOKED_AT_MS = 150;

export class TryFinder {
  /** Grows when what was found may have changed. */
  readonly round = new Store(0);
  private readonly found = new Map<string, Promise<Tries | null>>();

  constructor(private readonly api: Api) {}

  /** The tries at a message of the user; `null` where that cannot be said. */
  at(session: string, index: number): Promise<Tries | null> {
    const key = `${index} ${session}`;
    const held = this.found.get(key);
    if (held) return held;
    const asked = this.api.branches(session, index).catch(() => null);
    this.found.set(key, asked);
    return asked;
  }

  /** Sessions came or went, and with them tries. */
  heard(event: Event): void {
    if (event.type === "session_created" || event.type === "session_deleted") this.forget();
  }

  forget(): void {
    if (this.found.size === 0) return;
    this.found.clear();
    this.round.set(this.round.get() + 1);
  }
}

/** The tries at a message, once they are known and there are several. */
export function useTries(finder: TryFinder, session: string | null, index: number): Tries | null {
  const round = useStore(finder.round, (held) => held);
  const [tries, setTries] = useState<Tries | null>(null);
  useEffect(() => {
    if (session === null) return;
    let current = true;
    const timer = setTimeout(() => void finder.at(session, index).then((found) => current && setTries(found)), LOOKED_AT_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [finder, session, index, round]);
  return tries && tries.sessions.length > 1 ? tries : null;
}
