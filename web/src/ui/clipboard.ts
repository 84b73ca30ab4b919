//! Copies a text. Over plain HTTP browsers have no clipboard for pages, only the command of old.

/** Says whether it worked. */
export async function copyText(text: string): Promise<boolean> {
  try {
    // Absent where the page is not secure, whatever its type says.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (!clipboard) return copySelected(text);
    await clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text: string): boolean {
  const before = document.activeElement;
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.className = "visually-hidden";
  // A dialog keeps the focus inside of it.
  (before?.closest('[role="dialog"]') ?? document.body).append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
    if (before instanceof HTMLElement) before.focus();
  }
}

/** What to tell where it did not. */
export const NOT_COPIED = "The browser does not let this page copy. Select the text and copy it with the keyboard.";
