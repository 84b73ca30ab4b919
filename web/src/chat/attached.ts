//! Pictures and files of a message, as they are shown. Pure.

import { type JsonMap, type Message, isMap } from "../api/types";

export interface Part {
  name: string;
  size: number | null;
  picture: string | null;
  /** The file on the server, if there is one. */
  asset: string | null;
  /** Whether it is a picture that the server has and the message itself does not hold. */
  elsewhere: boolean;
}

const DATA = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/;

/** Whether files of a type are shown as pictures. Those that may have scripts in them are not. */
export function isPicture(type: string): boolean {
  return /^image\/(png|jpeg|gif|webp)$/.test(type);
}

/** What is shown of a content part; `null` for text. */
export function partOf(part: JsonMap): Part | null {
  if (part.type === "text") return null;
  const address = isMap(part.image_url) ? part.image_url.url : part.image_url;
  if (typeof address === "string") return { name: String(part.name ?? "Picture"), size: null, picture: DATA.test(address) ? address : null, asset: null, elsewhere: false };
  const source = isMap(part.source) ? part.source : part;
  const type = String(source.media_type ?? part.media_type ?? "");
  const data = source.data ?? part.data;
  const name = String(part.name ?? part.filename ?? part.title ?? (type.startsWith("image/") ? "Picture" : "File"));
  const picture = isPicture(type) && typeof data === "string" && /^[A-Za-z0-9+/=\s]+$/.test(data) ? `data:${type};base64,${data}` : null;
  return { name, size: typeof part.size === "number" ? part.size : null, picture, asset: null, elsewhere: false };
}

/** What is shown beside the text of a user: the files that came with it, each once, and other pictures. */
export function attachedTo(message: Message): Part[] {
  const parts = message.multipartContent ?? [];
  const noted = message.metadata?.attachments;
  const files = Array.isArray(noted) ? noted.filter(isMap) : [];
  // The last parts are of the files, in their order; one each where nobody says how many.
  const counts = files.map((file) => (typeof file.parts === "number" ? file.parts : 1));
  let at = Math.max(0, parts.length - counts.reduce((sum, count) => sum + count, 0));
  const own = parts.slice(0, at).map(partOf).filter((part) => part !== null);
  const attached = files.map((file, place) => {
    const made = parts.slice(at, (at += counts[place] ?? 1));
    const picture = made.map((part) => partOf(part)?.picture ?? null).find((picture) => picture !== null) ?? null;
    const asset = typeof file.id === "string" ? file.id : null;
    // A model that takes no pictures was told of it in words.
    const elsewhere = picture === null && asset !== null && isPicture(String(file.media_type));
    return { name: String(file.name ?? "File"), size: typeof file.size === "number" ? file.size : null, picture, asset, elsewhere };
  });
  return [...own, ...attached];
}

/** The bytes of a picture that a message holds. */
export function pictureIn(address: string): Blob {
  const text = atob(address.slice(address.indexOf(",") + 1).replace(/\s/g, ""));
  return new Blob([Uint8Array.from(text, (letter) => letter.charCodeAt(0))]);
}
