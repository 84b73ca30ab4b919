//! What the model said: reasoning folded, text as Markdown, and what can be done with it.

import { Check, Copy, GitBranch, RefreshCw } from "lucide-react";
import { useState } from "react";
import { readDisplay } from "../actions/display";
import { plainText } from "../actions/safe";
import { type Json, isMap } from "../api/types";
import type { TextItem } from "../state/items";
import { textOf } from "../state/items";
import { useApp, usePage } from "../state/page";
import { isBusy } from "../state/conversation";
import { IconButton } from "../ui/IconButton";
import { Markdown } from "../ui/Markdown";
import { useCopied } from "../ui/useCopied";
import { MessageMenu } from "./MessageMenu";
import { Reasoning } from "./Reasoning";
import { Parts } from "./Parts";

export function AnswerMessage({ item }: { item: TextItem }) {
  const interrupted = item.message?.metadata?.interrupted === true;
  const handled = item.message?.metadata?.handled;
  const isShown = useApp((state) => handled !== undefined && state.displays.shown.some(({ display }) => display.actions.length > 0 && item.text.includes(display.body)));
  // It stands in a card with buttons.
  if (isShown) return null;
  return (
    <div className="answer" data-live={item.live || undefined} data-handled={handled !== undefined || undefined}>
      {item.reasoning !== "" && <Reasoning text={item.reasoning} live={item.live && item.text === ""} tookMs={item.reasonedFor} />}
      {item.text !== "" && (isPlain(handled) ? <p className="pre-wrap" dir="auto">{plainText(item.text)}</p> : <Markdown text={item.text} />)}
      {item.message?.multipartContent && <Parts parts={item.message.multipartContent} />}
      {interrupted && <p className="stopped">Stopped here.</p>}
      {!item.live && item.index !== null && item.message && <AnswerTools item={item} index={item.index} />}
    </div>
  );
}

/** Whether a host plugin answered with a text that is no Markdown. */
function isPlain(handled: Json | undefined): boolean {
  const data = isMap(handled) && isMap(handled.data) ? handled.data : {};
  return readDisplay(data.display)?.format === "text";
}

function AnswerTools({ item, index }: { item: TextItem; index: number }) {
  const page = usePage();
  const [copied, copy] = useCopied();
  const [raw, setRaw] = useState(false);
  const busy = useApp((state) => state.conversation !== null && isBusy(state.conversation));
  const regenerate = () => {
    const { conversation } = page.store.get();
    const asked = conversation?.messages.findLastIndex((message, place) => place < index && message.role === "user") ?? -1;
    const question = page.chat.seen(asked);
    if (question) void page.chat.branch(question, textOf(question.message.content));
  };
  return (
    <>
      <div className="message-tools">
        <IconButton label={copied ? "Copied" : "Copy answer"} onClick={() => copy(item.text)}>
          {copied ? <Check /> : <Copy />}
        </IconButton>
        <IconButton label="Another answer" disabled={busy} onClick={regenerate}>
          <RefreshCw />
        </IconButton>
        <IconButton label="Continue in a copy from here" disabled={busy} onClick={() => void page.chat.fork(page.chat.seen(index))}>
          <GitBranch />
        </IconButton>
        <MessageMenu index={index} message={item.message} onRaw={() => setRaw(!raw)} raw={raw} />
      </div>
      {raw && (
        <pre className="raw" tabIndex={0}>
          {JSON.stringify(item.message, null, 2)}
        </pre>
      )}
    </>
  );
}
