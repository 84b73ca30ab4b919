//! What a person does with sessions in the list: search, name, pin, delete, fork, take out and in.

import { asProblem } from "../api/problem";
import { type JsonMap, type Summary, isMap } from "../api/types";
import { newId } from "../state/ids";
import { fileName } from "./fileName";
import type { Page } from "../state/page";
import { branchesIn, removed } from "./list";

/** How long a deleted session can be brought back. */
const UNDO_MS = 7_000;

/** How long a copy of a session that is here already is offered. */
const COPY_MS = 15_000;

export class SessionCommands {
  private asked: AbortController | null = null;
  private soon: ReturnType<typeof setTimeout> | undefined;
  /** Sessions that are gone from the list and not from the server yet. */
  private readonly leaving = new Map<string, () => void>();
  /** Changes of sessions that are being answered, for when that is over. */
  private readonly later = new Map<string, JsonMap[]>();

  constructor(private readonly page: Page) {
    addEventListener("pagehide", () => {
      for (const finish of this.leaving.values()) finish();
    });
  }

  /** Reads the list, as far as it is shown. */
  async refresh(): Promise<void> {
    this.asked?.abort();
    const asked = new AbortController();
    this.asked = asked;
    const { search, archived, sessions: shown } = this.page.store.get().list;
    try {
      const page = search === "" || archived ? await this.pages(search, archived, shown.length, asked.signal) : { sessions: await this.found(search, asked.signal), next: null };
      if (asked.signal.aborted) return;
      const sessions = page.sessions.filter((summary) => !this.leaving.has(summary.session_id));
      this.patch({ sessions, next: page.next, phase: "ready", problem: null });
    } catch (error) {
      if (!asked.signal.aborted) this.patch({ phase: "failed", problem: asProblem(error).message });
    }
  }

  /** As many pages as were shown: what somebody asked to see stays. */
  private async pages(search: string, archived: boolean, atLeast: number, signal: AbortSignal): Promise<{ sessions: Summary[]; next: string | null }> {
    const sessions: Summary[] = [];
    let next: string | null = null;
    do {
      const page = await this.page.api.sessions(search, archived, next, signal);
      sessions.push(...page.sessions);
      next = page.next ?? null;
    } while (next !== null && sessions.length < atLeast);
    return { sessions, next };
  }

  /** Sessions whose title has the text, then those whose messages have its words. */
  async found(text: string, signal: AbortSignal): Promise<Summary[]> {
    const [titled, worded] = await Promise.all([this.page.api.sessions(text, false, null, signal), this.page.api.search(text, signal)]);
    const ids = new Set(titled.sessions.map((summary) => summary.session_id));
    const all = [...titled.sessions, ...worded.filter((summary) => !ids.has(summary.session_id))];
    return all.filter((summary) => !this.leaving.has(summary.session_id));
  }

