//! What the user sent and the server does not have yet: a list for each session, in the order in which it was written. It stays with the
//! tab, so that neither another session nor a reload loses it. Each entry carries the id of its request: what comes twice runs once.

import type { JsonMap, Message } from "../api/types";
import { isMap } from "../api/types";
import type { Attachment } from "./app";
import { newId } from "./ids";
import { type Owner, keepFor, keptBy } from "./owner";

/** A message on its way. */
export interface Outgoing {
  /** The id of its request. */
  id: string;
  text: string;
  attachments: Attachment[];
  parts: JsonMap[];
}

/** The messages of one session that wait. */
export interface Waiting {
  entries: Outgoing[];
  /** Why they are not sent by themselves; `null` if they are. */
  held: string | null;
}

/** By session; a new one that does not exist yet has the empty id. */
export type Outbox = Record<string, Waiting>;

const NOTHING: Waiting = { entries: [], held: null };

export function waitingIn(outbox: Outbox, session: string): Waiting {
  return outbox[session] ?? NOTHING;
}

/** Whether something of a session is on its way. */
export function isGoing(outbox: Outbox, session: string): boolean {
  const { entries, held } = waitingIn(outbox, session);
  return entries.length > 0 && held === null;
}

function set(outbox: Outbox, session: string, waiting: Waiting): Outbox {
  const { [session]: _, ...others } = outbox;
  return waiting.entries.length === 0 ? others : { ...others, [session]: waiting };
}

/** With a message behind those that wait, or before them. Whoever sends wants what waits to go, too. */
export function put(outbox: Outbox, session: string, entry: Outgoing, place: "last" | "first" = "last"): Outbox {
  const { entries } = waitingIn(outbox, session);
  return set(outbox, session, { entries: place === "last" ? [...entries, entry] : [entry, ...entries], held: null });
}

export function without(outbox: Outbox, session: string, id: string): Outbox {
  const { entries, held } = waitingIn(outbox, session);
  return set(outbox, session, { entries: entries.filter((entry) => entry.id !== id), held });
}

/** With a reason not to send what waits, or none. */
export function hold(outbox: Outbox, session: string, held: string | null): Outbox {
  return set(outbox, session, { ...waitingIn(outbox, session), held });
}

/** With everything of one session given to another. */
export function moved(outbox: Outbox, from: string, to: string): Outbox {
  const entries = [...waitingIn(outbox, to).entries, ...waitingIn(outbox, from).entries];
  return set(set(outbox, from, NOTHING), to, { entries, held: null });
}

/** The message as it is shown until it is stored. */
export function messageOf({ text, attachments, parts }: Outgoing): Message {
  const files = attachments.map(({ assetId, name, mediaType, size }) => ({ id: assetId, name, media_type: mediaType, size }));
  return { role: "user", content: text, metadata: files.length > 0 ? { attachments: files } : {}, ...(parts.length > 0 ? { multipartContent: parts } : {}) };
}

/** The request as it is sent. Somebody else may be at work in the session, or a plugin after the last answer: then it waits there. */
export function requestOf({ id, text, attachments, parts }: Outgoing): JsonMap {
  const files = attachments.flatMap(({ assetId }) => (assetId ? [assetId] : []));
  return {
    content: text,
    request_id: id,
    stream: true,
    queue: true,
    ...(files.length > 0 ? { attachments: files } : {}),
    ...(parts.length > 0 ? { multipart_content: parts } : {}),
  };
}

/** What to send to say a stored message again, with its files. */
export function again(message: Message, text: string): Outgoing {
  const parts = message.multipartContent ?? [];
  const noted = message.metadata?.attachments;
  const files = Array.isArray(noted) ? noted.filter(isMap) : [];
  if (!files.every((file) => typeof file.id === "string")) return { id: newId(), text, attachments: [], parts };
  // The last parts are made of the files, and are made again.
  const made = files.reduce((sum, file) => sum + (typeof file.parts === "number" ? file.parts : 1), 0);
  return { id: newId(), text, attachments: files.map(attachmentOf), parts: parts.slice(0, Math.max(0, parts.length - made)) };
}

function attachmentOf(file: JsonMap): Attachment {
  const text = (key: string) => (typeof file[key] === "string" ? file[key] : "");
  return {
    id: newId(),
    name: text("name"),
    size: typeof file.size === "number" ? file.size : 0,
    mediaType: text("media_type"),
    phase: "ready",
    problem: null,
    assetId: text("id"),
    preview: null,
  };
}

const KEY = "orlop.outbox";

/** What this tab kept for its user. */
export function keptOutbox(owner: Owner): Outbox {
  return keptBy<Outbox>(() => sessionStorage, KEY, owner) ?? {};
}

export function keepOutbox(owner: Owner, outbox: Outbox): void {
  keepFor(() => sessionStorage, KEY, owner, Object.keys(outbox).length === 0 ? null : withoutPreviews(outbox));
}

/** A preview is an address that ends with the page. */
function withoutPreviews(outbox: Outbox): Outbox {
  const plain = (entry: Outgoing) => ({ ...entry, attachments: entry.attachments.map((file) => ({ ...file, preview: null })) });
  return Object.fromEntries(Object.entries(outbox).map(([session, { entries, held }]) => [session, { entries: entries.map(plain), held }]));
}
