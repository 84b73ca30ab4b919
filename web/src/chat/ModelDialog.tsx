//! One model among many, found by a part of its name.

import { Check } from "lucide-react";
import { useId, useState } from "react";
import { Modal } from "../ui/Modal";
import { useInView } from "../ui/useInView";

interface Props {
  models: readonly string[];
  current: string | null;
  onChoose: (model: string) => void;
  onClose: () => void;
}

export function ModelDialog({ models, current, onChoose, onClose }: Props) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const marked = useInView<HTMLLIElement>(at);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = models.filter((model) => words.every((word) => model.toLowerCase().includes(word)));
  const choose = (model: string | undefined) => {
    if (model === undefined) return;
    onClose();
    onChoose(model);
  };
  return (
    <Modal title="Choose a model" onClose={onClose}>
      <input
        type="text"
        className="palette-input"
        role="combobox"
        aria-label="Find a model"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
        autoFocus
        value={text}
        placeholder="A part of its name"
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            setAt((now) => (now + (event.key === "ArrowDown" ? 1 : -1) + found.length) % Math.max(1, found.length));
          } else if (event.key === "Enter") {
            event.preventDefault();
            choose(found[at]);
          }
        }}
      />
      <ul className="palette-list" id={id} role="listbox" aria-label="Models">
        {found.map((model, place) => (
          <li key={model} id={`${id}-${place}`} ref={place === at ? marked : undefined} role="option" aria-selected={place === at} onClick={() => choose(model)} onPointerMove={() => setAt(place)}>
            <span>{model}</span>
            {model === current && <Check aria-label="in use" />}
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="muted">No model has this in its name.</p>}
    </Modal>
  );
}
