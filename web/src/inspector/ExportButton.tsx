//! Takes what is shown out as a file.

import { Download } from "lucide-react";

export function ExportButton({ label = "Export", onExport }: { label?: string; onExport: () => void }) {
  return (
    <button type="button" className="link-button with-icon" onClick={onExport}>
      <Download aria-hidden /> {label}
    </button>
  );
}
