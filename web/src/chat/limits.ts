//! Which files may be attached, checked before anything is uploaded. The server has the last word.

import type { Info } from "../api/types";
import { bytes } from "../ui/format";

type Limits = Info["attachments"];

/** A message with more files than this is a mistake. */
export const MAX_FILES = 20;

/** Why a file cannot be attached; `null` if it can. */
export function refusal(file: { size: number; type: string }, attached: number, limits: Limits | null): string | null {
  if (attached >= MAX_FILES) return `A message takes ${MAX_FILES} files.`;
  if (file.size === 0) return "The file is empty.";
  if (limits && file.size > limits.max_bytes) return `Too large: ${bytes(file.size)} of at most ${bytes(limits.max_bytes)}.`;
  if (limits?.types && file.type !== "" && !limits.types.some((type) => fits(file.type, type))) return `Files of type ${file.type} are not taken here.`;
  return null;
}

/** What may be attached, in words. */
export function limitText(limits: Limits | null): string {
  if (!limits) return "";
  const kinds = limits.types ? ` of type ${limits.types.join(", ")}` : "";
  return `up to ${MAX_FILES} files${kinds}, each of ${bytes(limits.max_bytes)} at most`;
}

/** Whether a media type is one of those that a pattern such as `image/*` means. */
function fits(type: string, pattern: string): boolean {
  if (pattern === "*/*") return true;
  return pattern.endsWith("/*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}
