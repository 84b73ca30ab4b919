//! Pictures and files of a message, as they are shown. Pure.

import { type JsonMap, type Message, isMap } from "../api/types";

export interface Part {
  name: string;
  size: number | null;
  picture: string | null;
  /** The file on the server, where it is a picture that the message itself does not hold. */
  asset: string | null;
}

const DATA = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/;
const PICTURE = /^image\/(png|jpeg|gif|webp)$/;

/** What is shown of a content part; `null` for text. */
export function partOf(part: JsonMap): Part | null {
  if (part.type === "text") return null;
  const address = isMap(part.image_url) ? part.image_url.url : part.image_url;
  if (typeof address === "string") return { name: String(part.name ?? "Picture"), size: null, picture: DATA.test(address) ? address : null, asset: null };
  const source = isMap(part.source) ? part.source : part;
  const type = String(source.media_type ?? part.media_type ?? "");
  const data = source.data ?? part.data;
  const name = String(part.name ?? part.filename ?? part.title ?? (type.startsWith("image/") ? "Picture" : "File"));
  const picture = PICTURE.test(type) && typeof data === "string" && /^[A-Za-z0-9+/=\s]+$/.test(data) ? `data:${type};base64,${data}` : null;
  return { name, size: typeof part.size === "number" ? part.size : null, picture, asset: null };
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
    // A model that takes no pictures was told of it in words.
    const asset = picture === null && PICTURE.test(String(file.media_type)) && typeof file.id === "string" ? file.id : null;
    return { name: String(file.name ?? "File"), size: typeof file.size === "number" ? file.size : null, picture, asset };
  });
  return [...own, ...attached];
}
