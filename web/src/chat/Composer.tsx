//! Where the user writes: grows with its text, takes files, completes, and keeps drafts.

import { ArrowUp, Paperclip, Square } from "lucide-react";
import { type ClipboardEvent, type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import type { Completion } from "../api/types";
import { isBusy } from "../state/conversation";
import { isGoing } from "../state/outbox";
import { useApp, usePage } from "../state/page";
import { IconButton } from "../ui/IconButton";
import { isComposing, isSending } from "../ui/keys";
import { useFingers, usesFingers } from "../ui/media";
import { useGrowing } from "../ui/useGrowing";
import { AttachmentList } from "./AttachmentList";
import { CompletionList } from "./CompletionList";
import { QueuedList } from "./QueuedList";
import { complete, isComplete } from "./completion";
import { keepDraft, keptDraft } from "./drafts";
import type { Attachments } from "./useAttachments";
import { useCompletions } from "./useCompletions";
import { useSending } from "./useSending";

/** A paste this long becomes a file. */
const LONG_PASTE = 12_000;

export function Composer({ attachments, footer, gauge }: { attachments: Attachments; footer: React.ReactNode; gauge: React.ReactNode }) {
  const page = usePage();
  const openId = useApp((state) => state.openId);
  const busy = useApp((state) => (state.conversation ? isBusy(state.conversation) : isGoing(state.outbox, state.openId ?? "")));
  const [text, setText] = useState(() => keptDraft(openId));
  const [cursor, setCursor] = useState(0);
  const [focused, setFocused] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const listId = useId();
  const limitId = useId();
  const [attaching, setAttaching] = useState(false);
  const fingers = useFingers();
  const completions = useCompletions(text.slice(0, cursor), focused);

  useEffect(() => {
    setText(keptDraft(openId));
    if (!usesFingers()) box.current?.focus();
  }, [openId]);
  useEffect(() => keepDraft(openId, text), [openId, text]);
  // An empty field is as high as its hint, which is another while the agent works.
  useGrowing(box, text, busy);

  const { canSend, send, held } = useSending(openId, text, attachments.list, () => {
    setText("");
    keepDraft(openId, "");
    attachments.clear();
    page.chat.send(text, attachments.list);
    box.current?.focus();
  });

  const take = async (completion: Completion) => {
    // Plugins are asked about the text with the completion in it, and may have another for its place.
    const plain = complete(text, cursor, completion.start, completion.replacement);
    const replacement = await completions.taken(plain.text, completion);
    // Whoever typed on meanwhile has made up their mind.
    if (box.current?.value !== text) return;
    const edited = complete(text, cursor, completion.start, replacement);
    completions.close();
    setText(edited.text);
    setCursor(edited.cursor);
    requestAnimationFrame(() => {
      box.current?.focus();
      box.current?.setSelectionRange(edited.cursor, edited.cursor);
    });
  };

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (isComposing(event.nativeEvent)) return;
    const chosen = completions.list[completions.at];
    const open = chosen !== undefined;
    if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      completions.move(event.key === "ArrowDown" ? 1 : -1);
    } else if (open && (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && !isComplete(text, cursor, chosen)))) {
      event.preventDefault();
      void take(chosen);
    } else if (open && event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      completions.close();
    } else if (isSending(event.nativeEvent)) {
      event.preventDefault();
      send();
    }
  };

  const onPaste = (event: ClipboardEvent) => {
    const pasted = [...event.clipboardData.files];
    const long = event.clipboardData.getData("text/plain");
    if (pasted.length > 0) attachments.add(pasted);
    else if (long.length > LONG_PASTE) attachments.add([new File([long], "pasted.txt", { type: "text/plain" })]);
    else return;
    event.preventDefault();
  };

  return (
    <div className="composer-area">
      <QueuedList />
      <div className="composer">
        {completions.list.length > 0 && <CompletionList id={listId} list={completions.list} at={completions.at} onTake={(completion) => void take(completion)} />}
        <AttachmentList list={attachments.list} onRemove={attachments.remove} />
        {attachments.limit !== "" && (
          <p id={limitId} className={attaching || attachments.list.length > 0 ? "attach-limit" : "visually-hidden"}>
            Files: {attachments.limit}
          </p>
        )}
        {held && (
          <p className="send-held" role={held.tone}>
            {held.text}
          </p>
        )}
        <textarea
          ref={box}
          id="composer"
          dir="auto"
          rows={1}
          value={text}
          placeholder={busy ? "Write the next message; it waits its turn" : "Ask anything. / for commands, @ for files"}
          aria-label="Message"
          enterKeyHint={fingers ? "enter" : "send"}
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-controls={completions.list.length > 0 ? listId : undefined}
          aria-activedescendant={completions.list.length > 0 ? `${listId}-${completions.at}` : undefined}
          onChange={(event) => {
            setText(event.target.value);
            setCursor(event.target.selectionStart);
          }}
          onSelect={(event) => setCursor(event.currentTarget.selectionStart)}
          onFocus={() => setFocused(true)}
          onBlur={() => setFocused(false)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        <div className="composer-row">
          <IconButton
            label="Attach files"
            title={["Attach files", attachments.limit].filter(Boolean).join(": ")}
            aria-describedby={attachments.limit !== "" ? limitId : undefined}
            onFocus={() => setAttaching(true)}
            onBlur={() => setAttaching(false)}
            onClick={() => files.current?.click()}
          >
            <Paperclip />
          </IconButton>
          <input
            ref={files}
            type="file"
            multiple
            accept={attachments.accept}
            hidden
            aria-hidden
            tabIndex={-1}
            onChange={(event) => {
              attachments.add(event.target.files ?? []);
              event.target.value = "";
            }}
          />
          <div className="composer-footer">{footer}</div>
          {gauge}
          {busy && (
            <IconButton label="Stop (Esc)" className="stop" onClick={() => page.chat.stop()}>
              <Square />
            </IconButton>
          )}
          {(!busy || canSend) && (
            <IconButton label={busy ? "Send when the answer is done" : fingers ? "Send" : "Send (Enter)"} className="send" disabled={!canSend} onClick={send}>
              <ArrowUp />
            </IconButton>
          )}
        </div>
      </div>
    </div>
  );
}
