//! Behind the last message: a sign that somebody is at work, or what the turn took.

import { useEffect, useState } from "react";
import type { JsonMap } from "../api/types";
import { isBusy } from "../state/conversation";
import { useApp, usePage } from "../state/page";
import { openApprovals } from "../state/turn";
import { count, duration, money } from "../ui/format";

export function TurnFooter() {
  const page = usePage();
  const turn = useApp((state) => state.conversation?.turn ?? null);
  const busy = useApp((state) => state.conversation !== null && isBusy(state.conversation));
  const link = useApp((state) => state.link);
  if (!turn) return null;
  if (busy) {
    const last = turn.items.at(-1);
    const writing = last?.kind === "text" && last.live && last.text !== "";
    if (openApprovals(turn).length > 0) return null;
    return (
      <p className="working" data-quiet={writing || undefined}>
        <span className="dots" aria-hidden>
          <i />
          <i />
          <i />
        </span>
        {link === "waiting" ? <span>Connection lost. {turn.status === "sending" ? "The message is sent once the server is back." : "The answer goes on; the page comes back to it."}</span> : !writing && <Elapsed since={turn.began} />}
      </p>
    );
  }
  const facts = turn.usage ? usageFacts(turn.usage) : [];
  if (turn.model?.model) facts.push(turn.model.model);
  if (facts.length === 0) return null;
  return (
    <p className="turn-facts">
      {facts.join(" · ")}{" "}
      <button type="button" className="link-button" onClick={() => page.store.patch({ panel: "inspector" })}>
        Details
      </button>
    </p>
  );
}

function Elapsed({ since }: { since: number | null }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const ms = since === null ? 0 : now - since;
  return <span>{ms >= 3_000 ? `Working, ${duration(Math.floor(ms / 1_000) * 1_000)}` : "Working"}</span>;
}

export function usageFacts(usage: JsonMap): string[] {
  const facts: string[] = [];
  const number = (key: string) => (typeof usage[key] === "number" ? (usage[key] as number) : null);
  const input = number("input_tokens");
  const output = number("output_tokens");
  const cost = number("cost");
  if (input !== null) facts.push(`${count(input)} in`);
  if (output !== null) facts.push(`${count(output)} out`);
  if (cost !== null) facts.push(money(cost));
  return facts;
}
