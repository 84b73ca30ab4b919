//! One request of the session: where its time went, and what each plugin changed.

import { useMemo, useState } from "react";
import { plainLine } from "../actions/safe";
import type { Message, RequestState } from "../api/types";
import { usageFacts } from "../chat/TurnFooter";
import { download } from "../sessions/commands";
import { textOf } from "../state/items";
import { useApp, usePage } from "../state/page";
import { duration, when } from "../ui/format";
import { ExportButton } from "./ExportButton";
import { ticksOf } from "./scale";
import { type Row, timelineOf } from "./timeline";
import { timelineSvg } from "./timelineSvg";
import { useLoaded } from "../ui/useLoaded";

export function RequestTrace() {
  const openId = useApp((state) => state.openId);
  return openId === null ? <NothingAsked /> : <Requests key={openId} sessionId={openId} />;
}

function NothingAsked() {
  return <p className="muted">Nothing was asked in this session yet.</p>;
}

function Requests({ sessionId }: { sessionId: string }) {
  const page = usePage();
  const messages = useApp((state) => state.conversation?.messages);
  const status = useApp((state) => `${state.conversation?.turn?.requestId ?? ""} ${state.conversation?.turn?.status ?? ""}`);
  const [chosen, setChosen] = useState<string | null>(null);
  const { value: requests, problem } = useLoaded(() => page.api.requests(sessionId, 30), [sessionId, status]);
  const request = requests?.find((held) => held.request_id === chosen) ?? requests?.[0] ?? null;
  if (problem) return <p role="alert">{problem}</p>;
  if (!requests) return <p className="muted">Loading.</p>;
  if (!request) return <NothingAsked />;
  return (
    <>
      <label className="inspector-choice">
        <span>Request</span>
        <select value={request.request_id} onChange={(event) => setChosen(event.target.value)}>
          {requests.map((held) => (
            <option key={held.request_id} value={held.request_id}>
              {[when(held.created_at ?? ""), held.status, askedIn(held, messages ?? [])].filter(Boolean).join(" · ")}
            </option>
          ))}
        </select>
      </label>
      <p className="turn-facts">{[request.status, request.step === 1 ? "1 model call" : `${request.step} model calls`, ...usageFacts(request.usage)].join(" · ")}</p>
      <Trace key={request.request_id} request={request} />
    </>
  );
}

/** The first words of what was asked, where the conversation has them. */
function askedIn({ message_index }: RequestState, messages: readonly Message[]): string {
  const asked = messages[message_index ?? -1];
  if (asked?.role !== "user") return "";
  const words = plainLine(textOf(asked.content));
  return words.length > 40 ? `${words.slice(0, 40).replace(/\s+\S*$/, "")}…` : words;
}

function Trace({ request }: { request: RequestState }) {
  const page = usePage();
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<number | null>(null);
  const { value: trace, problem } = useLoaded(() => page.api.trace(request.request_id), [request.request_id, request.updated_at]);
  const timeline = useMemo(() => timelineOf(trace ?? [], all), [trace, all]);
  if (problem) return <p role="alert">{problem}</p>;
  if (!trace) return <p className="muted">Loading.</p>;
  return (
    <>
      <label className="check">
        <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} /> Show every hook
        {timeline.hidden > 0 && <span className="muted">{`${timeline.hidden} more`}</span>}
      </label>
      <div className="timeline-frame">
        <Axis length={timeline.length} />
        <ol className="timeline" aria-label={`Timeline of ${duration(timeline.length / 1_000)}`}>
          {timeline.rows.map((row) => (
            <TimelineRow key={row.key} row={row} length={timeline.length} open={open === row.key} onToggle={() => setOpen(open === row.key ? null : row.key)} />
          ))}
        </ol>
      </div>
      <p className="legend">
        <span>
          <i className="key" data-group="model" /> model
        </span>
        <span>
          <i className="key" data-group="tool" /> tool
        </span>
        <span>
          <i className="key" data-group="hook" /> hook
        </span>
        <span>
          <i className="key" data-failed /> failed
        </span>
        <span>
          <i className="changed" /> changed something
        </span>
      </p>
      <h2>By plugin</h2>
      <table className="numbers">
        <thead>
          <tr>
            <th scope="col">Plugin</th>
            <th scope="col">Calls</th>
            <th scope="col">Time</th>
            <th scope="col">Changes</th>
          </tr>
        </thead>
        <tbody>
          {timeline.byPlugin.map((sum) => (
            <tr key={sum.plugin}>
              <th scope="row">
                {sum.plugin}
                {sum.failures > 0 && <span className="bad"> {sum.failures} failed</span>}
              </th>
              <td>{sum.calls}</td>
              <td>{duration(sum.time / 1_000)}</td>
              <td>{sum.changes}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div className="row">
        <ExportButton label="Export as JSON" onExport={() => download(`trace-${request.request_id}.json`, "application/json", JSON.stringify(trace, null, 2))} />
        <ExportButton label="Export as SVG" onExport={() => download(`trace-${request.request_id}.svg`, "image/svg+xml", timelineSvg(timeline))} />
      </div>
    </>
  );
}

/** The marks of time above the bars, and their lines down through all rows. */
function Axis({ length }: { length: number }) {
  return (
    <div className="timeline-axis" aria-hidden>
      {ticksOf(length, 3).map((tick) => (
        <span key={tick} style={{ left: `${(tick / length) * 100}%` }}>
          {tick === 0 ? "0" : duration(tick / 1_000)}
        </span>
      ))}
    </div>
  );
}

function TimelineRow({ row, length, open, onToggle }: { row: Row; length: number; open: boolean; onToggle: () => void }) {
  const left = (row.start / length) * 100;
  const width = Math.max(1.2, (row.duration / length) * 100);
  const facts = row.usage ? usageFacts(row.usage) : [];
  return (
    <li data-group={row.group} data-depth={row.depth} data-failed={row.failed || undefined}>
      <button type="button" aria-expanded={open} onClick={onToggle}>
        <span className="timeline-label">
          <span className="timeline-name" title={[row.label, row.detail].filter(Boolean).join(" ")}>
            {row.label} {row.depth === 1 && <span className="muted">{row.detail}</span>}
          </span>
          {row.depth === 0 && row.detail !== "" && <small>{row.detail}</small>}
          {facts.length > 0 && <small>{facts.join(" · ")}</small>}
          {row.change !== "" && (
            <small className="timeline-change">
              <span className="changed" aria-hidden />
              <span className="visually-hidden">changed</span> {row.change}
            </small>
          )}
        </span>
        <svg className="timeline-bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden>
          <rect className="bar" x={Math.min(left, 98.8)} width={width} height="8" />
        </svg>
        <span className="timeline-time">{duration(row.duration / 1_000)}</span>
      </button>
      {open && <pre tabIndex={0}>{JSON.stringify(row.entry, null, 2)}</pre>}
    </li>
  );
}
