//! What a person does with the session in view: open it, write, stop, decide, edit, try again.

import { follow, told } from "../api/follow";
import { Problem, asProblem } from "../api/problem";
import { type Event, type Message, type RequestState, type Session, type Verdict, endsRequest, isMap } from "../api/types";
import { NO_DISPLAYS } from "../actions/surface";
import type { Attachment } from "./app";
import { keepDraft, keptDraft } from "../chat/drafts";
import { Batch } from "./batch";
import { type Aside, type Conversation, failing, isAside, isBusy, joining, loaded, newConversation, sending, toldAll } from "./conversation";
import { newId } from "./ids";
import { textOf } from "./items";
import { type Outbox, type Outgoing, again, hold, messageOf, moved, put, requestOf, waitingIn, without } from "./outbox";
import { isSame, isUnanswered, withResults } from "./transcript";
import type { Page } from "./page";
import { TryFinder } from "./tries";
import { applyEvent, begunAgain, newTurn } from "./turn";

/** So many messages are loaded first. */
const TAIL = 60;

/** The session that is made with its first message. */
const NEW = "";

const STOPPED = "It was stopped before it was sent.";
const CHANGED = "The conversation changed meanwhile. Nothing was done; look at it again.";

/** A message, and as of when it stands there: with the same words another one may stand there later. */
export interface Seen {
  index: number;
  message: Message;
  placed: number;
}

/** A message that is being sent. It goes on until the server has it, whichever session is looked at. */
interface Delivery {
  session: string;
  entry: Outgoing;
  stop: AbortController;
  taken: boolean;
  /** Whether the server could not be reached with it, so far. */
  lost: boolean;
}

function runs({ status }: RequestState): boolean {
  return status === "running" || status === "waiting";
}

export class Chat {
  private following: { requestId: string; stop: AbortController } | null = null;
  /** By session; there is one at a time. */
  private readonly deliveries = new Map<string, Delivery>();
  /** Whether a session is being made. */
  private making = false;
  /** Messages that were stopped before the server said that it has them: it is told once it does. */
  private readonly stopping = new Set<string>();
  /** Sessions in which something is asked again; a second click is no second question. */
  private readonly asking = new Set<string>();
  /** The session was changed while it was being answered. */
  private stale = false;
  /** What was said aside in sessions that are not in view. */
  private readonly asides = new Map<string, Aside[]>();
  private opening: AbortController | null = null;
  /** Told when another session is opened. */
  private leaving = new AbortController();
  /** Grows with each end of a request: a session that was asked for before is old. */
  private ends = 0;
  /** The session is read again after its last request, as far as it has to be. */
  private settled: Promise<void> = Promise.resolve();
  private readonly batch = new Batch<Event>((events) => this.tell(events));

  readonly tries: TryFinder;

  constructor(private readonly page: Page) {
    this.tries = new TryFinder(page.api);
  }

  private get conversation(): Conversation | null {
    return this.page.store.get().conversation;
  }

  private set(conversation: Conversation): void {
    if (this.page.store.get().openId !== conversation.sessionId) return;
    if (conversation.asides.length > 0) this.asides.set(conversation.sessionId, conversation.asides);
    this.page.store.patch({ conversation });
  }

  private get outbox(): Outbox {
    return this.page.store.get().outbox;
  }

  private setOutbox(outbox: Outbox): void {
    this.page.store.patch({ outbox });
  }

  /** Shows a session; `null` is the empty page of a new one. */
  async open(id: string | null): Promise<void> {
    this.leave();
    const { attention } = this.page.store.get();
    const rest = Object.fromEntries(Object.entries(attention).filter(([session, mark]) => session !== id || mark === "asking"));
    this.page.store.patch({
      openId: id,
      conversation: id === null ? null : { ...newConversation(id), asides: this.asides.get(id) ?? [] },
      displays: NO_DISPLAYS,
      attention: rest,
    });
    const delivery = id === null ? undefined : this.deliveries.get(id);
    if (delivery) this.watch(delivery);
    if (id !== null) await this.load(id);
    await this.page.actions.loadElements();
  }

  private leave(): void {
    this.opening?.abort();
    this.leaving.abort();
    this.leaving = new AbortController();
    this.unfollow();
    this.stale = false;
    this.batch.drop();
  }

