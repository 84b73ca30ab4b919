//! A timeline as a picture that stands alone: to put into a report, or to send to somebody. Pure.

import { duration } from "../ui/format";
import { ticksOf } from "./scale";
import type { Row, Timeline } from "./timeline";

const COLOURS: Record<Row["group"], string> = { model: "#1b625c", tool: "#1f5a94", hook: "#8a857b", lifecycle: "#8a857b", other: "#8a857b" };
const FAILED = "#ab2b23";
const [WIDTH, LABELS, TIMES, ROW, HEAD] = [960, 340, 80, 24, 32];

export function timelineSvg({ rows, length }: Timeline): string {
  const height = HEAD + rows.length * ROW + 12;
  const room = WIDTH - LABELS - TIMES;
  const x = (at: number) => LABELS + (at / length) * room;
  const axis = ticksOf(length, 5).map(
    (tick) => `<line x1="${x(tick)}" x2="${x(tick)}" y1="${HEAD - 6}" y2="${height - 8}" stroke="#e2ded6"/><text x="${x(tick)}" y="${HEAD - 12}" fill="#6b675f" text-anchor="middle">${tick === 0 ? "0" : duration(tick / 1_000)}</text>`,
  );
  const drawn = rows.map((row, place) => {
    const y = HEAD + place * ROW;
    const beside = [row.detail, row.change && `changed ${row.change}`].filter(Boolean).join(" · ");
    const width = Math.max(2, (row.duration / length) * room);
    return (
      `<text x="${12 + row.depth * 16}" y="${y + 16}"><tspan font-weight="${row.depth ? 400 : 600}">${escaped(cut(row.label, 24))}</tspan> <tspan fill="#6b675f">${escaped(cut(beside, 40))}</tspan></text>` +
      `<rect x="${Math.min(x(row.start), WIDTH - TIMES - 2)}" y="${y + 7}" width="${width}" height="10" rx="2" fill="${row.failed ? FAILED : COLOURS[row.group]}"/>` +
      `<text x="${WIDTH - 12}" y="${y + 16}" fill="#6b675f" text-anchor="end">${duration(row.duration / 1_000)}</text>`
    );
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#1f1e1b"><rect width="${WIDTH}" height="${height}" fill="#ffffff"/>${axis.join("")}${drawn.join("")}</svg>\n`;
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
