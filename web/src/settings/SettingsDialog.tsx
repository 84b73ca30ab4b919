//! Settings of the page, kept in this browser, and the way out.

import { useState } from "react";
import { allowNotes, canNotify, notifies } from "../state/notify";
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
      <Notes />
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
          <p className="muted">This browser keeps the token you typed, and what you wrote and did not send.</p>
          <button type="button" className="button" onClick={() => page.forgetUser()}>
            Forget the token
          </button>
        </section>
      )}
    </Modal>
  );
}

function Notes() {
  const on = useStore(notifies, (held) => held);
  const [refused, setRefused] = useState(false);
  const choose = async (wanted: boolean) => {
    if (wanted) setRefused(!(await allowNotes()));
    else notifies.set(false);
  };
  return (
    <section className="settings-section">
      <h3>Notes of the system</h3>
      <label className="check">
        <input type="checkbox" checked={on} disabled={!canNotify()} onChange={(event) => void choose(event.target.checked)} />
        Tell me when a long answer ends, or waits for me, while I look elsewhere
      </label>
      {refused && (
        <p className="field-error" role="alert">
          The browser does not allow it. Its settings for this page do.
        </p>
      )}
    </section>
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
