//! All keys.

import { Modal } from "../ui/Modal";
import { SHORTCUTS, shortcutText } from "../ui/shortcuts";

export default function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  return (
    <Modal title="Keys" onClose={onClose}>
      <dl className="shortcuts">
        {SHORTCUTS.map((shortcut) => (
          <div key={shortcut.id}>
            <dt>{shortcut.does}</dt>
            <dd>
              <kbd>{shortcutText(shortcut.id)}</kbd>
            </dd>
          </div>
        ))}
        <div>
          <dt>Send; a new line</dt>
          <dd>
            <kbd>Enter</kbd> <kbd>Shift+Enter</kbd>
          </dd>
        </div>
      </dl>
    </Modal>
  );
}
