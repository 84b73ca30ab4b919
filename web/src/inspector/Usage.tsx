//! Tokens and cost per day, agent, model and plugin.

import { useMemo } from "react";
import { outcomeOf } from "../actions/outcome";
import { download } from "../sessions/commands";
import { useApp, usePage } from "../state/page";
import { count, money } from "../ui/format";
import { ExportButton } from "./ExportButton";
import { type Sum, csvOf, figuresOf } from "./usage";
import { useLoaded } from "../ui/useLoaded";

export function Usage() {
  const page = usePage();
  const openId = useApp((state) => state.openId);
  const status = useApp((state) => state.conversation?.turn?.status ?? "");
  const { value, problem } = useLoaded(() => page.actions.ask("usage", "show_usage", openId, openId ? { session_id: openId } : {}), [openId, status === "running"]);
  const figures = useMemo(() => figuresOf(value?.usage), [value]);
  if (problem) return <p role="alert">Nothing was counted: {problem}</p>;
  if (!value) return <p className="muted">Loading.</p>;
  const outcome = outcomeOf(value);
  if (outcome.status === "error") return <p role="alert">{outcome.message}</p>;
  return (
    <>
      {figures.session && (
        <dl className="figures">
          <Figure label="Model calls" value={count(figures.session.calls)} />
          <Figure label="Tokens read" value={count(figures.session.input)} />
          <Figure label="Tokens written" value={count(figures.session.output)} />
          <Figure label="Cost" value={money(figures.session.cost)} />
        </dl>
      )}
      <Days days={figures.days} />
      <Bars title="Agents" sums={figures.agents} />
      <Bars title="Models" sums={figures.models} />
      <Bars title="Plugins that asked models of their own" sums={figures.plugins} />
      <div className="row">
        <ExportButton label="Export as CSV" onExport={() => download("usage.csv", "text/csv", csvOf(figures))} />
        <ExportButton label="Export as JSON" onExport={() => download("usage.json", "application/json", JSON.stringify(value.usage, null, 2))} />
      </div>
    </>
  );
}

function Figure({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

const SHOWN_DAYS = 30;

/** A column a day, tokens read below tokens written. */
function Days({ days }: { days: Sum[] }) {
  const shown = days.slice(-SHOWN_DAYS);
  if (shown.length === 0) return <p className="muted">Nothing was counted yet.</p>;
  const most = Math.max(1, ...shown.map((day) => day.input + day.output));
  return (
    <section>
      <h2>Tokens per day</h2>
      <svg className="days" viewBox={`0 0 ${SHOWN_DAYS * 10} 84`} role="img" aria-label={`Tokens per day: ${shown.map((day) => `${day.name} ${day.input + day.output}`).join(", ")}`}>
        {shown.map((day, place) => {
          const x = (SHOWN_DAYS - shown.length + place) * 10;
          const read = (day.input / most) * 80;
          const written = (day.output / most) * 80;
          return (
            <g key={day.name}>
              <title>{`${day.name}: ${count(day.input)} read, ${count(day.output)} written, ${money(day.cost)}`}</title>
              <rect className="read" x={x + 1} width="8" y={82 - read} height={read} rx="1" />
              <rect className="written" x={x + 1} width="8" y={82 - read - written} height={written} rx="1" />
            </g>
          );
        })}
        <line x1="0" x2={SHOWN_DAYS * 10} y1="82.5" y2="82.5" />
      </svg>
      <p className="legend">
        <span className="key read" /> read <span className="key written" /> written
        <span className="muted">{shown.length === 1 ? shown[0]?.name : `${shown[0]?.name} to ${shown.at(-1)?.name}`}</span>
      </p>
    </section>
  );
}

function Bars({ title, sums }: { title: string; sums: Sum[] }) {
  if (sums.length === 0) return null;
  const most = Math.max(1, ...sums.map((sum) => sum.input + sum.output));
  return (
    <section>
      <h2>{title}</h2>
      <ul className="bars">
        {sums.slice(0, 12).map((sum) => (
          <li key={sum.name}>
            <span>{sum.name}</span>
            <span className="muted">{`${count(sum.input + sum.output)} · ${money(sum.cost)}`}</span>
            <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden>
              <rect className="track" width="100" height="4" />
              <rect className="bar" width={Math.max(0.5, ((sum.input + sum.output) / most) * 100)} height="4" />
            </svg>
          </li>
        ))}
      </ul>
    </section>
  );
}
