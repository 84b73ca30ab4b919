//! A plan: what is to do, what is under way, what is done.

import { Circle, CircleCheck, CircleDot } from "lucide-react";
import type { JsonMap } from "../api/types";

export function Plan({ items }: { items: readonly JsonMap[] }) {
  return (
    <ul className="plan" aria-label="Plan">
      {items.map((item, place) => (
        <li key={place} data-status={String(item.status)}>
          {item.status === "completed" ? (
            <CircleCheck aria-label="done" role="img" />
          ) : item.status === "in_progress" ? (
            <CircleDot aria-label="in progress" role="img" />
          ) : (
            <Circle aria-label="open" role="img" />
          )}
          <span>{String(item.text ?? "")}</span>
        </li>
      ))}
    </ul>
  );
}

/** How much of a plan is done, in few words. */
export function planFacts(items: readonly JsonMap[]): string {
  return `${items.filter((item) => item.status === "completed").length} of ${items.length}`;
}
