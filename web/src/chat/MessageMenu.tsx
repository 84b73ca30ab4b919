//! What else can be done with a message: buttons of plugins, forking, removing, looking at it.

import { Braces, Ellipsis, GitBranch, Link, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";
import type { Message } from "../api/types";
import { elementsOf } from "../actions/elements";
import { ElementIcon } from "../actions/ElementIcon";
import { useActionDialog } from "../actions/ActionDialog";
import type { Seen } from "../state/chat";
import { isBusy } from "../state/conversation";
import { type Page, addressOf, useApp, usePage } from "../state/page";
import { IconButton } from "../ui/IconButton";
import { Menu, MenuItem, MenuSeparator } from "../ui/Menu";
import { Modal } from "../ui/Modal";
import { NOT_COPIED, copyText } from "../ui/clipboard";

interface Props {
  /** Which message it is, where that is not plain. */
  about?: string;
  index: number;
  message: Message | null;
  raw: boolean;
  onRaw: () => void;
}

export function MessageMenu({ about, index, message, raw, onRaw }: Props) {
  const page = usePage();
  const all = useApp((state) => state.elements);
  const busy = useApp((state) => state.conversation !== null && isBusy(state.conversation));
  const elements = useMemo(() => elementsOf(all, "message_action"), [all]);
  const start = useActionDialog();
  // What stands at this place may change while somebody is asked.
  const [asking, setAsking] = useState<Seen | null>(null);
  return (
    <>
      <Menu
        label="Message"
        align="start"
        trigger={
          <IconButton label={about ? `More for the ${about.toLowerCase()}` : "More"}>
            <Ellipsis />
          </IconButton>
        }
      >
        {elements.map((element) => (
          <MenuItem key={`${element.plugin}/${element.id}`} icon={<ElementIcon name={element.icon} />} disabled={busy} onSelect={() => start(element, { message: page.chat.seen(index) })}>
            {element.label}
          </MenuItem>
        ))}
        {elements.length > 0 && <MenuSeparator />}
        <MenuItem icon={<GitBranch />} disabled={busy} onSelect={() => void page.chat.fork(page.chat.seen(index))}>
          Continue in a copy from here
        </MenuItem>
        <MenuItem icon={<Link />} onSelect={() => void copyLink(page, index)}>
          Copy the link to it
        </MenuItem>
        <MenuItem icon={<Braces />} onSelect={onRaw}>
          {raw ? "Hide JSON" : "Show JSON"}
        </MenuItem>
        <MenuItem icon={<Trash2 />} danger disabled={busy || !message} onSelect={() => setAsking(page.chat.seen(index))}>
          Delete message
        </MenuItem>
      </Menu>
      {asking && (
        <Modal title="Delete this message?" description="It goes for good, with the results of calls that it made. The model will not know of it." onClose={() => setAsking(null)}>
          <div className="row-end">
            <button type="button" className="button" onClick={() => setAsking(null)}>
              Cancel
            </button>
            <button
              type="button"
              className="button primary"
              onClick={() => {
                setAsking(null);
                void page.chat.remove(asking);
              }}
            >
              Delete
            </button>
          </div>
        </Modal>
      )}
    </>
  );
}

async function copyLink(page: Page, index: number): Promise<void> {
  const address = new URL(addressOf(page.store.get().openId ?? "", index), location.href);
  const done = await copyText(address.href);
  if (done) page.toast("The link is copied.");
  else page.toast(NOT_COPIED, "error");
}
