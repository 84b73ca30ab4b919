//! What somebody sees who follows a link to a session: the conversation, and nothing to do with it.

import { useEffect, useMemo, useState } from "react";
import { MessageList } from "../chat/MessageList";
import { titleOf } from "../sessions/list";
import { usePage } from "../state/page";
import { useStore } from "../state/store";
import { Reader, itemsRead } from "./reader";

export default function SharedPage({ link }: { link: string }) {
  const page = usePage();
  const reader = useMemo(() => new Reader(page.api, link), [page, link]);
  const reading = useStore(reader.store, (held) => held);
  const [asking, setAsking] = useState(false);
  useEffect(() => {
    void reader.open();
    return () => reader.close();
  }, [reader]);
  const items = useMemo(() => itemsRead(reading), [reading]);
  const title = titleOf(reading);
  useEffect(() => {
    document.title = `${reading.phase === "ready" ? `${title} · ` : ""}Orlop`;
  }, [title, reading.phase]);
  const earlier = async () => {
    setAsking(true);
    await reader.earlier();
    setAsking(false);
  };
  if (reading.phase === "gone" || reading.phase === "failed") {
    return (
      <main className="gate">
        <div role="alert">
          <h1>{reading.phase === "gone" ? "This link leads nowhere" : "The session could not be loaded"}</h1>
          <p>{reading.phase === "gone" ? "It may have been taken back. Ask who gave it to you for another one." : reading.problem}</p>
        </div>
        {reading.phase === "failed" && (
          <button type="button" className="button" onClick={() => reader.retry()}>
            Try again
          </button>
        )}
      </main>
    );
  }
  return (
    <main className="chat shared">
      <header className="chat-header">
        <h1 title={title} dir="auto">{reading.phase === "loading" ? "Loading" : title}</h1>
        <span className="badge">read only</span>
      </header>
      {reading.first > 0 && (
        <p className="earlier">
          <button type="button" className="button" disabled={asking} onClick={() => void earlier()}>
            Show earlier messages
          </button>
        </p>
      )}
      {reading.phase === "ready" && items.length === 0 ? (
        <div className="empty">
          <h2>Nothing was said here yet</h2>
        </div>
      ) : (
        <MessageList sessionId={link} items={items} settled={items.length} busy={reading.live !== ""} after={null} />
      )}
    </main>
  );
}
