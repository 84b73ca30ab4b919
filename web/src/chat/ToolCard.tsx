//! A tool call: what it does, how far it is, what came of it.

import { Ban, Check, ChevronRight, CircleHelp, LoaderCircle, PencilLine, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { isMap } from "../api/types";
import { headline } from "../state/calls";
import type { ToolItem, ToolStatus } from "../state/items";
import { duration } from "../ui/format";
import { plainText } from "../actions/safe";
import { ApprovalCard } from "./ApprovalCard";
import { Arguments } from "./Arguments";
import { Delegations } from "./Delegations";
import { changesOf } from "./diff";
import { planFacts } from "./Plan";
import { ToolMenus } from "./ToolMenus";
import { Preview, ToolResult } from "./ToolResult";

export function ToolCard({ tool }: { tool: ToolItem }) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  // Plans and changes are what people look for; they need not be asked for, and say what the arguments say.
  const telling = tool.display?.type === "todo" || tool.display?.type === "diff";
  const open = chosen ?? telling;
  return (
    <div className="tool" data-status={tool.status}>
      <button type="button" className="tool-head" aria-expanded={open} onClick={() => setChosen(!open)}>
        <StatusIcon status={tool.status} />
        <span className="tool-name">{tool.name}</span>
        <span className="tool-line">{headline(tool.arguments)}</span>
        <span className="tool-state">{stateOf(tool)}</span>
        <ChevronRight aria-hidden className="chevron" />
      </button>
      {tool.approval && <ApprovalCard tool={tool} approval={tool.approval} />}
      <Delegations tool={tool} />
      {!open && tool.status === "running" && tool.output !== "" && <Tail text={tool.output} />}
      {open && (
        <div className="tool-body">
          {!telling && <Arguments given={tool.arguments} />}
          {tool.preview !== "" && !tool.approval && tool.result === null && <Preview text={tool.preview} />}
          {tool.output !== "" && tool.result === null && <pre tabIndex={0}>{plainText(tool.output)}</pre>}
          {tool.result !== null && <ToolResult tool={tool} />}
          <ToolMenus tool={tool} />
          {tool.decision && (
            <p className="tool-decision">
              {tool.decision.decision === "allow" ? "Allowed" : "Denied"} by {tool.decision.by}.
            </p>
          )}
        </div>
      )}
    </div>
  );
}

function StatusIcon({ status }: { status: ToolStatus }) {
  switch (status) {
    case "writing":
      return <PencilLine aria-hidden className="tool-icon" />;
    case "running":
      return <LoaderCircle aria-hidden className="tool-icon spin" />;
    case "waiting":
      return <CircleHelp aria-hidden className="tool-icon" />;
    case "done":
      return <Check aria-hidden className="tool-icon" />;
    case "failed":
      return <X aria-hidden className="tool-icon" />;
    case "denied":
      return <Ban aria-hidden className="tool-icon" />;
  }
}

/** At the end of the head: how far it is, and once it is done, how much it was. */
function stateOf(tool: ToolItem): ReactNode {
  switch (tool.status) {
    case "writing":
      return "writing";
    case "running":
      return "running";
    case "waiting":
      return "waits for you";
    case "done":
      return amountOf(tool);
    case "failed":
      return "failed";
    case "denied":
      return "denied";
  }
}

function amountOf({ display, took, began, ended }: ToolItem): ReactNode {
  if (display?.type === "todo" && Array.isArray(display.items)) return planFacts(display.items.filter(isMap));
  if (display?.type === "diff") {
    const { added, removed } = changesOf(display);
    return (
      <span className="counts">
        <span className="added">+{added}</span> <span className="removed">−{removed}</span>
      </span>
    );
  }
  const ms = took ?? (began !== null && ended !== null ? ended - began : null);
  return ms !== null && ms >= 100 ? duration(ms) : "";
}

/** The last lines of what a tool says while it runs. */
function Tail({ text }: { text: string }) {
  const lines = plainText(text).trimEnd().split("\n").slice(-4);
  return (
    <pre className="tail" aria-label="Output so far">
      {lines.join("\n")}
    </pre>
  );
}
