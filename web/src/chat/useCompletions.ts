//! Completions for what is being written, asked for as it changes.

import { useEffect, useMemo, useRef, useState } from "react";
import type { Completion, JsonMap } from "../api/types";
import { usePage } from "../state/page";
import { mayComplete, narrowed, readCompletions } from "./completion";

export interface Completions {
  list: readonly Completion[];
  at: number;
  move: (by: number) => void;
  close: () => void;
  /** What stands for a completion that is taken, in a text that has it already; a plugin may give another. */
  taken: (text: string, completion: Completion) => Promise<string>;
}

const NOTHING: { before: string; list: readonly Completion[] } = { before: "", list: [] };

export function useCompletions(before: string, active: boolean): Completions {
  const page = usePage();
  const [found, setFound] = useState(NOTHING);
  const [chosen, setChosen] = useState({ at: 0, before });
  // Until the next list is here, the one there is may be of a text that was shorter.
  const list = useMemo(() => narrowed(found.list, found.before, before), [found, before]);
  const at = chosen.before === before ? chosen.at : 0;
  const closedFor = useRef<string | null>(null);
  useEffect(() => {
    const agent = page.agentId();
    if (!active || !agent || !mayComplete(before) || closedFor.current === before) {
      setFound(NOTHING);
      return;
    }
    const asked = new AbortController();
    const timer = setTimeout(() => {
      page.api
        .completions(agent, page.store.get().openId, before, asked.signal)
        .then((items) => setFound({ before, list: readCompletions(items).slice(0, 50) }))
        .catch(() => !asked.signal.aborted && setFound(NOTHING));
    }, 60);
    return () => {
      clearTimeout(timer);
      asked.abort();
    };
  }, [before, active, page]);
  return {
    list,
    at,
    move: (by) => setChosen({ before, at: (at + by + list.length) % Math.max(1, list.length) }),
    close: () => {
      closedFor.current = before;
      setFound(NOTHING);
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