  /** Reads the list again, once for many events. */
  refreshSoon(): void {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => void this.refresh(), 150);
  }

  async more(): Promise<void> {
    const { list } = this.page.store.get();
    if (!list.next) return;
    const page = await this.page.attempt(() => this.page.api.sessions(list.search, list.archived, list.next));
    if (!page) return;
    const held = new Set(list.sessions.map((summary) => summary.session_id));
    const added = page.sessions.filter((summary) => !held.has(summary.session_id) && !this.leaving.has(summary.session_id));
    this.patch({ sessions: [...list.sessions, ...added], next: page.next });
  }

  search(text: string): void {
    // Another list begins with its first page.
    this.patch({ search: text, sessions: this.page.store.get().list.sessions.slice(0, 50) });
    this.refreshSoon();
  }

  private patch(change: Partial<ReturnType<Page["store"]["get"]>["list"]>): void {
    this.page.store.patch({ list: { ...this.page.store.get().list, ...change } });
  }

  /** A session and its branches, as far as they are listed: they are one row, and what is done to it is done to all. */
  private withBranches(id: string): string[] {
    const branches = branchesIn(this.page.store.get().list.sessions, id).map((summary) => summary.session_id);
    return branches.length === 0 ? [id] : branches;
  }

  /** Shows a change before the server has it. */
  private foresee(ids: string[], change: { title: string } | { pinned: boolean }): void {
    const { sessions } = this.page.store.get().list;
    this.patch({ sessions: sessions.map((summary) => (ids.includes(summary.session_id) ? { ...summary, ...change } : summary)) });
  }

  async rename(id: string, title: string): Promise<void> {
    const ids = this.withBranches(id);
    this.foresee(ids, { title });
    await this.change(ids, { title });
  }

  private async change(ids: string[], change: JsonMap): Promise<boolean> {
    const done = await Promise.all(ids.map((id) => this.changeOne(id, change)));
    if (!ids.some((id) => this.later.has(id))) await this.refresh();
    return done.every(Boolean);
  }

  /** Changes a session; one that is being answered, once that is over. */
  private async changeOne(id: string, change: JsonMap): Promise<boolean> {
    const done = await this.page.attempt(async () => {
      try {
        await this.page.api.patchSession(id, change);
      } catch (error) {
        if (!asProblem(error).busy || !(id in this.page.store.get().running)) throw error;
        this.later.set(id, [...(this.later.get(id) ?? []), change]);
        this.page.toast("The agent is at work there. It is changed once the answer is complete.");
      }
      return true;
    });
    return done === true;
  }

  /** A session is not being answered any more. */
  ended(id: string): void {
    const changes = this.later.get(id) ?? [];
    this.later.delete(id);
    void changes.reduce((before, change) => before.then(() => this.change([id], change)), Promise.resolve(true));
  }

  /** Lists those that were put away, or the others. */
  showArchived(archived: boolean): void {
    this.patch({ archived, search: "", sessions: [], next: null, phase: "loading" });
    void this.refresh();
  }

  async pin(id: string, pinned: boolean): Promise<void> {
    // One pin is enough for all branches, and what is unpinned must have none.
    const ids = pinned ? [id] : this.withBranches(id);
    this.foresee(ids, { pinned });
    await this.change(ids, { metadata: { pinned } });
  }

  /** Puts a session away, or takes it back. It stays as it is. */
  async archive(id: string, archived: boolean, ids = this.withBranches(id)): Promise<void> {
    const { list, openId } = this.page.store.get();
    if (list.archived !== archived) this.patch({ sessions: removed(list.sessions, ...ids) });
    if (!(await this.change(ids, { metadata: { archived } }))) return;
    if (archived && openId !== null && ids.includes(openId)) this.page.go(null);
    this.page.toast(archived ? "Session archived." : "Session taken back.", "info", { label: "Undo", run: () => void this.archive(id, !archived, ids) });
  }

  /** Takes a session away, or some of its branches; for a while they can be brought back. Whoever looks at one goes to one that stays. */
  remove(ids: string[]): void {
    const { list, openId } = this.page.store.get();
    const [beside] = removed(branchesIn(list.sessions, ids[0] ?? null), ...ids);
    this.patch({ sessions: removed(list.sessions, ...ids) });
    const looked = openId !== null && ids.includes(openId);
    if (looked) this.page.go(beside?.session_id ?? null);
    const leaving = ids.map((id) => {
      const finish = () => {
        if (!this.leaving.delete(id)) return;
        void this.page.attempt(() => this.page.api.deleteSession(id)).then(() => this.refresh());
      };
      this.leaving.set(id, finish);
      return finish;
    });
    const bringBack = () => {
      for (const id of ids) this.leaving.delete(id);
      void this.refresh();
      if (looked) this.page.go(openId);
    };
    const what = ids.length > 1 ? `Session deleted, with all ${ids.length} branches.` : beside ? "Branch deleted." : "Session deleted.";
    this.page.toast(what, "info", { label: "Undo", run: bringBack }, UNDO_MS, () => leaving.forEach((finish) => finish()));
  }

  /** Goes on in a copy of all there is. */
  async copy(id: string): Promise<void> {
    await this.page.attempt(() => this.fork(id, null));
  }

  /** Goes on in a copy that may end with a message of a revision. */
  async fork(id: string, upto: { upto_index: number; revision: number } | null): Promise<void> {
    const fork = await this.page.api.fork(id, upto);
    await this.refresh();
    this.page.go(fork.session_id);
  }

  async exportJson(id: string): Promise<void> {
    const session = await this.page.attempt(() => this.page.api.exportSession(id));
    if (session) download(`${fileName(this.titleOf(id), id)}.json`, "application/json", JSON.stringify(session, null, 2));
  }

  async exportMarkdown(id: string, title: string): Promise<void> {
    const session = await this.page.attempt(() => this.page.api.session(id, null));
    if (!session) return;
    const part = await this.page.attempt(() => import("./markdown"));
    if (part) download(`${fileName(this.titleOf(id), id)}.md`, "text/markdown", part.markdownOf(title, session.messages));
  }

  /** What a session is called, if anybody or anything gave it a name. */
  private titleOf(id: string): string {
    const { list, conversation } = this.page.store.get();
    const listed = list.sessions.find((summary) => summary.session_id === id)?.title;
    const stored = conversation?.sessionId === id ? conversation.metadata.title : null;
    return listed ?? (typeof stored === "string" ? stored : "");
  }

  async importFile(file: File): Promise<void> {
    let session: unknown;
    try {
      session = JSON.parse(await file.text());
    } catch {
      this.page.toast(`"${file.name}" is no JSON. Choose a file that was exported here.`, "error");
      return;
    }
    if (!isMap(session) || typeof session.session_id !== "string") {
      this.page.toast(`"${file.name}" holds no session. Choose a file that was exported here.`, "error");
      return;
    }
    await this.importAs(session, null);
  }

  private async importAs(session: JsonMap, id: string | null): Promise<void> {
    const made = await this.page.attempt(async () => {
      try {
        return await this.page.api.importSession(session, id);
      } catch (error) {
        const problem = asProblem(error);
        if (id !== null || problem.status !== 409 || problem.busy) throw error;
        const copy = { label: "Import a copy", run: () => void this.importAs(session, newId()) };
        this.page.toast("This session is here already.", "info", copy, COPY_MS);
        return null;
      }
    });
    if (!made) return;
    await this.refresh();
    this.page.go(made.session_id);
  }
}

/** Hands a file to the user. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Some browsers begin to read only after this.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
