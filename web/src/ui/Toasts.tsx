//! Short notes that go by themselves, but not while somebody reads them.

import { X } from "lucide-react";
import { useEffect, useState } from "react";
import type { Toast } from "../state/app";
import { useApp, usePage } from "../state/page";
import { IconButton } from "./IconButton";

export function Toasts() {
  const toasts = useApp((state) => state.toasts);
  const [read, setRead] = useState(false);
  return (
    <div
      className="toasts"
      role="region"
      aria-label="Notes"
      aria-live="polite"
      onPointerEnter={() => setRead(true)}
      onPointerLeave={() => setRead(false)}
      onFocus={() => setRead(true)}
      onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && setRead(false)}
    >
      {toasts.map((toast) => (
        <Note key={toast.id} toast={toast} stays={read} />
      ))}
    </div>
  );
}

function Note({ toast, stays }: { toast: Toast; stays: boolean }) {
  const page = usePage();
  const { id, forMs, action } = toast;
  useEffect(() => {
    if (stays || forMs === null) return;
    const timer = setTimeout(() => page.closeToast(id), forMs);
    return () => clearTimeout(timer);
  }, [page, id, forMs, stays]);
  return (
    <div className="toast" data-tone={toast.tone} role={toast.tone === "error" ? "alert" : "status"}>
      <span>{toast.text}</span>
      {action && (
        <button
          type="button"
          className="link-button"
          onClick={() => {
            page.closeToast(id, true);
            action.run();
          }}
        >
          {action.label}
        </button>
      )}
      <IconButton label="Close note" onClick={() => page.closeToast(id)}>
        <X />
      </IconButton>
    </div>
  );
}
