//! The sessions: search, groups by day, and what can be done with each.

import { Archive, ArrowLeft, CircleHelp, Keyboard, Plus, Search, Settings, Upload, X } from "lucide-react";
import { useMemo, useRef } from "react";
import { useActionDialog } from "../actions/ActionDialog";
import { ElementIcon } from "../actions/ElementIcon";
import { elementsOf } from "../actions/elements";
import { useApp, usePage } from "../state/page";
import { IconButton } from "../ui/IconButton";
import { LinkState } from "../ui/LinkState";
import { Menu, MenuItem, MenuSeparator } from "../ui/Menu";
import { openOverlay } from "../ui/overlay";
import { shortcutText } from "../ui/shortcuts";
import { isNarrow, setSidebar } from "../ui/sidebar";
import { SessionRow } from "./SessionRow";
import { grouped } from "./list";

export function Sidebar() {
  const page = usePage();
  const list = useApp((state) => state.list);
  const all = useApp((state) => state.elements);
  const start = useActionDialog();
  const elements = useMemo(() => elementsOf(all, "session_list_action"), [all]);
  const groups = useMemo(() => grouped(list.sessions, new Date()), [list.sessions]);
  const file = useRef<HTMLInputElement>(null);
  const begin = () => {
    page.go(null);
    if (isNarrow()) setSidebar(false);
  };
  return (
    <nav className="sidebar" aria-label="Sessions">
      <div className="sidebar-head">
        <span className="brand">Orlop</span>
        <Menu
          label="Page"
          trigger={
            <IconButton label="Page menu">
              <Settings />
            </IconButton>
          }
        >
          {elements.map((element) => (
            <MenuItem key={`${element.plugin}/${element.id}`} icon={<ElementIcon name={element.icon} />} onSelect={() => start(element)}>
              {element.label}
            </MenuItem>
          ))}
          {elements.length > 0 && <MenuSeparator />}
          <MenuItem icon={<Archive />} onSelect={() => page.sessions.showArchived(true)}>
            Archived sessions
          </MenuItem>
          <MenuItem icon={<Upload />} onSelect={() => file.current?.click()}>
            Import a session
          </MenuItem>
          <MenuItem icon={<Settings />} hint={shortcutText("settings")} onSelect={() => openOverlay("settings")}>
            Settings
          </MenuItem>
          <MenuItem icon={<Keyboard />} hint={shortcutText("shortcuts")} onSelect={() => openOverlay("shortcuts")}>
            Keys
          </MenuItem>
        </Menu>
        <input
          ref={file}
          type="file"
          accept="application/json,.json"
          hidden
          aria-hidden
          tabIndex={-1}
          onChange={(event) => {
            const chosen = event.target.files?.[0];
            if (chosen) void page.sessions.importFile(chosen);
            event.target.value = "";
          }}
        />
      </div>
      <button type="button" className="button new-session" onClick={begin}>
        <Plus aria-hidden /> New session
      </button>
      <div className="search">
        <Search aria-hidden />
        <input type="search" dir="auto" aria-label="Search sessions" placeholder="Search" value={list.search} onChange={(event) => page.sessions.search(event.target.value)} onKeyDown={(event) => event.key === "Escape" && page.sessions.search("")} />
        {list.search !== "" && (
          <IconButton label="Clear search" onClick={() => page.sessions.search("")}>
            <X />
          </IconButton>
        )}
      </div>
      {list.archived && (
        <div className="list-place">
          <IconButton label="Back to all sessions" onClick={() => page.sessions.showArchived(false)}>
            <ArrowLeft />
          </IconButton>
          <span>Archived</span>
        </div>
      )}
      <div className="session-list">
        {groups.map((group) => (
          <section key={group.label} aria-label={group.label}>
            <h2>{group.label}</h2>
            <ul>
              {group.rows.map((row) => (
                <SessionRow key={row.key} row={row} />
              ))}
            </ul>
          </section>
        ))}
        {list.phase === "ready" && list.sessions.length === 0 && (
          <p className="sidebar-empty">
            <CircleHelp aria-hidden />
            {emptyText(list.search !== "", list.archived)}
          </p>
        )}
        {list.phase === "failed" && (
          <p className="sidebar-empty" role="alert">
            {list.problem}{" "}
            <button type="button" className="link-button" onClick={() => void page.sessions.refresh()}>
              Try again
            </button>
          </p>
        )}
        {list.next && (
          <button type="button" className="link-button more" onClick={() => void page.sessions.more()}>
            Show more
          </button>
        )}
      </div>
      <LinkState />
    </nav>
  );
}

function emptyText(searched: boolean, archived: boolean): string {
  if (archived) return searched ? "No archived session has this name." : "No session is archived.";
  return searched ? "No session has these words." : "Sessions you have stand here.";
}
