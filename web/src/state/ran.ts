//! Commands that a person ran in a message, such as `!ls`: the session keeps them with what they printed.

import { type Message, isMap } from "../api/types";
import { textOf } from "./items";

export interface Ran {
  command: string;
  output: string;
}

/** Said for the model after what was printed. */
const NOTE = /\n\[[^\n]*\]$/;

/** The command of a stored message, if it is one. */
export function ranIn({ role, metadata, content }: Message): Ran | null {
  const ran = metadata?.ran;
  if (role !== "user" || !isMap(ran) || typeof ran.command !== "string") return null;
  const { command } = ran;
  const text = textOf(content);
  const head = `$ ${command}\n`;
  return text.startsWith(head) ? { command, output: text.slice(head.length).replace(NOTE, "") } : null;
}

/** Whether an answer is what a command printed that a message of these keeps. */
export function isKeptIn(answer: Message, messages: readonly Message[]): boolean {
  const handled = answer.metadata?.handled;
  const data = isMap(handled) && isMap(handled.data) ? handled.data : null;
  if (data?.command !== "!" || !isMap(data.display)) return false;
  const { title } = data.display;
  return messages.some((message) => {
    const ran = ranIn(message);
    return ran !== null && `$ ${ran.command}` === title;
  });
}
