//! Completions for what is being written, asked for as it changes.

import { useEffect, useRef, useState } from "react";
import type { Completion, JsonMap } from "../api/types";
import { usePage } from "../state/page";
import { mayComplete, readCompletions } from "./completion";

export interface Completions {
  list: Completion[];
  at: number;
  move: (by: number) => void;
  choose: (at: number) => void;
  close: () => void;
  /** What stands for a completion that is taken, in a text that has it already; a plugin may give another. */
  taken: (text: string, completion: Completion) => Promise<string>;
}

export function useCompletions(before: string, active: boolean): Completions {
  const page = usePage();
  const [list, setList] = useState<Completion[]>([]);
  const [at, setAt] = useState(0);
  const closedFor = useRef<string | null>(null);
  useEffect(() => {
    const agent = page.agentId();
    if (!active || !agent || !mayComplete(before) || closedFor.current === before) {
      setList([]);
      return;
    }
    const asked = new AbortController();
    const timer = setTimeout(() => {
      page.api
        .completions(agent, page.store.get().openId, before, asked.signal)
        .then((found) => {
          setList(readCompletions(found).slice(0, 50));
          setAt(0);
        })
        .catch(() => setList([]));
    }, 60);
    return () => {
      clearTimeout(timer);
      asked.abort();
    };
  }, [before, active, page]);
  return {
    list,
    at,
    move: (by) => setAt((now) => (now + by + list.length) % Math.max(1, list.length)),
    choose: setAt,
    close: () => {
      closedFor.current = before;
      setList([]);
    },
    taken: async (text, completion) => {
      const agent = page.agentId();
      if (!agent) return completion.replacement;
      try {
        const applied = await page.api.applyCompletion(agent, page.store.get().openId, text, completion as unknown as JsonMap);
        return applied.text || completion.replacement;
      } catch {
        return completion.replacement;
      }
    },
  };
}
