//! The head of a session: its name, the buttons of plugins, and what can be done with it.

import { Activity, Download, Ellipsis, FileDown, GitBranch, Menu as MenuIcon, Pencil, Settings2, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";
import { useActionDialog } from "../actions/ActionDialog";
import { ElementIcon } from "../actions/ElementIcon";
import { elementsOf } from "../actions/elements";
import { RenameDialog } from "../sessions/RenameDialog";
import { titleOf } from "../sessions/list";
import { useApp, usePage } from "../state/page";
import { isBusy } from "../state/conversation";
import { IconButton } from "../ui/IconButton";
import { Menu, MenuItem, MenuSeparator } from "../ui/Menu";
import { openOverlay } from "../ui/overlay";
import { setSidebar, useSidebar } from "../ui/sidebar";

export function ChatHeader() {
  const page = usePage();
  const sidebar = useSidebar();
  const openId = useApp((state) => state.openId);
  const sessions = useApp((state) => state.list.sessions);
  const stored = useApp((state) => state.conversation?.metadata.title);
  const all = useApp((state) => state.elements);
  const panel = useApp((state) => state.panel);
  const busy = useApp((state) => state.conversation !== null && isBusy(state.conversation));
  const [renaming, setRenaming] = useState(false);
  const elements = useMemo(() => elementsOf(all, "session_action"), [all]);
  const start = useActionDialog();
  const title = titleOf(sessions.find((held) => held.session_id === openId) ?? { title: typeof stored === "string" ? stored : null });
  return (
    <header className="chat-header">
      <IconButton label={sidebar ? "Hide sessions" : "Show sessions"} aria-expanded={sidebar} className="sidebar-toggle" onClick={() => setSidebar(!sidebar)}>
        <MenuIcon />
      </IconButton>
      <h1 title={title}>{openId ? title : "New session"}</h1>
      {openId && (
        <>
          <IconButton label="Inspector" pressed={panel === "inspector"} onClick={() => page.store.patch({ panel: panel ? null : "inspector" })}>
            <Activity />
          </IconButton>
          <Menu
            label="Session"
            trigger={
              <IconButton label="Session menu">
                <Ellipsis />
              </IconButton>
            }
          >
            {elements.map((element) => (
              <MenuItem key={`${element.plugin}/${element.id}`} icon={<ElementIcon name={element.icon} />} disabled={busy} onSelect={() => start(element)}>
                {element.label}
              </MenuItem>
            ))}
            {elements.length > 0 && <MenuSeparator />}
            <MenuItem icon={<Pencil />} onSelect={() => setRenaming(true)}>
              Rename
            </MenuItem>
            <MenuItem icon={<Settings2 />} onSelect={() => openOverlay("session-settings")}>
              Settings of this session
            </MenuItem>
            <MenuItem icon={<GitBranch />} disabled={busy} onSelect={() => void page.sessions.fork(openId)}>
              Continue in a copy
            </MenuItem>
            <MenuItem icon={<Download />} onSelect={() => void page.sessions.exportJson(openId)}>
              Export as JSON
            </MenuItem>
            <MenuItem icon={<FileDown />} onSelect={() => void page.sessions.exportMarkdown(openId, title)}>
              Export as Markdown
            </MenuItem>
            <MenuSeparator />
            <MenuItem icon={<Trash2 />} danger onSelect={() => page.sessions.remove(openId)}>
              Delete
            </MenuItem>
          </Menu>
        </>
      )}
      {renaming && openId && <RenameDialog id={openId} title={title} onClose={() => setRenaming(false)} />}
    </header>
  );
}
