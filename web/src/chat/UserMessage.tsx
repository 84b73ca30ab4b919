//! What the user wrote; it can be edited, which asks again in a branch beside this one.

import { Check, ChevronLeft, ChevronRight, Copy, Pencil } from "lucide-react";
import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { plainText } from "../actions/safe";
import { isMap } from "../api/types";
import type { Seen } from "../state/chat";
import { isBusy, isSettled } from "../state/conversation";
import { type UserItem, textOf } from "../state/items";
import { useApp, usePage } from "../state/page";
import { ranIn } from "../state/ran";
import { useTries } from "../state/tries";
import { IconButton } from "../ui/IconButton";
import { isComposing, isSending } from "../ui/keys";
import { useFingers } from "../ui/media";
import { useCopied } from "../ui/useCopied";
import { useGrowing } from "../ui/useGrowing";
import { Folded, FoldedWords } from "./Folded";
import { MessageMenu } from "./MessageMenu";
import { PartList } from "./Parts";
import { attachedTo } from "./attached";

export function UserMessage({ item }: { item: UserItem }) {
  const page = usePage();
  // What stands at this place may change while somebody writes.
  const [editing, setEditing] = useState<Seen | null>(null);
  const [raw, setRaw] = useState(false);
  const editButton = useRef<HTMLButtonElement>(null);
  const giveUp = () => {
    flushSync(() => setEditing(null));
    editButton.current?.focus();
  };
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
        <EditMessage text={text} seen={editing} onDone={() => setEditing(null)} onGiveUp={giveUp} />
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
              <UserTools text={text} editButton={editButton} onEdit={() => setEditing(page.chat.seen(index))} />
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

function UserTools({ text, editButton, onEdit }: { text: string; editButton: RefObject<HTMLButtonElement | null>; onEdit: () => void }) {
  const [copied, copy] = useCopied();
  const busy = useApp((state) => state.conversation !== null && isBusy(state.conversation));
  return (
    <>
      <IconButton label={copied ? "Copied" : "Copy message"} onClick={() => copy(text)}>
        {copied ? <Check /> : <Copy />}
      </IconButton>
      <IconButton ref={editButton} label="Edit and ask again" disabled={busy} onClick={onEdit}>
        <Pencil />
      </IconButton>
    </>
  );
}

interface EditProps {
  text: string;
  seen: Seen;
  onDone: () => void;
  onGiveUp: () => void;
}

function EditMessage({ text, seen, onDone, onGiveUp }: EditProps) {
  const page = usePage();
  const [draft, setDraft] = useState(text);
  const [placed, setPlaced] = useState(seen.placed);
  const fingers = useFingers();
  const box = useRef<HTMLTextAreaElement>(null);
  useGrowing(box, draft);
  useEffect(() => {
    const area = box.current;
    area?.focus();
    area?.setSelectionRange(area.value.length, area.value.length);
  }, []);
  const send = async () => {
    if (draft.trim() === "") return;
    if (await page.chat.branch({ ...seen, placed }, draft)) onDone();
    // Who was told of a change has looked; if the message is there still, the next try counts.
    else setPlaced(page.chat.seen(seen.index)?.placed ?? placed);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !isComposing(event.nativeEvent)) {
      event.stopPropagation();
      onGiveUp();
    }
    if (isSending(event.nativeEvent)) {
      event.preventDefault();
      void send();
    }
  };
  return (
    <div className="edit-message">
      <textarea ref={box} dir="auto" aria-label="Edit message" enterKeyHint={fingers ? "enter" : "send"} value={draft} onChange={(event) => setDraft(event.target.value)} onKeyDown={onKeyDown} rows={1} />
      <div className="row-end">
        <button type="button" className="button" onClick={onGiveUp}>
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
  const to = (number: number) => page.go(ids[number] ?? null, tries.message_index);
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
