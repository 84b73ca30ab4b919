//! What a tool gave back, in the form it asks to be shown in: text, a diff, a plan.

import { Circle, CircleCheck, CircleDot } from "lucide-react";
import { useState } from "react";
import { type JsonMap, isMap } from "../api/types";
import { plainText } from "../actions/safe";
import type { ToolItem } from "../state/items";
import { duration } from "../ui/format";
import { Diff, looksLikeDiff } from "./Diff";
import { Parts } from "./Parts";

const FOLD_LINES = 24;

export function ToolResult({ tool }: { tool: ToolItem }) {
  const { display, result } = tool;
  if (display?.type === "diff" && typeof display.diff === "string") return <Diff text={display.diff} />;
  if (display?.type === "todo" && Array.isArray(display.items)) return <Plan items={display.items.filter(isMap)} />;
  const known = typeof display?.content === "string" ? display.content : typeof display?.output === "string" ? display.output : null;
  const unknown = display && typeof display.type === "string" && !KNOWN.includes(display.type) ? display : null;
  return (
    <>
      <div className="labelled">
        <span>{display?.type === "terminal" ? terminalFacts(display) : "Result"}</span>
        <Folded text={plainText(known ?? result ?? "")} />
        <Parts parts={tool.parts} />
      </div>
      {unknown && (
        <div className="labelled">
          <span>Shown as “{String(unknown.type)}”, which this page does not know</span>
          <Folded text={JSON.stringify(unknown, null, 2)} />
        </div>
      )}
    </>
  );
}

const KNOWN = ["text", "diff", "todo", "terminal", "answer"];

/** How a command ended. */
function terminalFacts(display: JsonMap): string {
  const facts = ["Output"];
  if (typeof display.exit_code === "number" && display.exit_code !== 0) facts.push(`exit code ${display.exit_code}`);
  if (display.timed_out === true) facts.push("timed out");
  if (display.signal !== undefined) facts.push(`ended by signal ${String(display.signal)}`);
  if (display.running === true) facts.push("still running");
  if (typeof display.duration_ms === "number") facts.push(duration(display.duration_ms));
  return facts.join(" · ");
}

/** What a call is about to do, in the words of its tool. */
export function Preview({ text }: { text: string }) {
  return looksLikeDiff(text) ? <Diff text={text} /> : <Folded text={plainText(text)} />;
}

function Folded({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  const lines = text.split("\n");
  const long = lines.length > FOLD_LINES + 4;
  if (text.trim() === "") return <p className="muted">Nothing.</p>;
  return (
    <>
      <pre tabIndex={0}>{long && !all ? lines.slice(0, FOLD_LINES).join("\n") : text}</pre>
      {long && (
        <button type="button" className="link-button" onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? "Show less" : `Show all ${lines.length} lines`}
        </button>
      )}
    </>
  );
}

function Plan({ items }: { items: JsonMap[] }) {
  const done = items.filter((item) => item.status === "completed").length;
  return (
    <div className="plan" role="group" aria-label="Plan">
      <div className="plan-head">
        Plan <span className="muted">{`${done} of ${items.length}`}</span>
      </div>
      <ul>
        {items.map((item, place) => (
          <li key={place} data-status={String(item.status)}>
            {item.status === "completed" ? <CircleCheck aria-label="done" /> : item.status === "in_progress" ? <CircleDot aria-label="in progress" /> : <Circle aria-label="open" />}
            <span>{String(item.text ?? "")}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
