//! Text and addresses from plugins, made harmless, by the same rules as in the terminal.

const REORDERS = /[\u202a-\u202e\u2066-\u2069]/g;
// Strings for a terminal (titles and the like) end at the next control character or not at all.
const STRINGS = /(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0000-\u001f\u007f-\u009f]*(?:\u0007|\u009c|\u001b\\)/g;
const SEQUENCES = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]/g;
const ESCAPES = /\u001b[ -/]*[0-~]/g;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** The text without anything a terminal would act on, and without what makes it read differently. */
export function plainText(text: string): string {
  return text
    .replace(STRINGS, "")
    .replace(SEQUENCES, "")
    .replace(ESCAPES, "")
    .replace(/\r\n?/g, "\n")
    .replace(CONTROLS, "")
    .replace(REORDERS, "");
}

/** The text on one line, without spaces around it. */
export function plainLine(text: string): string {
  return plainText(text).replace(/[\n\t]/g, " ").trim();
}

/** The address if it is one of the web. */
export function webUrl(text: string): string | null {
  const trimmed = text.trim();
  if (/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(trimmed)) return null;
  let url: URL;
  try {
    url = new URL(trimmed);
  } catch {
    return null;
  }
  if ((url.protocol !== "http:" && url.protocol !== "https:") || url.host === "") return null;
  return url.href === `${trimmed}/` ? trimmed : url.href;
}
