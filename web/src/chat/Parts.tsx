//! Pictures and files that belong to a message.

import { FileText } from "lucide-react";
import { type JsonMap, isMap } from "../api/types";
import { bytes } from "../ui/format";

export function Parts({ parts }: { parts: readonly JsonMap[] }) {
  const shown = parts.map(partOf).filter((part) => part !== null);
  if (shown.length === 0) return null;
  return (
    <ul className="parts">
      {shown.map((part, place) => (
        <li key={place}>
          {part.picture ? (
            <img src={part.picture} alt={part.name} />
          ) : (
            <span className="file-chip">
              <FileText aria-hidden />
              <span>{part.name}</span>
              {part.size !== null && <small>{bytes(part.size)}</small>}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

interface Part {
  name: string;
  size: number | null;
  picture: string | null;
}

const DATA = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/;
const PICTURE = /^image\/(png|jpeg|gif|webp)$/;

function partOf(part: JsonMap): Part | null {
  if (part.type === "text") return null;
  const address = isMap(part.image_url) ? part.image_url.url : part.image_url;
  if (typeof address === "string") return { name: String(part.name ?? "Picture"), size: null, picture: DATA.test(address) ? address : null };
  const source = isMap(part.source) ? part.source : part;
  const type = String(source.media_type ?? part.media_type ?? "");
  const data = source.data ?? part.data;
  const name = String(part.name ?? part.filename ?? part.title ?? (type.startsWith("image/") ? "Picture" : "File"));
  const picture = PICTURE.test(type) && typeof data === "string" && /^[A-Za-z0-9+/=\s]+$/.test(data) ? `data:${type};base64,${data}` : null;
  return { name, size: typeof part.size === "number" ? part.size : null, picture };
}
