//! One item of a conversation, drawn again only when it changed.

import { ChevronRight, Info, TriangleAlert } from "lucide-react";
import { memo } from "react";
import { type Item, textOf } from "../state/items";
import { AnswerMessage } from "./AnswerMessage";
import { FailureCard } from "./FailureCard";
import { ToolCard } from "./ToolCard";
import { UserMessage } from "./UserMessage";

export const ItemView = memo(function ItemView({ item }: { item: Item }) {
  switch (item.kind) {
    case "user":
      return <UserMessage item={item} />;
    case "text":
      return <AnswerMessage item={item} />;
    case "tool":
      return <ToolCard tool={item} />;
    case "system":
      return (
        <details className="fold system-message">
          <summary>
            <ChevronRight aria-hidden className="chevron" />
            Instructions
          </summary>
          <pre>{textOf(item.message.content)}</pre>
        </details>
      );
    case "notice":
      return (
        <p className="note" data-tone={item.tone}>
          {item.tone === "info" ? <Info aria-hidden /> : <TriangleAlert aria-hidden />}
          <span>{item.text}</span>
        </p>
      );
    case "failure":
      return <FailureCard error={item.error} since={item.since} />;
  }
});
