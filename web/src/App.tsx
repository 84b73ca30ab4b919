//! The page: sessions beside the chat, the inspector beside both, dialogs in front.

import { Suspense, lazy, useEffect } from "react";
import { ActionDialogs } from "./actions/ActionDialog";
import { ChatView } from "./chat/ChatView";
import { Sidebar } from "./sessions/Sidebar";
import { TokenForm } from "./settings/TokenForm";
import { isBusy } from "./state/conversation";
import { useApp } from "./state/page";
import { Toasts } from "./ui/Toasts";
import { openOverlay, useOverlay } from "./ui/overlay";
import { setSidebar, useSidebar } from "./ui/sidebar";
import { useShortcuts } from "./ui/useShortcuts";

const Inspector = lazy(() => import("./inspector/Inspector"));
const loadPalette = () => import("./ui/Palette");
const Palette = lazy(loadPalette);
const SettingsDialog = lazy(() => import("./settings/SettingsDialog"));
const SessionSettings = lazy(() => import("./settings/SessionSettings"));
const ShareDialog = lazy(() => import("./sessions/ShareDialog"));
const SharedPage = lazy(() => import("./shared/SharedPage"));
const ShortcutsDialog = lazy(() => import("./settings/ShortcutsDialog"));

export function App() {
  const access = useApp((state) => state.access);
  const problem = useApp((state) => state.accessProblem);
  const shared = useApp((state) => state.shared);
  if (shared !== null) {
    return (
      <Suspense fallback={null}>
        <SharedPage link={shared} />
      </Suspense>
    );
  }
  if (access === "token-needed") return <TokenForm problem={problem} />;
  if (access === "asking") {
    return (
      <main className="gate" role="status">
        {problem ? (
          <>
            <h1>Waiting for the server</h1>
            <p>{problem}</p>
          </>
        ) : (
          <p className="visually-hidden">Loading</p>
        )}
      </main>
    );
  }
  return (
    <ActionDialogs>
      <Frame />
    </ActionDialogs>
  );
}

function Frame() {
  const sidebar = useSidebar();
  const panel = useApp((state) => state.panel);
  useShortcuts();
  useTabTitle();
  // Whoever opens the palette types at once; it must not come after the first letters.
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette(), 1_000);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="frame" data-sidebar={sidebar || undefined} data-panel={panel ?? undefined}>
      <a className="skip" href="#composer" onClick={(event) => {
        event.preventDefault();
        document.getElementById("composer")?.focus();
      }}>
        Skip to the message field
      </a>
      {sidebar && <Sidebar />}
      {sidebar && <div className="sidebar-cover" aria-hidden onClick={() => setSidebar(false)} />}
      <main className="main">
        <ChatView />
      </main>
      {panel && (
        <Suspense fallback={<aside className="inspector" aria-label="Inspector" aria-busy />}>
          <Inspector />
        </Suspense>
      )}
      <Overlays />
      <Toasts />
    </div>
  );
}

function Overlays() {
  const overlay = useOverlay();
  const openId = useApp((state) => state.openId);
  const close = () => openOverlay(null);
  return (
    <Suspense fallback={null}>
      {overlay === "palette" && <Palette onClose={close} />}
      {overlay === "settings" && <SettingsDialog onClose={close} />}
      {overlay === "session-settings" && openId && <SessionSettings key={openId} onClose={close} />}
      {overlay === "share" && openId && <ShareDialog key={openId} id={openId} onClose={close} />}
      {overlay === "shortcuts" && <ShortcutsDialog onClose={close} />}
    </Suspense>
  );
}

/** The tab tells of the session, that somebody is at work, and that somebody is waited for. */
function useTabTitle(): void {
  const title = useApp((state) => state.list.sessions.find((held) => held.session_id === state.openId)?.title ?? null);
  const busy = useApp((state) => state.conversation !== null && isBusy(state.conversation));
  const waiting = useApp((state) => Object.values(state.attention).filter(Boolean).length);
  useEffect(() => {
    const mark = waiting > 0 ? `(${waiting}) ` : busy ? "… " : "";
    document.title = `${mark}${title ? `${title} · ` : ""}Orlop`;
  }, [title, busy, waiting]);
}
