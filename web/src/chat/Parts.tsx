//! Pictures and files that belong to a message. Pictures are enlarged, files are saved; nothing of them is opened as a page.

import { Download, FileText } from "lucide-react";
import { useEffect, useState } from "react";
import type { JsonMap } from "../api/types";
import { useApp, usePage } from "../state/page";
import { Modal } from "../ui/Modal";
import { bytes } from "../ui/format";
import { saveFile } from "../ui/saveFile";
import { type Part, pictureIn, partOf } from "./attached";

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
  const kept = useAsset(part.elsewhere ? part.asset : null);
  const save = useSave(part);
  const picture = part.picture ?? kept;
  if (picture) return <Picture name={part.name} address={picture} onSave={save} />;
  const inside = (
    <>
      <FileText aria-hidden />
      <span>{part.name}</span>
      {part.size !== null && <small>{bytes(part.size)}</small>}
    </>
  );
  if (!save) return <span className="file-chip">{inside}</span>;
  return (
    <button type="button" className="file-chip" title={`Save ${part.name}`} onClick={save}>
      {inside}
      <Download aria-hidden />
      <span className="visually-hidden">Save</span>
    </button>
  );
}

function Picture({ name, address, onSave }: { name: string; address: string; onSave: (() => void) | null }) {
  const [large, setLarge] = useState(false);
  return (
    <>
      <button type="button" className="picture" aria-label={`Enlarge ${name}`} onClick={() => setLarge(true)}>
        <img src={address} alt={name} />
      </button>
      {large && (
        <Modal title={name} wide onClose={() => setLarge(false)}>
          <img className="large-picture" src={address} alt={name} />
          {onSave && (
            <div className="row-end">
              <button type="button" className="button" onClick={onSave}>
                <Download aria-hidden /> Save
              </button>
            </div>
          )}
        </Modal>
      )}
    </>
  );
}

/** Saves a file as it was attached, or the picture that the message holds. Whoever reads by a link gets no files of the server. */
function useSave({ name, asset, picture }: Part): (() => void) | null {
  const page = usePage();
  const shared = useApp((state) => state.shared !== null);
  if (asset !== null && !shared) {
    return () =>
      void page.attempt(async () => {
        saveFile(name, await page.api.asset(asset));
      });
  }
  return picture === null ? null : () => saveFile(nameOf(name, picture), pictureIn(picture));
}

/** A picture without a name of its own still says what it is. */
function nameOf(name: string, address: string): string {
  return name.includes(".") ? name : `${name}.${/^data:image\/(\w+)/.exec(address)?.[1] ?? "png"}`;
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
