//! The head of a session: its name, the buttons of plugins, and what can be done with it.

import { Activity, Archive, ArchiveRestore, CornerLeftUp, Download, Ellipsis, FileDown, GitBranch, Menu as MenuIcon, Pencil, Pin, PinOff, Settings2, Share2, Trash2 } from "lucide-react";
import { useMemo } from "react";
import { useActionDialog } from "../actions/ActionDialog";
import { ElementIcon } from "../actions/ElementIcon";
import { elementsOf } from "../actions/elements";
import { RenameDialog } from "../sessions/RenameDialog";
import { branchesIn, titleInView, titleOf } from "../sessions/list";
import { useApp, usePage } from "../state/page";
import { isBusy } from "../state/conversation";
import { IconButton } from "../ui/IconButton";
import { LinkState } from "../ui/LinkState";
import { Menu, MenuItem, MenuSeparator } from "../ui/Menu";
import { openOverlay, useOverlay } from "../ui/overlay";
import { toggleSidebar, useSidebarSeen } from "../ui/sidebar";

export function ChatHeader() {
  const page = usePage();
  const openId = useApp((state) => state.openId);
  const metadata = useApp((state) => state.conversation?.metadata);
  const all = useApp((state) => state.elements);
  const panel = useApp((state) => state.panel);
  const seen = useSidebarSeen(panel !== null);
  const shares = useApp((state) => state.info?.share_links ?? false);
  const busy = useApp((state) => state.conversation !== null && isBusy(state.conversation));
  const renaming = useOverlay() === "rename";
  const elements = useMemo(() => elementsOf(all, "session_action"), [all]);
  const start = useActionDialog();
  const title = titleOf({ title: useApp(titleInView) });
  const sessions = useApp((state) => state.list.sessions);
  const branches = useMemo(() => branchesIn(sessions, openId), [sessions, openId]);
  const pinned = metadata?.pinned === true || branches.some((branch) => branch.pinned);
  const archived = metadata?.archived === true;
  const worksFor = typeof metadata?.parent_session_id === "string" ? metadata.parent_session_id : null;
  return (
    <header className="chat-header">
      <IconButton label={seen ? "Hide sessions" : "Show sessions"} aria-expanded={seen} className="sidebar-toggle" onClick={() => toggleSidebar(page)}>
        <MenuIcon />
      </IconButton>
      {openId && worksFor && (
        <IconButton label="Back to the session it works for" onClick={() => page.go(worksFor)}>
          <CornerLeftUp />
        </IconButton>
      )}
      <h1 title={title} dir="auto">{openId ? title : "New session"}</h1>
      {!seen && <LinkState />}
      <IconButton label="Inspector" pressed={panel === "inspector"} onClick={() => page.store.patch({ panel: panel ? null : "inspector" })}>
        <Activity />
      </IconButton>
      {openId && (
        <>
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
            <MenuItem icon={<Pencil />} onSelect={() => openOverlay("rename")}>
              Rename
            </MenuItem>
            <MenuItem icon={pinned ? <PinOff /> : <Pin />} onSelect={() => void page.sessions.pin(openId, !pinned)}>
              {pinned ? "Unpin" : "Pin"}
            </MenuItem>
            <MenuItem icon={<Settings2 />} onSelect={() => openOverlay("session-settings")}>
              Settings of this session
            </MenuItem>
            <MenuItem icon={<GitBranch />} disabled={busy} onSelect={() => void page.sessions.copy(openId)}>
              Continue in a copy
            </MenuItem>
            {shares && (
              <MenuItem icon={<Share2 />} onSelect={() => openOverlay("share")}>
                Share by a link
              </MenuItem>
            )}
            <MenuItem icon={<Download />} onSelect={() => void page.sessions.exportJson(openId)}>
              Export as JSON
            </MenuItem>
            <MenuItem icon={<FileDown />} onSelect={() => void page.sessions.exportMarkdown(openId, title)}>
              Export as Markdown
            </MenuItem>
            <MenuSeparator />
            <MenuItem icon={archived ? <ArchiveRestore /> : <Archive />} onSelect={() => void page.sessions.archive(openId, !archived)}>
              {archived ? "Take back" : "Archive"}
            </MenuItem>
            <MenuItem icon={<Trash2 />} danger onSelect={() => page.sessions.remove([openId])}>
              {branches.length > 1 ? "Delete this branch" : "Delete"}
            </MenuItem>
          </Menu>
        </>
      )}
      {renaming && openId && <RenameDialog key={openId} id={openId} title={title} onClose={() => openOverlay(null)} />}
    </header>
  );
}
