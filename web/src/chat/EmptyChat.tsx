//! A session without messages: what this is, and ways to begin.

import { useEffect, useState } from "react";
import { useApp, usePage } from "../state/page";
import { shortcutText } from "../ui/shortcuts";

export function EmptyChat() {
  const page = usePage();
  const agents = useApp((state) => state.agents);
  const openId = useApp((state) => state.openId);
  const newAgent = useApp((state) => state.newAgent);
  const agentId = page.agentId();
  const agent = agents.find((held) => held.agent_id === agentId);
  const templates = useTemplates(agentId, openId, newAgent);
  return (
    <div className="empty start">
      <h2>What shall we work on?</h2>
      {agent?.description && <p>{agent.description}</p>}
      {templates.length > 0 && (
        <ul className="starters">
          {templates.map((text) => (
            <li key={text}>
              <button type="button" onClick={() => page.chat.send(text)}>
                {text}
              </button>
            </li>
          ))}
        </ul>
      )}
      <p className="hints">
        <kbd>{shortcutText("palette")}</kbd> finds everything <kbd>{shortcutText("shortcuts")}</kbd> lists the keys
      </p>
    </div>
  );
}

/** Short texts that plugins offer to begin with. */
function useTemplates(agentId: string | null, openId: string | null, newAgent: string | null): string[] {
  const page = usePage();
  const [templates, setTemplates] = useState<string[]>([]);
  useEffect(() => {
    let current = true;
    setTemplates([]);
    if (!agentId) return;
    page.api
      .templates(agentId)
      .then((templates) => {
        const texts = templates.flatMap((template) => (typeof template.text === "string" && template.text.length <= 120 && !template.text.includes("{") ? [template.text] : []));
        if (current) setTemplates(texts.slice(0, 4));
      })
      .catch(() => undefined);
    return () => {
      current = false;
    };
  }, [agentId, openId, newAgent, page]);
  return templates;
}
