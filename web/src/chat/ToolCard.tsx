//! A tool call: what it does, how far it is, what came of it.

import { Ban, Check, ChevronRight, CircleHelp, LoaderCircle, PencilLine, X } from "lucide-react";
import { useState } from "react";
import { headline } from "../state/calls";
import type { ToolItem, ToolStatus } from "../state/items";
import { duration } from "../ui/format";
import { plainText } from "../actions/safe";
import { ApprovalCard } from "./ApprovalCard";
import { DelegatedTurn } from "./DelegatedTurn";
import { ToolMenus } from "./ToolMenus";
import { Preview, ToolResult } from "./ToolResult";

export function ToolCard({ tool }: { tool: ToolItem }) {
  const [open, setOpen] = useState(false);
  const took = tool.took ?? (tool.began !== null && tool.ended !== null ? tool.ended - tool.began : null);
  const isPlan = tool.display?.type === "todo";
  const isDiff = tool.display?.type === "diff";
  return (
    <div className="tool" data-status={tool.status}>
      <button type="button" className="tool-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <StatusIcon status={tool.status} denied={tool.decision?.decision === "deny"} />
        <span className="tool-name">{tool.name}</span>
        <span className="tool-line">{headline(tool.arguments)}</span>
        <span className="tool-state">{stateText(tool.status, took)}</span>
        <ChevronRight aria-hidden className="chevron" />
      </button>
      {tool.approval && <ApprovalCard tool={tool} approval={tool.approval} />}
      {tool.children.map((child) => (
        <DelegatedTurn key={child.requestId} turn={child} />
      ))}
      {!open && tool.status === "running" && tool.output !== "" && <Tail text={tool.output} />}
      {!open && (isPlan || isDiff) && <ToolResult tool={tool} />}
      {open && (
        <div className="tool-body">
          <Arguments given={tool.arguments} />
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

function StatusIcon({ status, denied }: { status: ToolStatus; denied: boolean }) {
  if (denied) return <Ban aria-hidden className="tool-icon" />;
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
  }
}

function stateText(status: ToolStatus, took: number | null): string {
  switch (status) {
    case "writing":
      return "writing";
    case "running":
      return "running";
    case "waiting":
      return "waits for you";
    case "done":
      return took !== null && took >= 100 ? duration(took) : "";
    case "failed":
      return "failed";
  }
}

function Arguments({ given }: { given: ToolItem["arguments"] }) {
  const text = typeof given === "string" ? given : JSON.stringify(given, null, 2);
  if (text === "{}" || text === "") return null;
  return (
    <div className="labelled">
      <span>Arguments</span>
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
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
