//! What can be done with the messages behind a tool call: the one that makes it, and its result.

import { useState } from "react";
import type { Message } from "../api/types";
import type { ToolItem } from "../state/items";
import { useApp } from "../state/page";
import { MessageMenu } from "./MessageMenu";

export function ToolMenus({ tool }: { tool: ToolItem }) {
  const messages = useApp((state) => state.conversation?.messages);
  if (!messages || (tool.callIndex === null && tool.resultIndex === null)) return null;
  return (
    <div className="tool-menus">
      {tool.callIndex !== null && <OfMessage label="Call" index={tool.callIndex} message={messages[tool.callIndex]} />}
      {tool.resultIndex !== null && <OfMessage label="Result" index={tool.resultIndex} message={messages[tool.resultIndex]} />}
    </div>
  );
}

function OfMessage({ label, index, message }: { label: string; index: number; message: Message | undefined }) {
  const [raw, setRaw] = useState(false);
  return (
    <>
      <span className="tool-menu">
        <span>{label}</span>
        <MessageMenu about={label} index={index} message={message ?? null} raw={raw} onRaw={() => setRaw(!raw)} />
      </span>
      {raw && (
        <pre className="raw" tabIndex={0}>
          {JSON.stringify(message, null, 2)}
        </pre>
      )}
    </>
  );
}
