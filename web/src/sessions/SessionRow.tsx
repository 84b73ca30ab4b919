//! One session in the list, with all its branches.

import { Archive, ArchiveRestore, Download, Ellipsis, GitBranch, Pencil, Pin, PinOff, Split, Trash2 } from "lucide-react";
import { memo, useMemo, useState } from "react";
import { useActionDialog } from "../actions/ActionDialog";
import { ElementIcon } from "../actions/ElementIcon";
import { elementsOf } from "../actions/elements";
import { plainLine } from "../actions/safe";
import type { JsonMap } from "../api/types";
import { useApp, usePage } from "../state/page";
import { IconButton } from "../ui/IconButton";
import { Menu, MenuItem, MenuSeparator } from "../ui/Menu";
import { isNarrow, setSidebar } from "../ui/sidebar";
import { when } from "../ui/format";
import { RenameDialog } from "./RenameDialog";
import { type Row, badgesOf, hitIn, titleOf } from "./list";

/** Drawn again when one of its sessions changed. */
export const SessionRow = memo(DrawnRow, ({ row: one }, { row: other }) => {
  return one.members.length === other.members.length && one.members.every((summary, place) => summary === other.members[place]);
});

function DrawnRow({ row: { newest, members, pinned } }: { row: Row }) {
  const page = usePage();
  const ids = members.map((member) => member.session_id);
  const openId = useApp((state) => ids.find((id) => id === state.openId) ?? null);
  const open = openId !== null;
  const running = useApp((state) => ids.some((id) => id in state.running));
  const calling = useApp((state) => MARKS.flatMap((mark) => ids.find((id) => state.attention[id] === mark) ?? [])[0] ?? null);
  const attention = useApp((state) => (calling === null ? null : (state.attention[calling] ?? null)));
  // What is done is done to the branch that one sees.
  const summary = members.find((member) => member.session_id === openId) ?? newest;
  const id = summary.session_id;
  // A row that was found by its words is of a message, and has not all of its branches.
  const branches = hitIn(summary) === null ? ids : [id];
  const all = useApp((state) => state.elements);
  const elements = useMemo(() => elementsOf(all, "session_list_action"), [all]);
  const start = useActionDialog();
  const [renaming, setRenaming] = useState(false);
  const title = titleOf(summary);
  const go = () => {
    page.go(calling ?? id, calling === null ? hitIn(summary) : null);
    if (isNarrow()) setSidebar(false);
  };
  return (
    <li className="session-row" data-open={open || undefined}>
      <button type="button" className="session-link" aria-current={open ? "page" : undefined} onClick={go} title={`${title}\n${when(summary.updated_at)}`}>
        <span className="session-title" dir="auto">{title}</span>
        {typeof summary.snippet === "string" && <small className="session-snippet" dir="auto">{plainLine(summary.snippet)}</small>}
        {branches.length > 1 && (
          <span className="badge branch-count" title={`${branches.length} branches`}>
            <Split aria-hidden />
            {branches.length}
            <span className="visually-hidden"> branches</span>
          </span>
        )}
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
        <MenuItem icon={pinned ? <PinOff /> : <Pin />} onSelect={() => void page.sessions.pin(id, !pinned)}>
          {pinned ? "Unpin" : "Pin"}
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
        <MenuItem icon={<Trash2 />} danger onSelect={() => page.sessions.remove(branches)}>
          {branches.length > 1 ? "Delete all branches" : "Delete"}
        </MenuItem>
      </Menu>
      {renaming && <RenameDialog id={id} title={title} onClose={() => setRenaming(false)} />}
    </li>
  );
}

/** What a row is marked with, the most urgent first. */
const MARKS = ["asking", "failed", "done"] as const;

function stateLabel(running: boolean, attention: string | null): string {
  if (attention === "asking") return "waits for you";
  if (running) return "at work";
  return attention === "failed" ? "failed" : "new answer";
}
