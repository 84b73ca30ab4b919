//! A conversation as a Markdown file.

import type { Message } from "../api/types";
import { callsOf } from "../state/calls";
import { textOf } from "../state/items";

export function markdownOf(title: string, messages: readonly Message[]): string {
  const parts = messages.flatMap((message) => {
    const text = textOf(message.content);
    switch (message.role) {
      case "user":
        return [`## You\n\n${text}`];
      case "assistant": {
        const calls = callsOf(message.metadata).map((call) => `\`${call.name}\` ${fence("json", JSON.stringify(call.arguments, null, 2))}`);
        return [[`## Assistant`, text, ...calls].filter(Boolean).join("\n\n")];
      }
      case "tool":
        return [fence("", text)];
      case "system":
        return [];
    }
  });
  return `# ${title}\n\n${parts.join("\n\n")}\n`;
}

/** A fence that is longer than any inside. */
function fence(language: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((ticks) => ticks[0].length));
  const ticks = "`".repeat(longest + 1);
  return `\n${ticks}${language}\n${text}\n${ticks}`;
}
