//! What other agents do with the work they were given, inside of the call that gave it.

import { Bot, ChevronRight } from "lucide-react";
import { useState } from "react";
import type { Item, ToolItem } from "../state/items";
import { useApp, usePage } from "../state/page";
import { useLoaded } from "../ui/useLoaded";
import { type Delegation, delegationsOf, itemsInside } from "./delegations";
import { ItemView } from "./ItemView";
import { usageFacts } from "./TurnFooter";

export function Delegations({ tool }: { tool: ToolItem }) {
  return delegationsOf(tool).map((held) => <DelegatedWork key={held.key} held={held} />);
}

function DelegatedWork({ held }: { held: Delegation }) {
  const page = usePage();
  // Who reads by a link is shown that session and no other.
  const ownPage = useApp((state) => state.shared === null);
  const [unfolded, setUnfolded] = useState(false);
  const { sessionId, turn } = held;
  const reachable = ownPage && sessionId !== null;
  const open = unfolded || held.state === "waits for you";
  const facts = [held.state, ...(held.usage ? usageFacts(held.usage) : [])].join(" · ");
  return (
    <div className="delegated">
      <div className="delegated-head">
        <button type="button" className="fold-button" aria-expanded={open} disabled={!turn && !reachable} onClick={() => setUnfolded(!unfolded)}>
          <ChevronRight aria-hidden className="chevron" />
          <Bot aria-hidden />
          <strong>{held.agent}</strong>
          <span className="muted">{facts}</span>
        </button>
        {reachable && (
          <button type="button" className="link-button" onClick={() => page.go(sessionId)}>
            Open its session
          </button>
        )}
      </div>
      {open && turn && turn.items.length > 0 && <Inside items={turn.items} />}
      {open && (!turn || turn.items.length === 0) && reachable && <StoredWork sessionId={sessionId} />}
    </div>
  );
}

function Inside({ items }: { items: readonly Item[] }) {
  return (
    <div className="delegated-body">
      {items.map((item) => (
        <ItemView key={item.key} item={item} />
      ))}
    </div>
  );
}

/** The work as it is stored, asked for when somebody wants to see it. */
function StoredWork({ sessionId }: { sessionId: string }) {
  const page = usePage();
  const [round, setRound] = useState(0);
  const { value, problem } = useLoaded(() => page.api.session(sessionId, null), [sessionId, round]);
  if (problem) {
    return (
      <p className="delegated-body" role="alert">
        <span>{problem}</span>
        <button type="button" className="link-button" onClick={() => setRound(round + 1)}>
          Try again
        </button>
      </p>
    );
  }
  if (!value) return <p className="delegated-body muted">Loading.</p>;
  const items = itemsInside(value.messages);
  return items.length > 0 ? <Inside items={items} /> : <p className="delegated-body muted">Nothing was said.</p>;
}
