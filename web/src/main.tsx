//! Where the page begins.

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { Client } from "./api/client";
import { Page, PageContext } from "./state/page";
import { followAppearance } from "./ui/theme";
import "./ui/styles.css";

followAppearance();
const page = new Page(new Client("/api/v1", storage()));
void page.start();

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <PageContext value={page}>
        <App />
      </PageContext>
    </StrictMode>,
  );
}

/** A browser may forbid it; then the token is forgotten with the page. */
function storage(): Storage | null {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}
