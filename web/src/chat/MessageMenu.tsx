//! What else can be done with a message: buttons of plugins, forking, removing, looking at it.

import { Braces, Ellipsis, GitBranch, Trash2 } from "lucide-react";
import { useMemo } from "react";
import type { JsonMap, Message } from "../api/types";
import { elementsOf } from "../actions/elements";
import { ElementIcon } from "../actions/ElementIcon";
import { useActionDialog } from "../actions/ActionDialog";
import { isBusy } from "../state/conversation";
import { useApp, usePage } from "../state/page";
import { IconButton } from "../ui/IconButton";
import { Menu, MenuItem, MenuSeparator } from "../ui/Menu";

interface Props {
  index: number;
  message: Message | null;
  raw: boolean;
  onRaw: () => void;
}

export function MessageMenu({ index, message, raw, onRaw }: Props) {
  const page = usePage();
  const all = useApp((state) => state.elements);
  const busy = useApp((state) => state.conversation !== null && isBusy(state.conversation));
  const elements = useMemo(() => elementsOf(all, "message_action"), [all]);
  const start = useActionDialog();
  const fork = () => void page.sessions.fork(page.store.get().openId ?? "", index);
  return (
    <Menu
      label="Message"
      align="start"
      trigger={
        <IconButton label="More">
          <Ellipsis />
        </IconButton>
      }
    >
      {elements.map((element) => (
        <MenuItem key={`${element.plugin}/${element.id}`} icon={<ElementIcon name={element.icon} />} disabled={busy} onSelect={() => start(element, { message: { index, ...(message as unknown as JsonMap) } })}>
          {element.label}
        </MenuItem>
      ))}
      {elements.length > 0 && <MenuSeparator />}
      <MenuItem icon={<GitBranch />} disabled={busy} onSelect={fork}>
        Continue in a copy from here
      </MenuItem>
      <MenuItem icon={<Braces />} onSelect={onRaw}>
        {raw ? "Hide JSON" : "Show JSON"}
      </MenuItem>
      <MenuItem icon={<Trash2 />} danger disabled={busy} onSelect={() => void page.chat.remove(index)}>
        Delete message
      </MenuItem>
    </Menu>
  );
}
