//! What the user wrote; it can be edited, which asks again in a branch beside this one.

import { Check, ChevronLeft, ChevronRight, Copy, Pencil } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { plainText } from "../actions/safe";
import { isMap } from "../api/types";
import type { Seen } from "../state/chat";
import { isBusy, isSettled } from "../state/conversation";
import { type UserItem, textOf } from "../state/items";
import { useApp, usePage } from "../state/page";
import { ranIn } from "../state/ran";
import { useTries } from "../state/tries";
import { IconButton } from "../ui/IconButton";
import { useCopied } from "../ui/useCopied";
import { Folded, FoldedWords } from "./Folded";
import { MessageMenu } from "./MessageMenu";
import { PartList } from "./Parts";
import { attachedTo } from "./attached";

export function UserMessage({ item }: { item: UserItem }) {
  const page = usePage();
  // What stands at this place may change while somebody writes.
  const [editing, setEditing] = useState<Seen | null>(null);
  const [raw, setRaw] = useState(false);
  const { message, index } = item;
  const compaction = message.metadata?.compaction;
  const ran = ranIn(message);
  const typed = ran ? `!${ran.command}` : typeof message.metadata?.command === "string" ? message.metadata.command : null;
  const text = typed ?? textOf(message.content);
  if (isMap(compaction)) {
    return (
      <details className="fold compaction">
        <summary>
          <ChevronRight aria-hidden className="chevron" />
          Earlier messages were replaced by a summary
          {typeof compaction.replaced === "number" && ` (${compaction.replaced})`}
        </summary>
        <div className="fold-body pre-wrap" dir="auto">{text}</div>
      </details>
    );
  }
  return (
    <div className="user-message" data-pending={item.pending || undefined}>
      {editing && index !== null ? (
        <EditMessage text={text} seen={editing} onDone={() => setEditing(null)} />
      ) : (
        <>
          <div className="bubble" dir="auto">
            <FoldedWords text={text} />
            <PartList shown={attachedTo(message)} />
          </div>
          {ran && (
            <div className="ran">
              <Folded text={plainText(ran.output)} />
            </div>
          )}
          {index !== null && (
            <div className="message-tools">
              <BranchWalker index={index} />
              <UserTools text={text} onEdit={() => setEditing(page.chat.seen(index))} />
              <MessageMenu index={index} message={message} raw={raw} onRaw={() => setRaw(!raw)} />
            </div>
          )}
          {raw && (
            <pre className="raw" tabIndex={0}>
              {JSON.stringify(message, null, 2)}
            </pre>
          )}
        </>
      )}
    </div>
  );
}

function UserTools({ text, onEdit }: { text: string; onEdit: () => void }) {
  const [copied, copy] = useCopied();
  const busy = useApp((state) => state.conversation !== null && isBusy(state.conversation));
  return (
    <>
      <IconButton label={copied ? "Copied" : "Copy message"} onClick={() => copy(text)}>
        {copied ? <Check /> : <Copy />}
      </IconButton>
      <IconButton label="Edit and ask again" disabled={busy} onClick={onEdit}>
        <Pencil />
      </IconButton>
    </>
  );
}

function EditMessage({ text, seen, onDone }: { text: string; seen: Seen; onDone: () => void }) {
  const page = usePage();
  const [draft, setDraft] = useState(text);
  const [placed, setPlaced] = useState(seen.placed);
  const send = async () => {
    if (draft.trim() === "") return;
    if (await page.chat.branch({ ...seen, placed }, draft)) onDone();
    // Who was told of a change has looked; if the message is there still, the next try counts.
    else setPlaced(page.chat.seen(seen.index)?.placed ?? placed);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      onDone();
    }
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      void send();
    }
  };
  return (
    <div className="edit-message">
      <textarea dir="auto" aria-label="Edit message" value={draft} onChange={(event) => setDraft(event.target.value)} onKeyDown={onKeyDown} autoFocus rows={3} />
      <div className="row-end">
        <button type="button" className="button" onClick={onDone}>
          Cancel
        </button>
        <button type="button" className="button primary" onClick={() => void send()} disabled={draft.trim() === ""}>
          Ask again
        </button>
      </div>
    </div>
  );
}

/** Walks between the branches that part at this message. */
function BranchWalker({ index }: { index: number }) {
  const page = usePage();
  // While an answer is on its way, and after a failure, a message may be taken back and sent anew at any moment.
  const sessionId = useApp((state) => (isSettled(state.conversation, index) ? state.openId : null));
  const tries = useTries(page.chat.tries, sessionId, index);
  if (!tries) return null;
  const ids = tries.sessions.map((summary) => summary.session_id);
  const at = tries.current ?? ids.length - 1;
  const to = (number: number) => page.go(ids[number] ?? null);
  return (
    <span className="walker" role="group" aria-label="Branches">
      <IconButton label="Previous branch" disabled={at === 0} onClick={() => to(at - 1)}>
        <ChevronLeft />
      </IconButton>
      <span>
        {at + 1}/{ids.length}
      </span>
      <IconButton label="Next branch" disabled={at === ids.length - 1} onClick={() => to(at + 1)}>
        <ChevronRight />
      </IconButton>
    </span>
  );
}
