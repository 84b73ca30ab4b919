//! Says that the server is not there; it stands where there is room for it.

import { useApp } from "../state/page";

export function LinkState() {
  const link = useApp((state) => state.link);
  return (
    <p className="link-state" data-link={link} role="status">
      {link === "waiting" ? "Not connected. Trying again." : ""}
    </p>
  );
}
