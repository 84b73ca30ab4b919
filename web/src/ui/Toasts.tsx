//! Short notes that go by themselves.

import { X } from "lucide-react";
import { useApp, usePage } from "../state/page";
import { IconButton } from "./IconButton";

export function Toasts() {
  const page = usePage();
  const toasts = useApp((state) => state.toasts);
  return (
    <div className="toasts" role="region" aria-label="Notes" aria-live="polite">
      {toasts.map((toast) => (
        <div key={toast.id} className="toast" data-tone={toast.tone} role={toast.tone === "error" ? "alert" : "status"}>
          <span>{toast.text}</span>
          {toast.action && (
            <button
              type="button"
              className="link-button"
              onClick={() => {
                page.closeToast(toast.id);
                toast.action?.run();
              }}
            >
              {toast.action.label}
            </button>
          )}
          <IconButton label="Close note" onClick={() => page.closeToast(toast.id)}>
            <X />
          </IconButton>
        </div>
      ))}
    </div>
  );
}
