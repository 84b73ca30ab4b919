//! The session in view: its messages, what plugins show, and the place to write.

import { FileUp } from "lucide-react";
import { type DragEvent, useMemo, useState } from "react";
import { DisplaysAt } from "../actions/DisplayCard";
import { isBusy, itemsShown } from "../state/conversation";
import { useApp, usePage } from "../state/page";
import { Announcer } from "./Announcer";
import { AgentChoice } from "./AgentChoice";
import { ChatHeader } from "./ChatHeader";
import { Composer } from "./Composer";
import { ContextGauge } from "./ContextGauge";
import { EmptyChat } from "./EmptyChat";
import { MessageList } from "./MessageList";
import { TurnFooter } from "./TurnFooter";
import { useAttachments } from "./useAttachments";

export function ChatView() {
  const page = usePage();
  const conversation = useApp((state) => state.conversation);
  const displays = useApp((state) => state.displays);
  const attachments = useAttachments();
  const [dragged, setDragged] = useState(false);
  const items = useMemo(() => (conversation ? itemsShown(conversation) : []), [conversation]);
  const busy = conversation !== null && isBusy(conversation);
  const inline = displays.shown.some((shown) => shown.placement === "inline");
  // A text that is dragged is the browser's to put where it is dropped.
  const onDragOver = (event: DragEvent) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    setDragged(true);
  };
  // What lies above the chat is left for what is in it, too; outside of it, or for nothing, the drag is over.
  const onDragLeave = ({ currentTarget, relatedTarget }: DragEvent) => {
    if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) setDragged(false);
  };
  return (
    <section
      className="chat"
      aria-label="Chat"
      onDragOver={onDragOver}
      onDragLeave={onDragLeave}
      onDrop={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setDragged(false);
        attachments.add(event.dataTransfer.files);
      }}
    >
      <ChatHeader />
      <DisplaysAt placement="banner" />
      {conversation?.phase === "loading" ? (
        <Loading />
      ) : conversation?.phase === "missing" || conversation?.phase === "failed" ? (
        <div className="empty" role="alert">
          <h2>{conversation.phase === "missing" ? "This session does not exist" : "The session could not be loaded"}</h2>
          <p>{conversation.phase === "missing" ? "It may have been deleted, or the address is not complete." : conversation.problem}</p>
          <button type="button" className="button" onClick={() => (conversation.phase === "missing" ? page.go(null) : void page.chat.reload())}>
            {conversation.phase === "missing" ? "New session" : "Try again"}
          </button>
        </div>
      ) : items.length === 0 && !inline ? (
        <EmptyChat />
      ) : (
        <MessageList
          sessionId={conversation?.sessionId ?? "new"}
          items={items}
          busy={busy}
          shown={displays.shown.findLast((shown) => shown.placement === "inline")?.number}
          after={
            <>
              <TurnFooter />
              <DisplaysAt placement="inline" />
            </>
          }
        />
      )}
      <Composer attachments={attachments} footer={<AgentChoice />} gauge={<ContextGauge />} />
      <DisplaysAt placement="modal" />
      <Announcer items={items} busy={busy} />
      {dragged && (
        <div className="drop-zone" aria-hidden>
          <FileUp />
          <span>Drop files to attach them</span>
          {attachments.limit !== "" && <small>{attachments.limit}</small>}
        </div>
      )}
    </section>
  );
}

function hasFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer.types.includes("Files");
}

function Loading() {
  return (
    <div className="loading" role="status" aria-label="Loading the session">
      <div className="ghost short" />
      <div className="ghost" />
      <div className="ghost" />
      <div className="ghost half" />
    </div>
  );
}