  /** Leaves the request that is followed. One that the server does not have yet goes on, or it would be lost. */
  private unfollow(): void {
    const { following } = this;
    this.following = null;
    if (following && ![...this.deliveries.values()].some((delivery) => delivery.stop === following.stop)) following.stop.abort();
  }

  /** The session in view was changed, by somebody. */
  changed(): void {
    if (this.conversation && isBusy(this.conversation)) this.stale = true;
    else void this.reload();
  }

  /** Reads the session in view again. */
  async reload(): Promise<void> {
    const { openId } = this.page.store.get();
    if (openId !== null) await this.load(openId);
  }

  private async load(id: string): Promise<void> {
    this.opening?.abort();
    const opening = new AbortController();
    this.opening = opening;
    const { ends } = this;
    const first = this.conversation?.phase === "loading";
    try {
      // The end of a long session is shown at once, the rest comes after it.
      const [session, requests] = await Promise.all([
        this.page.api.session(id, first ? TAIL : null, opening.signal),
        first ? this.page.api.requests(id, 1, opening.signal) : [],
      ]);
      const newest = requests[0] ?? null;
      if (opening.signal.aborted) return;
      if (ends !== this.ends) return await this.load(id);
      this.show(id, session, newest);
      // The request may have ended between the two answers.
      if (session.first_index > 0 || (newest && !runs(newest) && isUnanswered(session.messages))) await this.load(id);
    } catch (error) {
      const problem = asProblem(error);
      if (opening.signal.aborted || !this.conversation) return;
      // An id that cannot be one names nothing, either.
      const phase = problem.status === 404 || problem.status === 400 ? "missing" : "failed";
      if (this.conversation.phase !== "ready" || phase === "missing") this.set({ ...this.conversation, phase, problem: problem.message });
    }
  }

  private show(id: string, session: Session, newest: RequestState | null): void {
    const { conversation } = this;
    if (conversation?.sessionId !== id) return;
    const now = loaded(conversation, session);
    this.set(newest?.status === "failed" ? failing(now, newest) : now);
    if (newest && runs(newest)) this.join(newest.request_id);
    else if (newest?.status === "completed" && !conversation.turn) void this.recall(newest.request_id);
    this.deliver(id);
  }

  /** Reads again what the last request told and no message keeps: how long its tools took, what it cost, how full the window is. */
  private async recall(requestId: string): Promise<void> {
    const sessionId = this.conversation?.sessionId;
    if (!sessionId) return;
    // The server keeps events for a while only; the conversation is whole without them.
    const events = await told(this.page.api.client, this.page.api.requestEventsPath(requestId, null), this.leaving.signal).catch(() => []);
    const last = events.at(-1);
    const { conversation } = this;
    if (last?.type !== "final" || conversation?.sessionId !== sessionId || conversation.turn) return;
    // Somebody may have changed the session since; then this is not its end any more.
    if (conversation.messages.length !== last.session.message_count) return;
    const turn = events.reduce((turn, event) => applyEvent(turn, event), newTurn(requestId, { sessionId }));
    this.set({ ...conversation, turn, context: last.session.context ?? null });
  }

  /** Follows a request that runs already. */
  join(requestId: string, messageIndex: number | null = null): void {
    const { conversation } = this;
    if (!conversation || this.following?.requestId === requestId) return;
    this.reached(conversation.sessionId, requestId);
    const { running } = this.page.store.get();
    this.page.store.patch({ running: { ...running, [conversation.sessionId]: requestId } });
    this.set(joining(conversation, requestId, messageIndex));
    this.unfollow();
    const stop = new AbortController();
    this.following = { requestId, stop };
    void this.follow(conversation.sessionId, requestId, stop);
  }

  /** Sends what the user wrote; behind what waits already, and while the agent is at work it waits. */
  send(text: string, attachments: Attachment[] = []): void {
    this.post(this.page.store.get().openId ?? NEW, { id: newId(), text, attachments, parts: [] });
  }

  private post(session: string, entry: Outgoing, place: "last" | "first" = "last"): void {
    this.setOutbox(put(this.outbox, session, entry, place));
    this.deliver(session);
  }

  /** Sends what waits after all. */
  release(): void {
    const session = this.page.store.get().openId ?? NEW;
    this.setOutbox(hold(this.outbox, session, null));
    this.deliver(session);
  }

  unqueue(id: string): void {
    const session = this.page.store.get().openId ?? NEW;
    this.setOutbox(without(this.outbox, session, id));
  }

