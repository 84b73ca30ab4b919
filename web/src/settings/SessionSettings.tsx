//! The settings of a session, as the plugins of its agent describe them. What is set here overrides the agent.

import { type FormEvent, useMemo, useState } from "react";
import { type JsonMap, isMap } from "../api/types";
import { answersOf, readInput } from "../actions/dialog";
import { settingsOf, unknownElements } from "../actions/elements";
import { FormFields } from "../actions/FormFields";
import { plainLine } from "../actions/safe";
import { useApp, usePage } from "../state/page";
import { Modal } from "../ui/Modal";

export default function SessionSettings({ onClose }: { onClose: () => void }) {
  const page = usePage();
  const openId = useApp((state) => state.openId);
  const elements = useApp((state) => state.elements);
  const metadata = useApp((state) => state.conversation?.metadata);
  const overrides = isMap(metadata?.overrides) ? metadata.overrides : {};
  const settings = useMemo(() => settingsOf(elements), [elements]);
  const unknown = useMemo(() => unknownElements(elements), [elements]);
  const inputs = useMemo(() => settings.map((setting) => readInput(setting.element)).filter((input) => input !== null), [settings]);
  const [given, setGiven] = useState<JsonMap>(overrides);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const optional = inputs.map((input) => ({ ...input, required: false, default: undefined }));
    const answers = answersOf(optional, given);
    setErrors(answers.errors);
    if (Object.keys(answers.errors).length > 0 || !openId) return;
    // A field that was emptied goes back to what the agent says.
    const cleared = Object.fromEntries(optional.filter((input) => input.name in overrides && !(input.name in answers.values)).map((input) => [input.name, null]));
    const done = await page.attempt(() => page.api.patchSession(openId, { overrides: { ...answers.values, ...cleared } }));
    if (done === null) return;
    await page.chat.reload();
    await page.actions.loadElements();
    onClose();
  };
  return (
    <Modal title="Settings of this session" onClose={onClose}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        {inputs.length === 0 && <p className="muted">The plugins of this agent offer no settings.</p>}
        <FormFields inputs={inputs.map((input) => ({ ...input, required: false }))} given={given} errors={errors} onChange={setGiven} settings />
        <div className="row-end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={inputs.length === 0}>
            Save
          </button>
        </div>
      </form>
      {unknown.length > 0 && (
        <section className="settings-section">
          <h3>Elements this page does not know</h3>
          <ul className="facts">
            {unknown.map((element, place) => (
              <li key={place}>
                <details>
                  <summary>
                    {plainLine(String(element.label ?? element.id ?? element.ui_type))} <span className="muted">{`${String(element.ui_type)} of ${String(element.plugin ?? "?")}`}</span>
                  </summary>
                  <pre tabIndex={0}>{JSON.stringify(element, null, 2)}</pre>
                </details>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Modal>
  );
}
