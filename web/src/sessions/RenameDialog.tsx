//! Another name for a session.

import { type FormEvent, useState } from "react";
import { usePage } from "../state/page";
import { Modal } from "../ui/Modal";

export function RenameDialog({ id, title, onClose }: { id: string; title: string; onClose: () => void }) {
  const page = usePage();
  const [name, setName] = useState(title);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() === "") return;
    onClose();
    void page.sessions.rename(id, name.trim());
  };
  return (
    <Modal title="Rename session" onClose={onClose}>
      <form onSubmit={submit}>
        <div className="field">
          <label htmlFor="session-name">Name</label>
          <input id="session-name" type="text" dir="auto" value={name} autoFocus maxLength={200} onFocus={(event) => event.target.select()} onChange={(event) => setName(event.target.value)} />
        </div>
        <div className="row-end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={name.trim() === ""}>
            Rename
          </button>
        </div>
      </form>
    </Modal>
  );
}
