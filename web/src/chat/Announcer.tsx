//! Tells screen readers what happens: finished paragraphs of an answer as they come, questions, the end.

import { useEffect, useRef, useState } from "react";
import type { Shown } from "../state/conversation";
import type { Item, ToolItem } from "../state/items";
import { openApprovals } from "../state/turn";
import { blocksOf } from "../ui/blocks";

export function Announcer({ items, settled, busy }: Shown & { busy: boolean }) {
  const [said, setSaid] = useState("");
  const progress = useRef<{ key: string; blocks: number }>({ key: "", blocks: 0 });
  const wasBusy = useRef(false);
  const asked = useRef<ReadonlySet<string>>(new Set());
  const last = items.at(-1);
  useEffect(() => {
    const asking = busy ? asksIn(items.slice(settled)) : [];
    const news = asking.filter((tool) => !asked.current.has(tool.callId));
    asked.current = new Set(asking.map((tool) => tool.callId));
    if (news.length > 0) setSaid(news.map((tool) => `${tool.name} waits for your decision.`).join(" "));
    else if (last?.kind === "text" && (last.live || wasBusy.current)) {
      const blocks = blocksOf(last.text);
      const whole = last.live ? blocks.length - 1 : blocks.length;
      const from = progress.current.key === last.key || !last.live ? Math.min(progress.current.blocks, whole) : 0;
      if (whole > from) setSaid(blocks.slice(from, whole).join("\n"));
      progress.current = { key: last.key, blocks: Math.max(whole, 0) };
    } else if (last?.kind === "failure") setSaid("");
    else if (busy && !wasBusy.current) setSaid("Working.");
    if (!busy) progress.current = { key: "", blocks: 0 };
    wasBusy.current = busy;
  }, [items, settled, last, busy]);
  return (
    <div className="visually-hidden" aria-live="polite" aria-atomic="true">
      {said}
    </div>
  );
}

/** The calls that wait for a person, wherever they stand, and those of agents inside of them. */
export function asksIn(items: readonly Item[]): ToolItem[] {
  return items.flatMap((item) => (item.kind === "tool" ? [...(item.approval ? [item] : []), ...item.children.flatMap(openApprovals)] : []));
}
