//! Beside the chat: what happened in a request, what was used, and what the agent is made of.

import { X } from "lucide-react";
import { useState } from "react";
import { usePage } from "../state/page";
import { IconButton } from "../ui/IconButton";
import { AgentParts } from "./AgentParts";
import { Plugins } from "./Plugins";
import { RequestTrace } from "./RequestTrace";
import { Usage } from "./Usage";

const TABS = ["Request", "Usage", "Agent", "Plugins"] as const;
type Tab = (typeof TABS)[number];

export default function Inspector() {
  const page = usePage();
  const [tab, setTab] = useState<Tab>("Request");
  const step = (by: number) => {
    const next = TABS[(TABS.indexOf(tab) + by + TABS.length) % TABS.length] as Tab;
    setTab(next);
    document.getElementById(`inspector-${next}`)?.focus();
  };
  return (
    <aside className="inspector" aria-label="Inspector">
      <header>
        <div
          className="tabs"
          role="tablist"
          aria-label="Inspector"
          onKeyDown={(event) => {
            if (event.key === "ArrowRight") step(1);
            if (event.key === "ArrowLeft") step(-1);
          }}
        >
          {TABS.map((name) => (
            <button key={name} id={`inspector-${name}`} type="button" role="tab" aria-selected={tab === name} aria-controls="inspector-panel" tabIndex={tab === name ? 0 : -1} onClick={() => setTab(name)}>
              {name}
            </button>
          ))}
        </div>
        <IconButton label="Close inspector" onClick={() => page.store.patch({ panel: null })}>
          <X />
        </IconButton>
      </header>
      <div className="inspector-body" id="inspector-panel" role="tabpanel" aria-labelledby={`inspector-${tab}`} tabIndex={0}>
        {tab === "Request" && <RequestTrace />}
        {tab === "Usage" && <Usage />}
        {tab === "Agent" && <AgentParts />}
        {tab === "Plugins" && <Plugins />}
      </div>
    </aside>
  );
}
