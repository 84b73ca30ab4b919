//! The session in view: its messages, what plugins show, and the place to write.

import { FileUp } from "lucide-react";
import { useMemo } from "react";
import { DisplaysAt } from "../actions/DisplayCard";
import { NOTHING_SHOWN, isBusy, itemsShown } from "../state/conversation";
import { useApp, usePage } from "../state/page";
import { NOT_LOADED } from "../state/transcript";
import { Announcer } from "./Announcer";
import { AgentChoice } from "./AgentChoice";
import { ChatHeader } from "./ChatHeader";
import { Composer } from "./Composer";
import { ContextGauge } from "./ContextGauge";
import { EmptyChat } from "./EmptyChat";
import { MessageList } from "./MessageList";
import { TurnFooter } from "./TurnFooter";
import { useAttachments } from "./useAttachments";
import { useDroppedFiles } from "./useDroppedFiles";

export function ChatView() {
  const page = usePage();
  const conversation = useApp((state) => state.conversation);
  const displays = useApp((state) => state.displays);
  const place = useApp((state) => state.place);
  const attachments = useAttachments();
  const dragged = useDroppedFiles(attachments.add);
  const shown = useMemo(() => (conversation ? itemsShown(conversation) : NOTHING_SHOWN), [conversation]);
  const busy = conversation !== null && isBusy(conversation);
  const inline = displays.shown.some(({ placement }) => placement === "inline");
  return (
    <section className="chat" aria-label="Chat">
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
      ) : shown.items.length === 0 && !inline ? (
        <EmptyChat />
      ) : (
        <MessageList
          sessionId={conversation?.sessionId ?? "new"}
          {...shown}
          busy={busy}
          place={place}
          whole={conversation?.messages[0] !== NOT_LOADED}
          shown={displays.shown.findLast(({ placement }) => placement === "inline")?.number}
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
      <Announcer {...shown} busy={busy} />
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
