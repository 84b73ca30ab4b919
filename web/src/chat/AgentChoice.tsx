//! Which agent and which model answer. For a session that exists both are changed there.

import { ChevronDown } from "lucide-react";
import { useEffect, useState } from "react";
import { isMap } from "../api/types";
import { useApp, usePage } from "../state/page";
import { Menu, MenuChoice, MenuItem, MenuLabel, MenuSeparator } from "../ui/Menu";
import { ModelDialog } from "./ModelDialog";

/** More models than this are chosen from a list that can be searched. */
const FEW = 12;

export function AgentChoice() {
  const page = usePage();
  const agents = useApp((state) => state.agents);
  const openId = useApp((state) => state.openId);
  const metadata = useApp((state) => state.conversation?.metadata);
  const newModel = useApp((state) => state.newModel);
  useApp((state) => state.newAgent);
  const agentId = page.agentId();
  const agent = agents.find((held) => held.agent_id === agentId);
  const models = useModels(agentId);
  const overrides = isMap(metadata?.overrides) ? metadata.overrides : {};
  const model = (openId ? (typeof overrides.model === "string" ? overrides.model : null) : newModel) ?? agent?.model ?? null;
  const [choosing, setChoosing] = useState(false);
  const chooseAgent = async (chosen: string) => {
    if (!openId) {
      page.store.patch({ newAgent: chosen, newModel: null });
      await page.actions.loadElements();
      return;
    }
    await page.attempt(() => page.api.switchAgent(openId, chosen));
    await page.chat.reload();
    await page.actions.loadElements();
  };
  const chooseModel = async (chosen: string) => {
    if (!openId) {
      page.store.patch({ newModel: chosen });
      return;
    }
    await page.attempt(() => page.api.patchSession(openId, { overrides: { model: chosen } }));
    await page.chat.reload();
  };
  if (!agentId) return null;
  return (
    <>
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
        {models.length > 1 && (
          <>
            <MenuSeparator />
            <MenuLabel>Model</MenuLabel>
            {models.length <= FEW ? (
              <MenuChoice value={model} choices={models.map((id) => ({ value: id, label: id }))} onChoose={(chosen) => void chooseModel(chosen)} />
            ) : (
              <MenuItem onSelect={() => setChoosing(true)}>{`Choose among ${models.length} models`}</MenuItem>
            )}
          </>
        )}
      </Menu>
      {choosing && <ModelDialog models={models} current={model} onChoose={(chosen) => void chooseModel(chosen)} onClose={() => setChoosing(false)} />}
    </>
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
      .then((models) => current && setModels(models.flatMap((model) => (typeof model.id === "string" ? [model.id] : []))))
      .catch(() => undefined);
    return () => {
      current = false;
    };
  }, [agentId, page]);
  return models;
}
