//! What a model thought before it spoke, folded away.

import { ChevronRight } from "lucide-react";
import { Markdown } from "../ui/Markdown";
import { duration } from "../ui/format";

export function Reasoning({ text, live, tookMs }: { text: string; live: boolean; tookMs: number | null }) {
  const took = tookMs && tookMs >= 1_000 ? ` for ${duration(tookMs)}` : "";
  return (
    <details className="fold reasoning">
      <summary>
        <ChevronRight aria-hidden className="chevron" />
        {live ? <span className="shimmer">Thinking</span> : <span>Thought{took}</span>}
      </summary>
      <div className="fold-body">
        <Markdown text={text} />
      </div>
    </details>
  );
}
