//! Settings of the page, kept in this browser, and the way out.

import { useApp, usePage } from "../state/page";
import { useStore } from "../state/store";
import { Modal } from "../ui/Modal";
import { type TextSize, type Theme, textSize, theme } from "../ui/theme";

export default function SettingsDialog({ onClose }: { onClose: () => void }) {
  const page = usePage();
  const currentTheme = useStore(theme, (held) => held);
  const currentSize = useStore(textSize, (held) => held);
  const agents = useApp((state) => state.agents);
  return (
    <Modal title="Settings" onClose={onClose}>
      <Choice<Theme> legend="Theme" value={currentTheme} choices={["system", "light", "dark"]} onChoose={(chosen) => theme.set(chosen)} />
      <Choice<TextSize> legend="Text size" value={currentSize} choices={["small", "normal", "large"]} onChoose={(chosen) => textSize.set(chosen)} />
      <section className="settings-section">
        <h3>Agents</h3>
        <ul className="facts">
          {agents.map((agent) => (
            <li key={agent.agent_id}>
              <strong>{agent.agent_id}</strong>
              <span className="muted">{[agent.provider, agent.model].filter(Boolean).join("/")}</span>
              {agent.description && <small>{agent.description}</small>}
            </li>
          ))}
        </ul>
      </section>
      {page.api.client.hasToken && (
        <section className="settings-section">
          <h3>Access</h3>
          <p className="muted">This browser keeps the token you typed.</p>
          <button
            type="button"
            className="button"
            onClick={() => {
              page.api.client.setToken(null);
              location.reload();
            }}
          >
            Forget the token
          </button>
        </section>
      )}
    </Modal>
  );
}

function Choice<T extends string>({ legend, value, choices, onChoose }: { legend: string; value: T; choices: readonly T[]; onChoose: (value: T) => void }) {
  return (
    <fieldset className="segmented">
      <legend>{legend}</legend>
      <div>
        {choices.map((choice) => (
          <label key={choice}>
            <input type="radio" name={legend} checked={value === choice} onChange={() => onChoose(choice)} />
            <span>{choice[0]?.toUpperCase() + choice.slice(1)}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
