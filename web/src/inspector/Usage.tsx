//! Tokens and cost per day, agent, model and plugin.

import { useMemo, useRef } from "react";
import { outcomeOf } from "../actions/outcome";
import { download } from "../sessions/commands";
import { useApp, usePage } from "../state/page";
import { count, money } from "../ui/format";
import { DayChart } from "./DayChart";
import { ExportButton } from "./ExportButton";
import { standaloneSvg } from "./standalone";
import { type Sum, csvOf, figuresOf } from "./usage";
import { useLoaded } from "../ui/useLoaded";

export function Usage() {
  const page = usePage();
  const openId = useApp((state) => state.openId);
  const status = useApp((state) => state.conversation?.turn?.status ?? "");
  const { value, problem } = useLoaded(() => page.actions.ask("usage", "show_usage", openId, openId ? { session_id: openId } : {}), [openId, status === "running"]);
  const drawing = useRef<SVGSVGElement>(null);
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
      <DayChart days={figures.days} drawing={drawing} />
      <Bars title="Agents" sums={figures.agents} />
      <Bars title="Models" sums={figures.models} />
      <Bars title="Plugins that asked models of their own" sums={figures.plugins} />
      <div className="row">
        <ExportButton label="Export as CSV" onExport={() => download("usage.csv", "text/csv", csvOf(figures))} />
        <ExportButton label="Export as SVG" onExport={() => drawing.current && download("usage.svg", "image/svg+xml", standaloneSvg(drawing.current))} />
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
