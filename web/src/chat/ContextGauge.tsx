//! How much of the model's window the conversation takes.

import { useApp } from "../state/page";
import { count } from "../ui/format";

/** From here on it is told as a warning. */
const NEARLY_FULL = 0.8;

export function ContextGauge() {
  const context = useApp((state) => state.conversation?.context ?? null);
  if (!context?.window) return null;
  const share = Math.min(1, context.tokens / context.window);
  const percent = Math.round(share * 100);
  const about = `${count(context.tokens)} of ${count(context.window)} tokens of context`;
  return (
    <span className="gauge" data-full={share >= NEARLY_FULL || undefined} role="meter" aria-label="Context used" aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent} aria-valuetext={about} title={about}>
      <svg viewBox="0 0 20 20" aria-hidden>
        <circle className="gauge-track" cx="10" cy="10" r="8" pathLength="100" />
        <circle className="gauge-used" cx="10" cy="10" r="8" pathLength="100" strokeDasharray={`${Math.max(2, percent)} 100`} />
      </svg>
      {percent} %
    </span>
  );
}
