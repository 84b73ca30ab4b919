//! Which agent and which model answer. For a session that exists both are changed there.

import { ChevronDown } from "lucide-react";
import { useEffect, useState } from "react";
import { isMap } from "../api/types";
import { useApp, usePage } from "../state/page";
import { Menu, MenuChoice, MenuLabel, MenuSeparator } from "../ui/Menu";

export function AgentChoice() {
  const page = usePage();
  const agents = useApp((state) => state.agents);
  const openId = useApp((state) => state.openId);
  const metadata = useApp((state) => state.conversation?.metadata);
  useApp((state) => state.newAgent);
  const agentId = page.agentId();
  const agent = agents.find((held) => held.agent_id === agentId);
  const models = useModels(agentId);
  const overrides = isMap(metadata?.overrides) ? metadata.overrides : {};
  const model = typeof overrides.model === "string" ? overrides.model : (agent?.model ?? null);
  const chooseAgent = async (chosen: string) => {
    if (!openId) {
      page.store.patch({ newAgent: chosen });
      await page.actions.loadElements();
      return;
    }
    await page.attempt(() => page.api.switchAgent(openId, chosen));
    await page.chat.reload();
    await page.actions.loadElements();
  };
  const chooseModel = async (chosen: string) => {
    if (!openId) return;
    await page.attempt(() => page.api.patchSession(openId, { overrides: { model: chosen } }));
    await page.chat.reload();
  };
  if (!agentId) return null;
  return (
    <Menu
      label="Agent and model"
      align="start"
      trigger={
        <button type="button" className="choice-button">
          <span className="visually-hidden">Agent</span> <span>{agentId}</span>
          {model && model !== agentId && (
            <>
              <span className="visually-hidden">with model</span> <span className="muted">{model}</span>
            </>
          )}
          <ChevronDown aria-hidden />
        </button>
      }
    >
      <MenuLabel>Agent</MenuLabel>
      <MenuChoice value={agentId} choices={agents.map((held) => ({ value: held.agent_id, label: held.agent_id, hint: held.description ?? undefined }))} onChoose={(chosen) => void chooseAgent(chosen)} />
      {openId && models.length > 1 && (
        <>
          <MenuSeparator />
          <MenuLabel>Model</MenuLabel>
          <MenuChoice value={model} choices={models.map((id) => ({ value: id, label: id }))} onChoose={(chosen) => void chooseModel(chosen)} />
        </>
      )}
    </Menu>
  );
}

function useModels(agentId: string | null): string[] {
  const page = usePage();
  const [models, setModels] = useState<string[]>([]);
  useEffect(() => {
    let current = true;
    setModels([]);
    if (!agentId) return;
    page.api
      .models(agentId)
      .then((models) => current && setModels(models.flatMap((model) => (typeof model.id === "string" ? [model.id] : [])).slice(0, 40)))
      .catch(() => undefined);
    return () => {
      current = false;
    };
  }, [agentId, page]);
  return models;
}
