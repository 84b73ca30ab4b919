//! What another agent does with the work it was given, inside of the call that gave it.

import { Bot, ChevronRight } from "lucide-react";
import { useState } from "react";
import { type Turn, isOver, openApprovals } from "../state/turn";
import { ItemView } from "./ItemView";

export function DelegatedTurn({ turn }: { turn: Turn }) {
  const [open, setOpen] = useState(false);
  const asks = openApprovals(turn).length > 0;
  const shown = open || asks;
  return (
    <div className="delegated">
      <button type="button" className="fold-button" aria-expanded={shown} onClick={() => setOpen(!open)}>
        <ChevronRight aria-hidden className="chevron" />
        <Bot aria-hidden />
        <span>{turn.agentId ?? "agent"}</span>
        <span className="muted">{isOver(turn) ? turn.status : "at work"}</span>
      </button>
      {shown && (
        <div className="delegated-body">
          {turn.items.map((item) => (
            <ItemView key={item.key} item={item} />
          ))}
        </div>
      )}
    </div>
  );
}
