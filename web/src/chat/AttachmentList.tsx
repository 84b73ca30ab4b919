//! The files of the message that is being written.

import { FileText, LoaderCircle, TriangleAlert, X } from "lucide-react";
import type { Attachment } from "../state/app";
import { IconButton } from "../ui/IconButton";
import { bytes } from "../ui/format";

export function AttachmentList({ list, onRemove }: { list: Attachment[]; onRemove: (id: string) => void }) {
  if (list.length === 0) return null;
  return (
    <ul className="attachments" aria-label="Attached files">
      {list.map((file) => (
        <li key={file.id} className="file-chip" data-phase={file.phase}>
          {file.phase === "failed" ? <TriangleAlert aria-hidden /> : file.phase === "uploading" ? <LoaderCircle aria-hidden className="spin" /> : file.preview ? <img src={file.preview} alt="" /> : <FileText aria-hidden />}
          <span className="file-name">{file.name}</span>
          <small>{file.problem ?? (file.phase === "uploading" ? "uploading" : bytes(file.size))}</small>
          <IconButton label={`Remove ${file.name}`} onClick={() => onRemove(file.id)}>
            <X />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}
