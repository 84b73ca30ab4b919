//! What was written and not sent, kept for each session in this browser.

const KEY = "orlop.drafts";

type Drafts = Record<string, string>;

function read(): Drafts {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Drafts;
  } catch {
    return {};
  }
}

/** Forgets all of them, with whoever wrote them. */
export function forgetDrafts(): void {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // A browser that keeps nothing has none.
  }
}

export function keptDraft(session: string | null): string {
  return read()[session ?? ""] ?? "";
}

export function keepDraft(session: string | null, text: string): void {
  const { [session ?? ""]: before, ...others } = read();
  if ((before ?? "") === text) return;
  try {
    localStorage.setItem(KEY, JSON.stringify(text === "" ? others : { ...others, [session ?? ""]: text }));
  } catch {
    // A browser that keeps nothing keeps no drafts.
  }
}
