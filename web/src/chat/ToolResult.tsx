//! What a tool gave back, in the form it asks to be shown in: text, a diff, a plan, a page, a report.

import type { ReactNode } from "react";
import { type JsonMap, isMap } from "../api/types";
import { plainText } from "../actions/safe";
import type { ToolItem } from "../state/items";
import { duration } from "../ui/format";
import { Markdown } from "../ui/Markdown";
import { Diff, looksLikeDiff } from "./Diff";
import { Folded } from "./Folded";
import { Parts } from "./Parts";
import { Plan } from "./Plan";
import { WebPage } from "./WebPage";

/** How each type of display is drawn; `null` where it lacks what it is drawn from, which is shown as text then. */
const DRAWN: Record<string, (display: JsonMap, result: string) => ReactNode> = {
  text: (display) => textOf(display.content, "Result"),
  answer: (display) => textOf(display.content, "Answer"),
  terminal: (display) => textOf(display.output, terminalFacts(display)),
  diff: ({ diff }) => (typeof diff === "string" ? <Diff text={diff} /> : null),
  todo: ({ items }) => (Array.isArray(items) ? <Plan items={items.filter(isMap)} /> : null),
  web_page: (display, result) => <WebPage display={display} result={result} />,
  delegate: ({ content }) => (typeof content === "string" ? <Report text={content} /> : null),
};

export function ToolResult({ tool }: { tool: ToolItem }) {
  const { display } = tool;
  const result = tool.result ?? "";
  const type = typeof display?.type === "string" ? display.type : null;
  const draw = type !== null && Object.hasOwn(DRAWN, type) ? DRAWN[type] : undefined;
  return (
    <>
      {(display && draw?.(display, result)) ?? textOf(display?.content ?? display?.output, "Result") ?? textOf(result, "Result")}
      <Parts parts={tool.parts} />
      {display && type !== null && !draw && <UnknownDisplay type={type} display={display} />}
    </>
  );
}

function UnknownDisplay({ type, display }: { type: string; display: JsonMap }) {
  return (
    <div className="labelled" data-unknown-display={type}>
      <span>Shown as “{type}”, which this page does not know</span>
      <Folded text={JSON.stringify(display, null, 2)} />
    </div>
  );
}

function textOf(text: unknown, label: string): ReactNode {
  if (typeof text !== "string") return null;
  return (
    <div className="labelled">
      <span>{label}</span>
      <Folded text={plainText(text)} />
    </div>
  );
}

/** What another agent says it did; models write Markdown. */
function Report({ text }: { text: string }) {
  return (
    <div className="labelled">
      <span>Report</span>
      <div className="report">
        <Markdown text={plainText(text)} />
      </div>
    </div>
  );
}

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
