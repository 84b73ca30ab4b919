//! What a conversation is shown as: a list of items, each with a key that stays the same while it changes.

import type { Json, JsonMap, Message, RememberOffer, RequestError } from "../api/types";
import type { Turn } from "./turn";

export interface Approval {
  requestId: string;
  input: Json;
  reason: string;
  choices: string[];
  form: JsonMap | null;
  remember: RememberOffer[];
}

export type ToolStatus = "writing" | "running" | "waiting" | "done" | "failed" | "denied";

export interface ToolItem {
  kind: "tool";
  key: string;
  callId: string;
  /** Where the message that makes the call stands, and the one that answers it, once they are stored. */
  callIndex: number | null;
  resultIndex: number | null;
  name: string;
  arguments: Json;
  preview: string;
  status: ToolStatus;
  /** What it said on its way, as text. */
  output: string;
  /** What the model reads of it. */
  result: string | null;
  /** What a person sees of it, if the tool says. */
  display: JsonMap | null;
  /** Pictures and files of the result. */
  parts: JsonMap[];
  approval: Approval | null;
  decision: { decision: string; by: string } | null;
  /** What an agent does that work was given to. */
  children: Turn[];
  began: number | null;
  ended: number | null;
  /** Milliseconds, as the message of the result says. */
  took: number | null;
}

export interface TextItem {
  kind: "text";
  key: string;
  /** Its place in the session; `null` while it is being written. */
  index: number | null;
  text: string;
  reasoning: string;
  /** Milliseconds of reasoning, where they were seen. */
  reasonedFor: number | null;
  live: boolean;
  message: Message | null;
}

export interface UserItem {
  kind: "user";
  key: string;
  index: number | null;
  message: Message;
  /** Sent, but not accepted yet. */
  pending: boolean;
}

export interface SystemItem {
  kind: "system";
  key: string;
  index: number;
  message: Message;
}

export interface NoticeItem {
  kind: "notice";
  key: string;
  tone: "info" | "warning" | "error";
  text: string;
}

export interface FailureItem {
  kind: "failure";
  key: string;
  error: RequestError;
  /** When it failed. */
  since: number;
}

export type Item = UserItem | TextItem | ToolItem | SystemItem | NoticeItem | FailureItem;

/** A text out of the content of a message. */
export function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  if (content === null || content === undefined) return "";
  if (Array.isArray(content)) {
    const parts = content.map((part) =>
      typeof part === "object" && part !== null && !Array.isArray(part) && typeof part.text === "string" ? part.text : "",
    );
    if (parts.some((part) => part !== "")) return parts.join("\n\n");
  }
  return JSON.stringify(content, null, 2);
}
