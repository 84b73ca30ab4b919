//! Messages that wait until the agent is done.

import { Clock, X } from "lucide-react";
import { useApp, usePage } from "../state/page";
import { IconButton } from "../ui/IconButton";

export function QueuedList() {
  const page = usePage();
  const queue = useApp((state) => state.queue);
  if (queue.length === 0) return null;
  return (
    <ul className="queue" aria-label="Waiting messages">
      {queue.map((queued) => (
        <li key={queued.id}>
          <Clock aria-hidden />
          <span>{queued.text}</span>
          <IconButton label="Do not send" onClick={() => page.chat.unqueue(queued.id)}>
            <X />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}
