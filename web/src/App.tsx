//! The page: sessions beside the chat, the inspector beside both, dialogs in front.

import { type ComponentType, useEffect } from "react";
import { ActionDialogs } from "./actions/ActionDialog";
import { ChatView } from "./chat/ChatView";
import { Sidebar } from "./sessions/Sidebar";
import { titleInView } from "./sessions/list";
import { TokenForm } from "./settings/TokenForm";
import { isBusy } from "./state/conversation";
import { useApp, usePage } from "./state/page";
import { Broken } from "./ui/Boundary";
import { Modal } from "./ui/Modal";
import { Toasts } from "./ui/Toasts";
import { type Later, later } from "./ui/later";
import { leaveSession, openOverlay, useOverlay } from "./ui/overlay";
import { setSidebar, useNarrow, useSidebar } from "./ui/sidebar";
import { useCover } from "./ui/useCover";
import { useShortcuts } from "./ui/useShortcuts";

const NOT_LOADED = "This part of the page could not be loaded. The server may be away, or may have a newer page.";

interface Closable {
  onClose: () => void;
}

/** A dialog that is loaded when it is opened. */
function dialog<P extends Closable>(load: () => Promise<{ default: ComponentType<P> }>): Later<P> {
  return later(load, {
    failed: ({ onClose }, again) => (
      <Modal title="Not loaded" onClose={onClose}>
        <Broken what={NOT_LOADED} again={again} />
      </Modal>
    ),
  });
}

const Palette = dialog(() => import("./ui/Palette"));
const SettingsDialog = dialog(() => import("./settings/SettingsDialog"));
const SessionSettings = dialog(() => import("./settings/SessionSettings"));
const ShareDialog = dialog(() => import("./sessions/ShareDialog"));
const ShortcutsDialog = dialog(() => import("./settings/ShortcutsDialog"));
const DIALOGS = [Palette, SettingsDialog, SessionSettings, ShareDialog, ShortcutsDialog];
const SharedPage = later(() => import("./shared/SharedPage"), {
  failed: (_, again) => (
    <main className="gate">
      <Broken what={NOT_LOADED} again={again} />
    </main>
  ),
});
const Inspector = later(() => import("./inspector/Inspector"), {
  waiting: () => <aside className="inspector" aria-label="Inspector" aria-busy />,
  failed: (_, again) => (
    <aside className="inspector" aria-label="Inspector">
      <Broken what={NOT_LOADED} again={again} />
    </aside>
  ),
});

export function App() {
  const access = useApp((state) => state.access);
  const problem = useApp((state) => state.accessProblem);
  const shared = useApp((state) => state.shared);
  if (shared !== null) {
    return <SharedPage link={shared} />;
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
  const page = usePage();
  const narrow = useNarrow();
  useCover(narrow && sidebar, ".sidebar", ".sidebar-toggle", () => setSidebar(false));
  useCover(narrow && !sidebar && panel !== null, ".inspector", '.chat-header [aria-label="Inspector"]', () => page.store.patch({ panel: null }));
  useShortcuts();
  useTabTitle();
  // Whoever opens a dialog types at once; it must not come after the first letters.
  useEffect(() => {
    const timer = setTimeout(() => DIALOGS.forEach((dialog) => dialog.preload()), 1_000);
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
      <main className="main" inert={narrow && (sidebar || panel !== null)}>
        <ChatView />
      </main>
      {panel && <Inspector />}
      <Overlays />
      <Toasts />
    </div>
  );
}

function Overlays() {
  const overlay = useOverlay();
  const openId = useApp((state) => state.openId);
  const close = () => openOverlay(null);
  useEffect(() => leaveSession, [openId]);
  return (
    <>
      {overlay === "palette" && <Palette onClose={close} />}
      {overlay === "settings" && <SettingsDialog onClose={close} />}
      {overlay === "session-settings" && openId && <SessionSettings key={openId} onClose={close} />}
      {overlay === "share" && openId && <ShareDialog key={openId} id={openId} onClose={close} />}
      {overlay === "shortcuts" && <ShortcutsDialog onClose={close} />}
    </>
  );
}

/** The tab tells of the session, that somebody is at work, and that somebody is waited for. */
function useTabTitle(): void {
  const title = useApp(titleInView);
  const busy = useApp((state) => state.conversation !== null && isBusy(state.conversation));
  const waiting = useApp((state) => Object.values(state.attention).filter(Boolean).length);
  useEffect(() => {
    const mark = waiting > 0 ? `(${waiting}) ` : busy ? "… " : "";
    document.title = `${mark}${title ? `${title} · ` : ""}Orlop`;
  }, [title, busy, waiting]);
}
