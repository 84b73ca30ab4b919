//! What an action wants a person to see, inline, as a banner or in front of the page.

import { CircleAlert, CircleCheck, Info, TriangleAlert, X } from "lucide-react";
import { useState } from "react";
import { textOf } from "../state/items";
import { useApp, usePage } from "../state/page";
import { IconButton } from "../ui/IconButton";
import { Markdown } from "../ui/Markdown";
import { Modal } from "../ui/Modal";
import type { Variant } from "./display";
import { type Placement, type Shown, isSaid } from "./surface";

/** The displays of one placement. */
export function DisplaysAt({ placement }: { placement: Placement }) {
  const displays = useApp((state) => state.displays);
  const asides = useApp((state) => state.conversation?.asides);
  const page = usePage();
  const answers = (asides ?? []).flatMap((aside) => aside.answers.map((answer) => textOf(answer.content)));
  const shown = displays.shown.filter((held) => held.placement === placement && !isSaid(held, answers));
  if (placement === "modal") {
    const top = shown.at(-1);
    if (!top) return null;
    const close = () => page.actions.dismiss(top.number);
    return (
      <Modal key={top.number} title={top.display.title ?? "Message"} closable={top.display.dismissible} onClose={close}>
        <div className="modal-display" data-variant={top.display.variant}>
          <VariantIcon variant={top.display.variant} />
          <div className="display-content">
            <Body shown={top} />
            <Actions shown={top} />
          </div>
        </div>
      </Modal>
    );
  }
  const cards = shown.map((held) => (
    <section key={held.number} className={placement === "banner" ? "display banner" : "display"} data-variant={held.display.variant} aria-label={held.display.title ?? "Message of a plugin"} role={held.display.variant === "error" ? "alert" : "status"}>
      <VariantIcon variant={held.display.variant} />
      <div className="display-content">
        {held.display.title && <strong dir="auto">{held.display.title}</strong>}
        <Body shown={held} />
        <Actions shown={held} />
      </div>
      {held.display.dismissible && (
        <IconButton label="Dismiss" onClick={() => page.actions.dismiss(held.number)}>
          <X />
        </IconButton>
      )}
    </section>
  ));
  if (placement === "inline" || cards.length === 0) return cards;
  // What came last is seen first where there are many.
  return (
    <div className="banners" role="region" aria-label="Banners" tabIndex={0}>
      {cards.reverse()}
    </div>
  );
}

function Body({ shown: { display } }: { shown: Shown }) {
  return display.format === "markdown" ? <Markdown text={display.body} /> : <p className="pre-wrap" dir="auto">{display.body}</p>;
}

function Actions({ shown }: { shown: Shown }) {
  const page = usePage();
  const [running, setRunning] = useState<string | null>(null);
  if (shown.display.actions.length === 0) return null;
  return (
    <div className="row">
      {shown.display.actions.map((action) => (
        <button
          key={action.id}
          type="button"
          className="button"
          disabled={running !== null}
          onClick={() => {
            setRunning(action.id);
            void page.actions.runDisplayAction(shown.number, shown.surface, action).finally(() => setRunning(null));
          }}
        >
          {action.label}
        </button>
      ))}
    </div>
  );
}

function VariantIcon({ variant }: { variant: Variant }) {
  switch (variant) {
    case "success":
      return <CircleCheck aria-hidden />;
    case "warning":
      return <TriangleAlert aria-hidden />;
    case "error":
      return <CircleAlert aria-hidden />;
    case "info":
      return <Info aria-hidden />;
  }
}
