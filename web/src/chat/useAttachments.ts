//! Files on their way to a message: checked before they are uploaded, with previews of pictures.

import { asProblem } from "../api/problem";
import type { Attachment } from "../state/app";
import { newId } from "../state/ids";
import { useApp, usePage } from "../state/page";
import { isPicture } from "./attached";
import { limitText, refusal } from "./limits";

export interface Attachments {
  list: Attachment[];
  add: (files: Iterable<File>) => void;
  /** What may be attached, in words. */
  limit: string;
  /** Which files a picker should offer; all if there is none. */
  accept: string | undefined;
  remove: (id: string) => void;
  clear: () => void;
}

/** The files of the message that is being written in the session in view. They stay with it while another is looked at. */
export function useAttachments(): Attachments {
  const page = usePage();
  const limits = useApp((state) => state.info?.attachments ?? null);
  const session = useApp((state) => state.openId ?? "");
  const list = useApp((state) => state.files[session] ?? NONE);
  const change = (edit: (files: Attachment[]) => Attachment[]) => {
    const { [session]: held = NONE, ...others } = page.store.get().files;
    const files = edit(held);
    page.store.patch({ files: files.length === 0 ? others : { ...others, [session]: files } });
  };
  const upload = async (file: File, id: string) => {
    const patch = (edit: Partial<Attachment>) => page.changeFile(id, (held) => [{ ...held, ...edit }]);
    try {
      const asset = await page.api.upload(file);
      patch({ phase: "ready", assetId: asset.id });
    } catch (error) {
      patch({ phase: "failed", problem: asProblem(error).message });
    }
  };
  const add = (files: Iterable<File>) => {
    for (const file of files) {
      const id = newId();
      const problem = refusal(file, page.store.get().files[session]?.length ?? 0, limits);
      const preview = isPicture(file.type) && !problem ? URL.createObjectURL(file) : null;
      const attachment: Attachment = { id, name: file.name || "pasted", size: file.size, mediaType: file.type, phase: problem ? "failed" : "uploading", problem, assetId: null, preview };
      change((held) => [...held, attachment]);
      if (!problem) void upload(file, id);
    }
  };
  return {
    list,
    add,
    limit: limitText(limits),
    accept: limits?.types?.join(",") || undefined,
    remove: (id) =>
      change((held) => {
        held.filter((it) => it.id === id).forEach(forget);
        return held.filter((it) => it.id !== id);
      }),
    clear: () =>
      change((held) => {
        held.forEach(forget);
        return [];
      }),
  };
}

const NONE: Attachment[] = [];

function forget(attachment: Attachment): void {
  if (attachment.preview) URL.revokeObjectURL(attachment.preview);
}
