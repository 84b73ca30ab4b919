//! What the file of a session is called.

const MOST = 80;

/** What some file system refuses, or what would turn a name around. */
const REFUSED = /[\\/:*?"<>|\p{Cc}\p{Bidi_Control}]+/gu;

/** The title as a file can have it; without one, the id. */
export function fileName(title: string, id: string): string {
  const plain = title.replace(REFUSED, "-").replace(/\s+/g, " ");
  const cut = [...plain].slice(0, MOST).join("");
  // Names that begin with a dot are hidden, and some systems drop dots and spaces at the end.
  return cut.replace(/^[\s.-]+|[\s.-]+$/g, "") || id.replace(REFUSED, "-");
}
