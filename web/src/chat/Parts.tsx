//! Pictures and files that belong to a message.

import { FileText } from "lucide-react";
import { useEffect, useState } from "react";
import type { JsonMap } from "../api/types";
import { usePage } from "../state/page";
import { bytes } from "../ui/format";
import { type Part, partOf } from "./attached";

export function Parts({ parts }: { parts: readonly JsonMap[] }) {
  return <PartList shown={parts.map(partOf).filter((part) => part !== null)} />;
}

export function PartList({ shown }: { shown: readonly Part[] }) {
  if (shown.length === 0) return null;
  return (
    <ul className="parts">
      {shown.map((part, place) => (
        <li key={place}>
          <PartView part={part} />
        </li>
      ))}
    </ul>
  );
}

function PartView({ part }: { part: Part }) {
  const kept = useAsset(part.asset);
  const picture = part.picture ?? kept;
  if (picture) return <img src={picture} alt={part.name} />;
  return (
    <span className="file-chip">
      <FileText aria-hidden />
      <span>{part.name}</span>
      {part.size !== null && <small>{bytes(part.size)}</small>}
    </span>
  );
}

/** The address of a file of the server, once it is here; `null` for one that is gone. */
function useAsset(id: string | null): string | null {
  const page = usePage();
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (id === null) return;
    const asked = new AbortController();
    let made: string | null = null;
    page.api
      .asset(id, asked.signal)
      .then((file) => {
        if (asked.signal.aborted) return;
        made = URL.createObjectURL(file);
        setUrl(made);
      })
      // A file that cannot be had is told of by its name.
      .catch(() => undefined);
    return () => {
      asked.abort();
      if (made) URL.revokeObjectURL(made);
      setUrl(null);
    };
  }, [id, page]);
  return url;
}
