//! The conversation: only what is near the view is in the page, and it stays at the end until somebody scrolls away.

import { ArrowDown } from "lucide-react";
import { type KeyboardEvent, type MouseEvent, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";
import type { Shown } from "../state/conversation";
import type { Item } from "../state/items";
import { asksIn } from "../state/turn";
import { Boundary } from "../ui/Boundary";
import { IconButton } from "../ui/IconButton";
import { usePrinting } from "../ui/usePrinting";
import { ItemView } from "./ItemView";

interface Props extends Shown {
  sessionId: string;
  busy: boolean;
  /** What stands behind the last item: displays, the sign that somebody is at work. */
  after: React.ReactNode;
  /** Grows with everything behind the last item that somebody asked to see. */
  shown?: number;
  /** The message to begin at, instead of the end. */
  place?: { index: number } | null;
  /** Whether all messages are here; before that, more come above. */
  whole?: boolean;
}

/** So near to the end counts as the end. */
const NEAR = 48;

/** So far from it one wants a way back. */
const FAR = 4 * NEAR;

/** So long it takes until sizes are known, at most. */
const SETTLE_MS = 600;

/** So long after a key, a wheel or a finger the view moves by it. */
const BY_HAND_MS = 1_000;

export function MessageList({ sessionId, items, settled, busy, after, shown = 0, place = null, whole = true }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const sticks = useRef(true);
  const lastOffset = useRef(0);
  // On the way to the end, sizes become known and the view is moved about; that is nobody scrolling away.
  const goingUntil = useRef(0);
  const byHandUntil = useRef(0);
  const lastHeight = useRef(0);
  const count = useRef(items.length);
  count.current = items.length;
  const [away, setAway] = useState(false);

  const toEnd = useCallback(() => {
    const view = scroller.current;
    if (!view) return;
    view.scrollTop = view.scrollHeight;
    lastHeight.current = view.scrollHeight;
  }, []);

  /** Goes to the end and stays there. */
  const stick = useCallback(() => {
    sticks.current = true;
    goingUntil.current = performance.now() + SETTLE_MS;
    setAway(false);
    list.current?.scrollToIndex(count.current - 1, { align: "end" });
    toEnd();
  }, [toEnd]);

  const [target, setTarget] = useState<string | null>(null);
  const goingTo = useRef(place);
  useLayoutEffect(() => {
    goingTo.current = place;
    if (!place) stick();
    // Only when another session or message is shown: where the reader is matters more than what comes.
  }, [sessionId, place, stick]);

  // The message may come later than the end, and what comes above it moves it.
  useLayoutEffect(() => {
    if (!goingTo.current) return;
    const { index } = goingTo.current;
    const found = items.findIndex((item) => standsAt(item, index));
    if (whole) goingTo.current = null;
    if (found < 0) {
      if (whole) stick();
      return;
    }
    sticks.current = false;
    goingUntil.current = 0;
    setTarget(items[found]?.key ?? null);
    list.current?.scrollToIndex(found);
  }, [items, place, whole, stick]);

  // Text that grows, code that gets its colours, cards that open: all of it moves the end.
  useEffect(() => {
    const view = scroller.current;
    const content = view?.firstElementChild;
    if (!content) return;
    const observer = new ResizeObserver(() => {
      if (sticks.current) toEnd();
      else setAway(distanceToEnd(view) > FAR);
    });
    observer.observe(content);
    // A banner above, or a message field that grows, makes the view itself smaller.
    observer.observe(view);
    return () => observer.disconnect();
  }, [toEnd]);

  // What the user sends is looked at, wherever the view was.
  const lastUser = items.findLast((item) => item.kind === "user");
  const sentKey = lastUser?.kind === "user" && lastUser.index === null ? lastUser.key : null;
  useLayoutEffect(() => {
    if (sentKey !== null) stick();
  }, [sentKey, stick]);

  useLayoutEffect(() => {
    if (shown > 0) stick();
  }, [shown, stick]);

  const onScroll = () => {
    const view = scroller.current;
    if (!view) return;
    const distance = distanceToEnd(view);
    const now = performance.now();
    // A card that closes moves the view, too, and is nobody scrolling away.
    const byItself = view.scrollHeight !== lastHeight.current && now > byHandUntil.current;
    if (distance < NEAR) sticks.current = true;
    else if (now < goingUntil.current || (sticks.current && byItself)) toEnd();
    else if (view.scrollTop < lastOffset.current - 1) sticks.current = false;
    lastOffset.current = view.scrollTop;
    lastHeight.current = view.scrollHeight;
    setAway(!sticks.current && distance > FAR);
  };

  // Fingers do not hover: what can be done with a message is shown once it is tapped.
  const onTap = (event: MouseEvent) => {
    const tapped = event.target instanceof Element ? event.target.closest(".item") : null;
    for (const other of scroller.current?.querySelectorAll(".item[data-tapped]") ?? []) if (other !== tapped) other.removeAttribute("data-tapped");
    tapped?.setAttribute("data-tapped", "");
  };

  // Half an answer to a question, or half an edit, is not lost by looking at something else.
  const [worksIn, setWorksIn] = useState<string | null>(null);
  const printing = usePrinting();
  const kept = useMemo(() => {
    if (printing) return items.map((_, place) => place);
    const asking = items.slice(settled).flatMap((item, place) => (asksIn(item) ? [settled + place] : []));
    const worked = worksIn === null ? -1 : items.findLastIndex((item) => item.key === worksIn);
    return worked < 0 ? asking : [...asking, worked];
  }, [items, settled, worksIn, printing]);

  const letGo = () => {
    goingTo.current = null;
    goingUntil.current = 0;
    byHandUntil.current = performance.now() + BY_HAND_MS;
  };

  // The browser's own way rolls there, and stops where sizes become known on the way.
  const onKey = (event: KeyboardEvent) => {
    letGo();
    if (event.target !== scroller.current || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    if (event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    if (event.key === "End") stick();
    else {
      sticks.current = false;
      list.current?.scrollToIndex(0);
    }
  };

  return (
    <div className="messages">
      <div className="scroller" ref={scroller} onScroll={onScroll} onWheel={letGo} onTouchMove={letGo} onKeyDown={onKey} onPointerDown={letGo} tabIndex={0} role="region" aria-label="Conversation">
        <div className="column" onClick={onTap} onAnimationEnd={({ animationName }) => animationName === "target" && setTarget(null)}>
          <div role="feed" aria-busy={busy} aria-label="Messages">
            <Virtualizer ref={list} scrollRef={scroller} data={items} itemSize={120} bufferSize={600} keepMounted={kept}>
              {(item, at) => (
                <div className="item" data-kind={item.kind} data-target={item.key === target || undefined} data-next={items[at + 1]?.kind} data-last={at === items.length - 1 || undefined} key={item.key} role="article" aria-posinset={at + 1} aria-setsize={items.length} aria-label={labelOf(item)} onFocus={() => setWorksIn(item.key)}>
                  <Boundary key={item.kind} instead={() => <p className="note">This cannot be shown here. Show JSON, or an export of the session, has it.</p>}>
                    <ItemView item={item} />
                  </Boundary>
                </div>
              )}
            </Virtualizer>
          </div>
          <div className="after-items">{after}</div>
        </div>
      </div>
      {away && (
        <IconButton label="Jump to latest" className="jump" onClick={stick}>
          <ArrowDown aria-hidden />
        </IconButton>
      )}
    </div>
  );
}

function distanceToEnd(view: HTMLElement): number {
  return view.scrollHeight - view.scrollTop - view.clientHeight;
}

/** Whether an item shows the message at a position. */
function standsAt(item: Item, index: number): boolean {
  if (item.kind === "tool") return item.callIndex === index || item.resultIndex === index;
  return "index" in item && item.index === index;
}

function labelOf(item: Item): string {
  switch (item.kind) {
    case "user":
      return "You";
    case "text":
      return "Assistant";
    case "tool":
      return `Tool ${item.name}`;
    case "system":
      return "Instructions";
    case "notice":
      return "Note";
    case "failure":
      return "Error";
  }
}
