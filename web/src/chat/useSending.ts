//! When what is written goes: at once, once its files are there, or not as long as one of them has failed.

import { useEffect, useState } from "react";
import type { Attachment } from "../state/app";

export interface Sending {
  /** Whether there is anything to send. */
  canSend: boolean;
  send: () => unknown;
  /** Why it has not gone, if somebody wanted it to. */
  held: { tone: "status" | "alert"; text: string } | null;
}

export function useSending(session: string | null, text: string, files: readonly Attachment[], deliver: () => void): Sending {
  // Whoever writes on, or goes elsewhere, has something else in mind than what was to be sent.
  const written = JSON.stringify([session, text]);
  const [asked, setAsked] = useState<string | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const failed = files.find((file) => file.phase === "failed");
  const uploading = files.some((file) => file.phase === "uploading");
  const canSend = text.trim() !== "" || files.length > 0;
  const isAsked = canSend && asked === written;
  const isOver = isAsked && (failed !== undefined || !uploading);
  useEffect(() => {
    if (!isAsked) setAsked(null);
  }, [isAsked]);
  useEffect(() => {
    if (!isOver) return;
    setAsked(null);
    if (failed) setRefused(written);
    else deliver();
    // Once for each time somebody asked.
  }, [isOver]);
  const held = (): Sending["held"] => {
    if (failed && refused === written) return { tone: "alert", text: `Not sent: “${failed.name}” could not be attached. Remove it to send the message without it.` };
    return isAsked && uploading ? { tone: "status", text: "It is sent once its files are uploaded." } : null;
  };
  return { canSend, send: () => canSend && setAsked(written), held: held() };
}
