//! Everything by name: commands, buttons of plugins, sessions.

import { useEffect, useId, useMemo, useState } from "react";
import { useActionDialog } from "../actions/ActionDialog";
import { elementsOf } from "../actions/elements";
import type { Summary } from "../api/types";
import { branchesIn, hitIn, rowsOf, titleInView, titleOf } from "../sessions/list";
import { useApp, usePage } from "../state/page";
import { Modal } from "./Modal";
import { isComposing } from "./keys";
import { openOverlay } from "./overlay";
import { type ShortcutId, shortcutText } from "./shortcuts";
import { showSidebar, toggleSidebar } from "./sidebar";
import { theme } from "./theme";
import { useInView } from "./useInView";

interface Entry {
  key: string;
  label: string;
  about: string;
  hint?: string;
  run: () => void;
}

export default function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const listId = useId();
  const chosen = useInView<HTMLLIElement>(at);
  const commands = useCommands();
  const sessions = useFoundSessions(text);
  const entries = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (entry: Entry) => words.every((word) => `${entry.label} ${entry.about}`.toLowerCase().includes(word));
    return [...commands.filter(fits), ...sessions];
  }, [text, commands, sessions]);
  useEffect(() => setAt(0), [text]);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    // The dialog gives the focus back first; what runs may want it.
    setTimeout(entry.run, 0);
  };
  return (
    <Modal title="Search sessions and commands" onClose={onClose}>
      <input
        type="text"
        dir="auto"
        className="palette-input"
        role="combobox"
        aria-label="Search sessions and commands"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={entries.length > 0 ? `${listId}-${at}` : undefined}
        autoFocus
        value={text}
        placeholder="Type to search"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (isComposing(event.nativeEvent)) return;
          if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            setAt((now) => (now + (event.key === "ArrowDown" ? 1 : -1) + entries.length) % Math.max(1, entries.length));
          } else if (event.key === "Enter") {
            event.preventDefault();
            run(entries[at]);
          }
        }}
      />
      <ul className="palette-list" id={listId} role="listbox" aria-label="Found">
        {entries.map((entry, place) => (
          <li key={entry.key} id={`${listId}-${place}`} ref={place === at ? chosen : undefined} role="option" aria-selected={place === at} onClick={() => run(entry)} onPointerMove={() => setAt(place)}>
            <span dir="auto">{entry.label}</span>
            <small>{entry.about}</small>
            {entry.hint && <kbd>{entry.hint}</kbd>}
          </li>
        ))}
      </ul>
      {entries.length === 0 && <p className="muted">Nothing found.</p>}
    </Modal>
  );
}

function useCommands(): Entry[] {
  const page = usePage();
  const elements = useApp((state) => state.elements);
  const openId = useApp((state) => state.openId);
  const title = titleOf({ title: useApp(titleInView) });
  const shares = useApp((state) => state.info?.share_links ?? false);
  const pinned = useApp((state) => branchesIn(state.list.sessions, state.openId).some((held) => held.pinned) || state.conversation?.metadata.pinned === true);
  const branched = useApp((state) => branchesIn(state.list.sessions, state.openId).length > 1);
  const archived = useApp((state) => state.conversation?.metadata.archived === true);
  const start = useActionDialog();
  return useMemo(() => {
    const command = (label: string, run: () => void, shortcut?: ShortcutId): Entry => ({ key: label, label, about: "", hint: shortcut && shortcutText(shortcut), run });
    const own = [
      command("New session", () => page.go(null), "new"),
      command("Settings", () => openOverlay("settings"), "settings"),
      command("Keys", () => openOverlay("shortcuts"), "shortcuts"),
      command("Inspector", () => page.store.patch({ panel: page.store.get().panel ? null : "inspector" }), "inspector"),
      command("Show or hide sessions", () => toggleSidebar(page), "sidebar"),
      command("Archived sessions", () => {
        showSidebar(page);
        page.sessions.showArchived(true);
      }),
      command("Theme: light", () => theme.set("light")),
      command("Theme: dark", () => theme.set("dark")),
      command("Theme: as the system", () => theme.set("system")),
    ];
    const ofSession = openId
      ? [
          command("Settings of this session", () => openOverlay("session-settings")),
          command("Rename", () => openOverlay("rename")),
          command(pinned ? "Unpin" : "Pin", () => void page.sessions.pin(openId, !pinned)),
          command("Continue in a copy", () => void page.sessions.copy(openId)),
          ...(shares ? [command("Share by a link", () => openOverlay("share"))] : []),
          command("Export as JSON", () => void page.sessions.exportJson(openId)),
          command("Export as Markdown", () => void page.sessions.exportMarkdown(openId, title)),
          command(archived ? "Take back from the archive" : "Archive", () => void page.sessions.archive(openId, !archived)),
          command(branched ? "Delete this branch" : "Delete", () => page.sessions.remove([openId])),
        ]
      : [];
    const buttons = [...(openId ? elementsOf(elements, "session_action") : []), ...elementsOf(elements, "session_list_action")];
    return [
      ...own,
      ...ofSession,
      ...buttons.map((element) => ({ key: `${element.plugin}/${element.id}`, label: element.label, about: element.plugin, run: () => start(element) })),
    ];
  }, [page, elements, openId, title, shares, pinned, branched, archived, start]);
}

/** Sessions in the list at once, and those that the server finds by their words. */
function useFoundSessions(text: string): Entry[] {
  const page = usePage();
  const listed = useApp((state) => state.list.sessions);
  const [found, setFound] = useState<Summary[]>([]);
  useEffect(() => {
    if (text.trim() === "") {
      setFound([]);
      return;
    }
    const asked = new AbortController();
    const timer = setTimeout(() => {
      page.sessions
        .found(text, asked.signal)
        .then(setFound)
        .catch(() => undefined);
    }, 120);
    return () => {
      clearTimeout(timer);
      asked.abort();
    };
  }, [text, page]);
  return useMemo(() => {
    const near = listed.filter((summary) => titleOf(summary).toLowerCase().includes(text.toLowerCase()));
    const ids = new Set(near.map((summary) => summary.session_id));
    const rows = [...rowsOf(near).slice(0, 20), ...rowsOf(found.filter((summary) => !ids.has(summary.session_id)))];
    return rows.map(({ newest: summary }) => ({
      key: summary.session_id,
      label: titleOf(summary),
      about: "session",
      run: () => page.go(summary.session_id, hitIn(summary)),
    }));
  }, [listed, found, text, page]);
}
