//! The completions on offer; the text field keeps the focus.

import { plainLine } from "../actions/safe";
import type { Completion } from "../api/types";
import { useInView } from "../ui/useInView";

interface Props {
  id: string;
  list: readonly Completion[];
  at: number;
  onTake: (completion: Completion) => void;
}

export function CompletionList({ id, list, at, onTake }: Props) {
  const chosen = useInView<HTMLLIElement>(at);
  return (
    <ul className="completions" id={id} role="listbox" aria-label="Completions" tabIndex={0}>
      {list.map((completion, place) => (
        <li
          key={place}
          id={`${id}-${place}`}
          ref={place === at ? chosen : undefined}
          role="option"
          aria-selected={place === at}
          onPointerDown={(event) => {
            event.preventDefault();
            onTake(completion);
          }}
        >
          <span>{plainLine(completion.display)}</span>
          {completion.meta && <small>{plainLine(completion.meta)}</small>}
        </li>
      ))}
    </ul>
  );
}