  /** Sends what waits anywhere: the page was loaded, or let in. */
  deliverAll(): void {
    for (const session of Object.keys(this.outbox)) this.deliver(session);
  }

  /** A request of a session that is not in view ended. */
  ended(session: string, event: Event): void {
    if (this.conversation?.sessionId === session) return;
    if (event.type !== "final") this.keepBack(session, event);
    else this.deliver(session);
  }

  /** What waits was written for an answer that did not come: whether it is sent, the user says. */
  private keepBack(session: string, event: Event): void {
    this.setOutbox(hold(this.outbox, session, event.type === "request_cancelled" ? "The answer was stopped." : "The request failed."));
  }

  /** Sends the next message that waits in a session, if it is its turn. */
  private deliver(session: string): void {
    const { entries, held } = waitingIn(this.outbox, session);
    const [entry] = entries;
    // Who is not let in waits; deliverAll sends it then.
    if (!entry || held !== null || this.deliveries.has(session) || this.page.store.get().access !== "granted") return;
    if (session === NEW) {
      void this.make();
      return;
    }
    const { conversation } = this;
    const inView = conversation?.sessionId === session;
    if (inView ? isBusy(conversation) : session in this.page.store.get().running) return;
    const delivery: Delivery = { session, entry, stop: new AbortController(), taken: false, lost: false };
    this.deliveries.set(session, delivery);
    if (inView) this.watch(delivery);
    void this.follow(session, entry.id, delivery.stop, delivery);
  }

  /** Shows a message that is being sent, and what comes of it. */
  private watch({ entry, stop }: Delivery): void {
    const { conversation } = this;
    if (!conversation) return;
    this.unfollow();
    this.following = { requestId: entry.id, stop };
    this.set(sending(conversation, entry.id, messageOf(entry)));
  }

  /** Makes the session that what waits is for. */
  private async make(): Promise<void> {
    if (this.making) return;
    this.making = true;
    const session = await this.page.attempt(() => this.page.newSession());
    this.making = false;
    if (!session) {
      for (const { id } of waitingIn(this.outbox, NEW).entries) this.stopping.delete(id);
      this.setOutbox(hold(this.outbox, NEW, "The session could not be made."));
      return;
    }
    const id = session.session_id;
    this.setOutbox(moved(this.outbox, NEW, id));
    // Whoever went elsewhere meanwhile stays there.
    if (this.page.store.get().openId === null) {
      keepDraft(id, keptDraft(null));
      keepDraft(null, "");
      const { [NEW]: files = [], ...others } = this.page.store.get().files;
      const empty = { ...session, messages_revision: session.revision, first_index: 0, messages: [], metadata: { agent_id: session.agent_id, ...session.metadata } };
      this.page.store.patch({ openId: id, conversation: loaded(newConversation(id), empty), files: files.length > 0 ? { ...others, [id]: files } : others });
      this.page.go(id);
      void this.page.actions.loadElements();
    }
    this.deliver(id);
  }

  /** Follows a request to its end; with a delivery, from its beginning. */
  private async follow(session: string, requestId: string, stop: AbortController, delivery?: Delivery): Promise<void> {
    const watched = () => this.following?.stop === stop;
    try {
      await follow({
        client: this.page.api.client,
        path: (after) => this.page.api.requestEventsPath(requestId, after),
        begin: delivery && { path: this.page.api.requestPath(session), body: requestOf(delivery.entry) },
        once: true,
        onLink: (link) => {
          if (!delivery || delivery.taken) return;
          delivery.lost = link === "waiting";
          if (link === "open") this.arrived(delivery, watched());
          else if (this.stopping.has(requestId)) this.callBack(delivery);
        },
        onEvent: (event) => {
          if (!watched()) return;
          this.batch.push(event);
          if (endsRequest(event)) this.batch.flush();
        },
        onGap: () => {
          if (!watched()) return;
          this.batch.flush();
          const { conversation } = this;
          if (conversation?.turn) this.set({ ...conversation, turn: begunAgain(conversation.turn) });
        },
        signal: stop.signal,
        tabs: this.page.tabs,
      });
    } catch (error) {
      if (!stop.signal.aborted && delivery && !delivery.taken) this.notTaken(delivery, asProblem(error));
      else if (watched()) this.refused(requestId, asProblem(error));
    } finally {
      if (watched()) this.following = null;
    }
    if (!stop.signal.aborted) this.deliver(session);
  }

