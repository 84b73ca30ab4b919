//! Where the page begins.

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { Client } from "./api/client";
import { Page, PageContext } from "./state/page";
import { Boundary, Broken } from "./ui/Boundary";
import { followAppearance } from "./ui/theme";
import "./ui/styles.css";

followAppearance();
const page = new Page(new Client("/api/v1", storage()));
void page.start();

// The browser would open a file that is dropped in place of the page, also where the page has no use for it.
for (const kind of ["dragover", "drop"] as const) {
  addEventListener(kind, (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
}

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <PageContext value={page}>
        <Boundary instead={(again) => <BrokenPage again={again} />}>
          <App />
        </Boundary>
      </PageContext>
    </StrictMode>,
  );
}

function BrokenPage({ again }: { again: () => void }) {
  return (
    <main className="gate">
      <h1>Something went wrong here</h1>
      <Broken what="The page could not be drawn. What you wrote is kept, and your sessions are safe with the server." again={again} />
    </main>
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
