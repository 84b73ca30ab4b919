//! Messages that wait until the agent is done, or until the user says that they should go.

import { Clock, Pause, X } from "lucide-react";
import { isBusy } from "../state/conversation";
import { waitingIn } from "../state/outbox";
import { useApp, usePage } from "../state/page";
import { focusChat } from "../ui/focus";
import { IconButton } from "../ui/IconButton";

export function QueuedList() {
  const page = usePage();
  const waiting = useApp((state) => waitingIn(state.outbox, state.openId ?? ""));
  // The one that is being sent is part of the conversation.
  const sent = useApp((state) => (state.conversation?.sent && isBusy(state.conversation) ? state.conversation.turn?.requestId : null));
  const takeBack = (id: string) => {
    page.chat.unqueue(id);
    focusChat();
  };
  const entries = waiting.entries.filter((entry) => entry.id !== sent);
  if (entries.length === 0) return null;
  return (
    <div className="queue-area">
      {waiting.held !== null && (
        <p className="queue-held" role="status">
          <span>Not sent. {waiting.held}</span>
          <button type="button" className="link-button" onClick={() => page.chat.release()}>
            Send now
          </button>
        </p>
      )}
      <ul className="queue" aria-label="Waiting messages">
        {entries.map((entry) => (
          <li key={entry.id}>
            {waiting.held === null ? <Clock aria-hidden /> : <Pause aria-hidden />}
            <span dir="auto">{entry.text || entry.attachments.map((file) => file.name).join(", ")}</span>
            <IconButton label="Do not send" onClick={() => takeBack(entry.id)}>
              <X />
            </IconButton>
          </li>
        ))}
      </ul>
    </div>
  );
}
