//! The work that a call gave to other agents: as its events tell it, or as its result tells it after a reload. Pure.

import { type JsonMap, type Message, isMap } from "../api/types";
import type { Item, ToolItem } from "../state/items";
import { itemsOf } from "../state/transcript";
import { type Turn, isOver, openApprovals } from "../state/turn";

export interface Delegation {
  key: string;
  agent: string;
  /** The session the agent works in. */
  sessionId: string | null;
  /** What it does, as far as this page heard of it. */
  turn: Turn | null;
  state: "at work" | "waits for you" | "finished" | "failed" | "cancelled";
  usage: JsonMap | null;
}

export function delegationsOf(tool: ToolItem): Delegation[] {
  const told = isMap(tool.display) && tool.display.type === "delegate" ? tool.display : null;
  const sessionId = typeof told?.session_id === "string" ? told.session_id : null;
  const usage = isMap(told?.usage) ? told.usage : null;
  const heard = tool.children.map((turn) => ({
    key: turn.requestId,
    agent: turn.agentId ?? "agent",
    sessionId: turn.sessionId,
    turn,
    state: stateOf(tool, turn),
    usage: turn.sessionId === sessionId ? usage : turn.usage,
  }));
  if (!sessionId || heard.some((held) => held.sessionId === sessionId)) return heard;
  const agent = typeof told?.agent === "string" ? told.agent : "agent";
  return [...heard, { key: sessionId, agent, sessionId, turn: null, state: stateOf(tool, null), usage }];
}

/** A call that is over tells how its work ended; the last event of the work is not passed on. */
function stateOf(tool: ToolItem, turn: Turn | null): Delegation["state"] {
  if (turn?.status === "cancelled") return "cancelled";
  if (tool.status === "failed" || tool.status === "denied" || turn?.status === "failed") return "failed";
  if (tool.status === "done" || (turn && isOver(turn))) return "finished";
  return turn && openApprovals(turn).length > 0 ? "waits for you" : "at work";
}

/** What is shown of a session inside of a card: what was said and done, without its task, and with nothing to do to it. */
export function itemsInside(messages: readonly Message[]): Item[] {
  const shown = itemsOf(messages).filter((item) => item.kind !== "user" && item.kind !== "system");
  return shown.map((item) => (item.kind === "text" ? { ...item, index: null } : item));
}
