//! Files on their way to a message: checked before they are uploaded, with previews of pictures.

import { useEffect, useRef, useState } from "react";
import { asProblem } from "../api/problem";
import type { Attachment } from "../state/app";
import { useApp, usePage } from "../state/page";
import { limitText, refusal } from "./limits";

export interface Attachments {
  list: Attachment[];
  add: (files: Iterable<File>) => void;
  /** What may be attached, in words. */
  limit: string;
  remove: (id: string) => void;
  clear: () => void;
}

export function useAttachments(): Attachments {
  const page = usePage();
  const limits = useApp((state) => state.info?.attachments ?? null);
  const [list, setList] = useState<Attachment[]>([]);
  const held = useRef(list);
  held.current = list;
  useEffect(() => () => held.current.forEach(forget), []);
  const patch = (id: string, change: Partial<Attachment>) => setList((now) => now.map((it) => (it.id === id ? { ...it, ...change } : it)));
  const upload = async (file: File, id: string) => {
    try {
      const asset = await page.api.upload(file);
      patch(id, { phase: "ready", assetId: asset.id });
    } catch (error) {
      patch(id, { phase: "failed", problem: asProblem(error).message });
    }
  };
  const add = (files: Iterable<File>) => {
    for (const file of files) {
      const id = crypto.randomUUID();
      const problem = refusal(file, held.current.length, limits);
      const preview = /^image\/(png|jpeg|gif|webp)$/.test(file.type) && !problem ? URL.createObjectURL(file) : null;
      const attachment: Attachment = { id, name: file.name || "pasted", size: file.size, mediaType: file.type, phase: problem ? "failed" : "uploading", problem, assetId: null, preview };
      held.current = [...held.current, attachment];
      setList(held.current);
      if (!problem) void upload(file, id);
    }
  };
  return {
    list,
    add,
    limit: limitText(limits),
    remove: (id) =>
      setList((now) => {
        now.filter((it) => it.id === id).forEach(forget);
        return now.filter((it) => it.id !== id);
      }),
    clear: () => {
      held.current.forEach(forget);
      setList([]);
    },
  };
}

function forget(attachment: Attachment): void {
  if (attachment.preview) URL.revokeObjectURL(attachment.preview);
}
