//! Keys for everything. One table: the listener, the help and the hints read it.

export interface Shortcut {
  id: string;
  does: string;
  key: string;
  mod?: boolean;
  shift?: boolean;
  alt?: boolean;
}

export const SHORTCUTS = [
  { id: "palette", does: "Search sessions and commands", key: "k", mod: true },
  { id: "new", does: "New session", key: "o", mod: true, shift: true },
  { id: "previous", does: "Previous session", key: "ArrowUp", alt: true },
  { id: "next", does: "Next session", key: "ArrowDown", alt: true },
  { id: "composer", does: "Write a message", key: "l", mod: true, shift: true },
  { id: "stop", does: "Stop the answer", key: "Escape" },
  { id: "copy-code", does: "Copy the last code block", key: ";", mod: true, shift: true },
  { id: "copy-answer", does: "Copy the last answer", key: "c", mod: true, shift: true, alt: true },
  { id: "sidebar", does: "Show or hide sessions", key: "s", mod: true, shift: true },
  { id: "inspector", does: "Show or hide the inspector", key: "i", alt: true },
  { id: "settings", does: "Settings", key: ".", mod: true },
  { id: "shortcuts", does: "This list", key: "/", mod: true },
] as const satisfies readonly Shortcut[];

export type ShortcutId = (typeof SHORTCUTS)[number]["id"];

interface KeyPress {
  key: string;
  code?: string;
  ctrlKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
  altKey: boolean;
}

/** The shortcut that a key press means. */
export function shortcutOf(press: KeyPress): ShortcutId | null {
  const mod = press.ctrlKey || press.metaKey;
  const found = SHORTCUTS.find((shortcut: Shortcut) => {
    return isKey(press, shortcut) && mod === (shortcut.mod ?? false) && press.altKey === (shortcut.alt ?? false);
  });
  return found?.id ?? null;
}

const CODES: Record<string, string> = { ";": "Semicolon", ".": "Period", "/": "Slash" };

/** Whether a press is of the key, whatever is written on it. */
function isKey(press: KeyPress, { key, shift = false }: Shortcut): boolean {
  const isLetter = /^[a-z]$/i.test(key);
  const code = isLetter ? `Key${key.toUpperCase()}` : CODES[key];
  // Keyboards of other scripts have other letters there, and some systems write signs with Alt: then its place counts.
  if (press.code === code && press.shiftKey === shift && !/^[!-~]$/.test(press.key)) return true;
  if (code === "Semicolon" && press.code === code && press.shiftKey && shift) return true;
  if (press.key.toLowerCase() !== key.toLowerCase()) return false;
  // Where a sign needs Shift is a matter of the keyboard.
  return press.shiftKey === shift || (!isLetter && key.length === 1 && !shift);
}

const NAMES: Record<string, string> = { ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc" };

/** The keys of a shortcut as they are written. */
export function shortcutText(id: ShortcutId): string {
  const shortcut: Shortcut | undefined = SHORTCUTS.find((held) => held.id === id);
  if (!shortcut) return "";
  const mac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);
  const keys = [shortcut.mod && (mac ? "⌘" : "Ctrl"), shortcut.alt && (mac ? "⌥" : "Alt"), shortcut.shift && (mac ? "⇧" : "Shift"), NAMES[shortcut.key] ?? shortcut.key.toUpperCase()];
  return keys.filter(Boolean).join(mac ? "" : "+");
}