  /** The server has the message. What comes of it is of interest where somebody looks. */
  private arrived(delivery: Delivery, watched: boolean): void {
    delivery.taken = true;
    this.deliveries.delete(delivery.session);
    this.setOutbox(without(this.outbox, delivery.session, delivery.entry.id));
    if (this.stopping.delete(delivery.entry.id)) void this.cancel(delivery.entry.id);
    if (!watched) delivery.stop.abort();
  }

  /** The server has a message of which this page thought that it was not sent. */
  reached(session: string, requestId: string): void {
    const { entries, held } = waitingIn(this.outbox, session);
    if (this.deliveries.has(session) || !entries.some((entry) => entry.id === requestId)) return;
    this.setOutbox(without(this.outbox, session, requestId));
    if (held === STOPPED) void this.cancel(requestId);
  }

  /** The server did not take the message: it waits with the others until the user says more. */
  private notTaken({ session, entry }: Delivery, problem: Problem): void {
    this.deliveries.delete(session);
    this.stopping.delete(entry.id);
    if (problem.unauthorized) {
      // It is sent once its user is let in again.
      if (this.conversation?.turn?.requestId === entry.id) this.set({ ...this.conversation, turn: null, sent: null });
      this.page.lockOut();
      return;
    }
    this.setOutbox(hold(this.outbox, session, problem.message));
    if (this.conversation?.turn?.requestId === entry.id) {
      this.refused(entry.id, problem);
      if (this.conversation) this.set({ ...this.conversation, sent: null });
    } else this.page.toast(`A message was not sent. ${problem.message}`, "error");
  }

  /** The server does not go on with the request. */
  private refused(requestId: string, problem: Problem): void {
    const { conversation } = this;
    if (conversation?.turn?.requestId !== requestId) return;
    this.batch.flush();
    const error = { type: problem.errorType, message: problem.message, retryable: problem.retryable, retry_after_seconds: problem.retryAfter ?? undefined };
    this.set({ ...conversation, turn: { ...conversation.turn, status: "failed", error, failedAt: Date.now() } });
    if (problem.unauthorized) this.page.lockOut();
  }

  private tell(events: Event[]): void {
    const before = this.conversation;
    if (!before) return;
    const after = toldAll(before, events);
    this.set(after);
    for (const event of events) if (event.type === "action_result") this.page.actions.ran(event, before.sessionId);
    const last = events.at(-1);
    if (!last || !endsRequest(last) || last.request_id !== before.turn?.requestId) return;
    this.ends += 1;
    if (last.type !== "final") this.keepBack(before.sessionId, last);
    else {
      for (const message of last.messages) this.handled(message, before.sessionId);
      const asStored = isAside(last) || last.session.message_count === after.messages.length;
      if (asStored && !this.stale) return;
    }
    this.stale = false;
    // What is kept of a request that did not end well, only the server knows.
    this.settled = this.reload();
  }

  /** A host plugin answered in place of the agent, and may have effects. */
  private handled(message: Message, session: string): void {
    const handled = message.metadata?.handled;
    if (isMap(handled) && isMap(handled.data)) this.page.actions.handled(handled.data, session);
  }

  /** Ends the request that runs, or is about to. What was said so far is kept. Whether there was one. */
  stop(): boolean {
    const { conversation } = this;
    const [first] = waitingIn(this.outbox, NEW).entries;
    if (!conversation && this.making && first) {
      this.stopping.add(first.id);
      return true;
    }
    if (!conversation?.turn || !isBusy(conversation)) return false;
    const { requestId } = conversation.turn;
    const delivery = this.deliveries.get(conversation.sessionId);
    if (delivery?.entry.id !== requestId) void this.cancel(requestId);
    else if (delivery.lost) this.callBack(delivery);
    else this.stopping.add(requestId);
    return true;
  }

  private async cancel(requestId: string): Promise<void> {
    await this.page.attempt(() => this.page.api.cancel(requestId));
  }

  /** Keeps back a message that the server could not be reached with. If it has it all the same, its events will tell. */
  private callBack({ session, entry, stop }: Delivery): void {
    stop.abort();
    this.deliveries.delete(session);
    this.stopping.delete(entry.id);
    this.setOutbox(hold(this.outbox, session, STOPPED));
    if (this.following?.stop !== stop) return;
    this.following = null;
    if (this.conversation) this.set({ ...this.conversation, turn: null, sent: null });
  }

