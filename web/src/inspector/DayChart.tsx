//! Tokens per day as columns, those read below those written, on a scale that can be read.

import { type RefObject, useMemo } from "react";
import { count, money } from "../ui/format";
import { ticksOver } from "./scale";
import { type Sum, lastDays } from "./usage";

const SHOWN_DAYS = 30;
/** The drawing in its own units: the room for the columns, and around it that for the marks. */
const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [368, 150, 34, 8, 18];
const STEP = (WIDTH - LEFT) / SHOWN_DAYS;

export function DayChart({ days, drawing }: { days: Sum[]; drawing: RefObject<SVGSVGElement | null> }) {
  const shown = useMemo(() => lastDays(days, new Date().toISOString().slice(0, 10), SHOWN_DAYS), [days]);
  const used = shown.filter((day) => day.input + day.output > 0);
  const ticks = ticksOver(Math.max(...shown.map((day) => day.input + day.output)), 3);
  const most = ticks.at(-1) ?? 1;
  const y = (tokens: number) => TOP + (1 - tokens / most) * (HEIGHT - TOP - BOTTOM);
  const label = used.length === 0 ? "none" : used.map((day) => `${day.name} ${day.input + day.output}`).join(", ");
  return (
    <section>
      <h2>Tokens per day</h2>
      <svg ref={drawing} className="days" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`Tokens per day: ${label}`}>
        {ticks.map((tick) => (
          <g key={tick}>
            <line x1={LEFT} x2={WIDTH} y1={y(tick)} y2={y(tick)} />
            <text x={LEFT - 5} y={y(tick) + 3} textAnchor="end">
              {count(tick)}
            </text>
          </g>
        ))}
        {shown.map((day, place) => (
          <g key={day.name}>
            <title>{`${day.name}: ${count(day.input)} read, ${count(day.output)} written, ${money(day.cost)}`}</title>
            <rect className="day-room" x={LEFT + place * STEP} width={STEP} y={TOP} height={HEIGHT - TOP - BOTTOM} />
            <rect className="read" x={LEFT + place * STEP + 1.5} width={STEP - 3} y={y(day.input)} height={y(0) - y(day.input)} />
            <rect className="written" x={LEFT + place * STEP + 1.5} width={STEP - 3} y={y(day.input + day.output)} height={y(0) - y(day.output)} />
          </g>
        ))}
        {[0, 10, 20, SHOWN_DAYS - 1].map((place) => (
          <text key={place} x={LEFT + (place + 0.5) * STEP} y={HEIGHT - 4} textAnchor={place === SHOWN_DAYS - 1 ? "end" : place === 0 ? "start" : "middle"}>
            {dayOf(shown[place]?.name)}
          </text>
        ))}
      </svg>
      <p className="legend">
        <span>
          <i className="key read" /> read
        </span>
        <span>
          <i className="key written" /> written
        </span>
      </p>
    </section>
  );
}

function dayOf(name: string | undefined): string {
  return name ? new Date(`${name}T00:00Z`).toLocaleDateString("en", { day: "numeric", month: "short", timeZone: "UTC" }) : "";
}
