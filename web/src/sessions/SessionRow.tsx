//! One session in the list.

import { Archive, ArchiveRestore, Download, Ellipsis, GitBranch, Pencil, Pin, PinOff, Trash2 } from "lucide-react";
import { memo, useMemo, useState } from "react";
import { useActionDialog } from "../actions/ActionDialog";
import { ElementIcon } from "../actions/ElementIcon";
import { elementsOf } from "../actions/elements";
import { plainLine } from "../actions/safe";
import type { JsonMap, Summary } from "../api/types";
import { useApp, usePage } from "../state/page";
import { IconButton } from "../ui/IconButton";
import { Menu, MenuItem, MenuSeparator } from "../ui/Menu";
import { isNarrow, setSidebar } from "../ui/sidebar";
import { when } from "../ui/format";
import { RenameDialog } from "./RenameDialog";
import { badgesOf, titleOf } from "./list";

export const SessionRow = memo(function SessionRow({ summary }: { summary: Summary }) {
  const page = usePage();
  const id = summary.session_id;
  const open = useApp((state) => state.openId === id);
  const running = useApp((state) => id in state.running);
  const attention = useApp((state) => state.attention[id] ?? null);
  const all = useApp((state) => state.elements);
  const elements = useMemo(() => elementsOf(all, "session_list_action"), [all]);
  const start = useActionDialog();
  const [renaming, setRenaming] = useState(false);
  const title = titleOf(summary);
  const go = () => {
    page.go(id);
    if (isNarrow()) setSidebar(false);
  };
  return (
    <li className="session-row" data-open={open || undefined}>
      <button type="button" className="session-link" aria-current={open ? "page" : undefined} onClick={go} title={`${title}\n${when(summary.updated_at)}`}>
        <span className="session-title" dir="auto">{title}</span>
        {typeof summary.snippet === "string" && <small className="session-snippet" dir="auto">{plainLine(summary.snippet)}</small>}
        {badgesOf(summary).map((badge, place) => (
          <span key={place} className="badge">
            {badge}
          </span>
        ))}
        {(running || attention) && <span className="dot" data-state={running && attention !== "asking" ? "running" : attention} role="img" aria-label={stateLabel(running, attention)} />}
      </button>
      <Menu
        label={`Session ${title}`}
        trigger={
          <IconButton label={`More for ${title}`} className="row-menu">
            <Ellipsis />
          </IconButton>
        }
      >
        {elements.map((element) => (
          <MenuItem key={`${element.plugin}/${element.id}`} icon={<ElementIcon name={element.icon} />} onSelect={() => start(element, { session: summary as unknown as JsonMap })}>
            {element.label}
          </MenuItem>
        ))}
        {elements.length > 0 && <MenuSeparator />}
        <MenuItem icon={<Pencil />} onSelect={() => setRenaming(true)}>
          Rename
        </MenuItem>
        <MenuItem icon={summary.pinned ? <PinOff /> : <Pin />} onSelect={() => void page.sessions.pin(id, !summary.pinned)}>
          {summary.pinned ? "Unpin" : "Pin"}
        </MenuItem>
        <MenuItem icon={summary.archived ? <ArchiveRestore /> : <Archive />} onSelect={() => void page.sessions.archive(id, !summary.archived)}>
          {summary.archived ? "Take back" : "Archive"}
        </MenuItem>
        <MenuItem icon={<GitBranch />} onSelect={() => void page.sessions.copy(id)}>
          Continue in a copy
        </MenuItem>
        <MenuItem icon={<Download />} onSelect={() => void page.sessions.exportJson(id)}>
          Export as JSON
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={<Trash2 />} danger onSelect={() => page.sessions.remove(id)}>
          Delete
        </MenuItem>
      </Menu>
      {renaming && <RenameDialog id={id} title={title} onClose={() => setRenaming(false)} />}
    </li>
  );
});

function stateLabel(running: boolean, attention: string | null): string {
  if (attention === "asking") return "waits for you";
  if (running) return "at work";
  return attention === "failed" ? "failed" : "new answer";
}