  async decide(requestId: string, callId: string, decision: Verdict): Promise<boolean> {
    const done = await this.page.attempt(async () => {
      await this.page.api.decide(requestId, callId, decision);
      return true;
    });
    return done === true;
  }

  /** Asks again after a failure: the last message of the user, without what came of it. */
  async retry(): Promise<void> {
    await this.settled;
    const { conversation } = this;
    if (!conversation || isBusy(conversation)) return;
    const { sessionId, sent } = conversation;
    const [first] = waitingIn(this.outbox, sessionId).entries;
    if (first && first.id === conversation.turn?.requestId) {
      this.release();
      return;
    }
    const index = conversation.messages.findLastIndex((message) => message.role === "user");
    const stored = conversation.messages[index];
    if (sent) this.post(sessionId, again(sent, textOf(sent.content)), "first");
    if (sent || !stored) return;
    await this.once(sessionId, async () => {
      const { revision } = await this.page.api.slice(sessionId, { end: index, revision: conversation.revision });
      if (this.conversation?.sessionId === sessionId) this.set({ ...this.conversation, revision, messages: this.conversation.messages.slice(0, index), turn: null });
      this.post(sessionId, again(stored, textOf(stored.content)), "first");
    });
  }

  /** Another answer, or another question, in a branch beside this one. Whether there is one now. */
  async branch(seen: Seen, text: string): Promise<boolean> {
    await this.settled;
    const { conversation } = this;
    if (!conversation || isBusy(conversation) || !this.isStill(seen)) return false;
    const { sessionId, revision } = conversation;
    return this.once(sessionId, async () => {
      const made = await this.page.api.branch(sessionId, seen.index, revision);
      this.tries.forget();
      const { session_id } = made.session;
      // Whoever went elsewhere meanwhile stays there.
      if (this.page.store.get().openId === sessionId) {
        this.page.go(session_id);
        await this.opened(session_id);
      }
      this.post(session_id, again(made.message, text));
    });
  }

  /** Does something that may fail in a session, unless it is being done. Whether it was done. */
  private async once(session: string, work: () => Promise<void>): Promise<boolean> {
    if (this.asking.has(session)) return false;
    this.asking.add(session);
    const done = await this.unlessChanged(work);
    this.asking.delete(session);
    return done;
  }

  /** Does something with messages of the session in view. If somebody else changed it first, nothing is done, and it is read again. Whether it was done. */
  async unlessChanged(work: () => Promise<void>): Promise<boolean> {
    const done = await this.page.attempt(async () => {
      try {
        await work();
        return true;
      } catch (error) {
        const problem = asProblem(error);
        if (problem.errorType !== "conflict" || problem.busy) throw error;
        this.page.toast(CHANGED, "error");
        await this.reload();
        return false;
      }
    });
    return done === true;
  }

  /** A message of the session in view, as of now. */
  seen(index: number): Seen | null {
    const { conversation } = this;
    const message = conversation?.messages[index];
    return conversation && message ? { index, message, placed: conversation.placed } : null;
  }

  /** Whether a message stands where it stood when somebody began to do something with it; if not, says so. */
  isStill({ index, message, placed }: Seen): boolean {
    const { conversation } = this;
    const still = conversation?.placed === placed && isSame(message, conversation.messages[index]);
    if (!still) this.page.toast(CHANGED, "error");
    return still;
  }

  private async opened(id: string): Promise<void> {
    if (this.page.store.get().openId !== id) await this.open(id);
    while (this.conversation?.sessionId === id && this.conversation.phase === "loading") {
      await new Promise((resolve) => setTimeout(resolve, 16));
    }
  }

  /** Takes a message away, with the results of calls that it made. */
  async remove(seen: Seen): Promise<void> {
    await this.settled;
    const { conversation } = this;
    if (!conversation || !this.isStill(seen)) return;
    const { sessionId, messages, revision } = conversation;
    const done = await this.unlessChanged(async () => {
      await this.page.api.slice(sessionId, { remove_indices: withResults(messages, seen.index), revision });
    });
    if (done) await this.reload();
  }

  /** Goes on in a copy that ends with a message. */
  async fork(seen: Seen | null): Promise<void> {
    await this.settled;
    const { conversation } = this;
    if (!conversation || !seen || !this.isStill(seen)) return;
    const { sessionId, revision } = conversation;
    await this.unlessChanged(() => this.page.sessions.fork(sessionId, { upto_index: seen.index, revision }));
  }
}
