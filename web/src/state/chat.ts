//! What a person does with the session in view: open it, write, stop, decide, edit, try again.

import { follow, told } from "../api/follow";
import { Problem, asProblem } from "../api/problem";
import { type Event, type JsonMap, type Message, type RequestState, type Session, type Verdict, endsRequest } from "../api/types";
import { NO_DISPLAYS } from "../actions/surface";
import type { Attachment } from "./app";
import { Batch } from "./batch";
import { type Conversation, isBusy, joining, loaded, newConversation, sending, toldAll } from "./conversation";
import { textOf } from "./items";
import { withResults } from "./transcript";
import type { Page } from "./page";
import { TryFinder } from "./tries";
import { applyEvent, begunAgain, newTurn } from "./turn";

/** So many messages are loaded first. */
const TAIL = 60;

export class Chat {
  private following: { requestId: string; stop: AbortController } | null = null;
  private opening: AbortController | null = null;
  /** Told when another session is opened. */
  private leaving = new AbortController();
  /** Grows with each end of a request: a session that was asked for before is old. */
  private ends = 0;
  private readonly batch = new Batch<Event>((events) => this.tell(events));

  readonly tries: TryFinder;

  constructor(private readonly page: Page) {
    this.tries = new TryFinder(page.api);
  }

  private get conversation(): Conversation | null {
    return this.page.store.get().conversation;
  }

  private set(conversation: Conversation): void {
    if (this.page.store.get().openId === conversation.sessionId) this.page.store.patch({ conversation });
  }

  /** Shows a session; `null` is the empty page of a new one. */
  async open(id: string | null): Promise<void> {
    this.leave();
    const { attention } = this.page.store.get();
    const rest = Object.fromEntries(Object.entries(attention).filter(([session]) => session !== id));
    this.page.store.patch({
      openId: id,
      conversation: id === null ? null : newConversation(id),
      displays: NO_DISPLAYS,
      queue: [],
      attention: rest,
    });
    if (id !== null) await this.load(id);
    await this.page.actions.loadElements();
  }

  private leave(): void {
    this.opening?.abort();
    this.leaving.abort();
    this.leaving = new AbortController();
    this.following?.stop.abort();
    this.following = null;
    this.batch.drop();
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
      if (opening.signal.aborted) return;
      if (ends !== this.ends) return await this.load(id);
      this.show(id, session, requests[0] ?? null);
      if (session.first_index > 0) await this.load(id);
    } catch (error) {
      const problem = asProblem(error);
      if (opening.signal.aborted || !this.conversation) return;
      const phase = problem.status === 404 ? "missing" : "failed";
      if (this.conversation.phase !== "ready" || phase === "missing") this.set({ ...this.conversation, phase, problem: problem.message });
    }
  }

  private show(id: string, session: Session, newest: RequestState | null): void {
    const { conversation } = this;
    if (conversation?.sessionId !== id) return;
    this.set(loaded(conversation, session));
    if (newest?.status === "running" || newest?.status === "waiting") this.join(newest.request_id);
    else if (newest?.status === "completed" && !conversation.turn) void this.recall(newest.request_id);
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
    const { running } = this.page.store.get();
    this.page.store.patch({ running: { ...running, [conversation.sessionId]: requestId } });
    this.set(joining(conversation, requestId, messageIndex));
    void this.follow(requestId);
  }

  /** Sends what the user wrote; while the agent is at work it waits its turn. */
  async send(text: string, attachments: Attachment[] = [], parts: JsonMap[] = []): Promise<void> {
    const { conversation } = this;
    if (conversation && isBusy(conversation)) {
      const { queue } = this.page.store.get();
      this.page.store.patch({ queue: [...queue, { id: crypto.randomUUID(), text, attachments }] });
      return;
    }
    const id = conversation?.sessionId ?? (await this.create());
    if (id === null || !this.conversation) return;
    const requestId = crypto.randomUUID();
    this.set(sending(this.conversation, requestId, userMessage(text, attachments, parts)));
    const ids = attachments.flatMap((attachment) => (attachment.assetId ? [attachment.assetId] : []));
    // Somebody else may be at work here, or a plugin after the last answer: then it waits.
    const body: JsonMap = { content: text, request_id: requestId, stream: true, queue: true };
    if (ids.length > 0) body.attachments = ids;
    if (parts.length > 0) body.multipart_content = parts;
    await this.follow(requestId, { path: this.page.api.requestPath(id), body });
  }

  private async create(): Promise<string | null> {
    const session = await this.page.attempt(() => this.page.api.createSession(this.page.agentId()));
    if (!session) return null;
    const id = session.session_id;
    const empty = { ...session, first_index: 0, messages: [], metadata: { agent_id: session.agent_id } };
    this.page.store.patch({ openId: id, conversation: loaded(newConversation(id), empty) });
    this.page.go(id);
    void this.page.actions.loadElements();
    return id;
  }

  private async follow(requestId: string, begin?: { path: string; body: JsonMap }): Promise<void> {
    const sessionId = this.conversation?.sessionId;
    if (!sessionId) return;
    this.following?.stop.abort();
    const stop = new AbortController();
    this.following = { requestId, stop };
    try {
      await follow({
        client: this.page.api.client,
        path: (after) => this.page.api.requestEventsPath(requestId, after),
        begin,
        once: true,
        onEvent: (event) => {
          this.batch.push(event);
          if (endsRequest(event)) this.batch.flush();
        },
        onGap: () => {
          this.batch.flush();
          const { conversation } = this;
          if (conversation?.turn) this.set({ ...conversation, turn: begunAgain(conversation.turn) });
        },
        signal: stop.signal,
      });
    } catch (error) {
      if (!stop.signal.aborted) this.refused(requestId, asProblem(error));
    } finally {
      if (this.following?.requestId === requestId) this.following = null;
    }
    if (!stop.signal.aborted) this.sendNext();
  }

  /** The server did not take the request, or does not know it any more. */
  private refused(requestId: string, problem: Problem): void {
    const { conversation } = this;
    if (conversation?.turn?.requestId !== requestId) return;
    this.batch.flush();
    const error = { type: problem.errorType, message: problem.message, retryable: problem.retryable, retry_after: problem.retryAfter };
    this.set({ ...conversation, turn: { ...conversation.turn, status: "failed", error } });
    if (problem.unauthorized) this.page.store.patch({ access: "token-needed", accessProblem: "The server does not know this token any more." });
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
    if (last.type === "final") {
      for (const message of last.messages) this.handled(message);
      if (last.session.message_count === after.messages.length) return;
    }
    // What is kept of a request that did not end well, only the server knows.
    void this.reload();
  }

  /** A host plugin answered in place of the agent, and may have effects. */
  private handled(message: Message): void {
    const handled = message.metadata?.handled;
    if (typeof handled !== "object" || handled === null || Array.isArray(handled)) return;
    const data = handled.data;
    if (typeof data === "object" && data !== null && !Array.isArray(data)) this.page.actions.effects(data);
  }

  private sendNext(): void {
    const { queue } = this.page.store.get();
    const [next, ...rest] = queue;
    if (!next || !this.conversation || isBusy(this.conversation) || this.conversation.turn?.status !== "done") return;
    this.page.store.patch({ queue: rest });
    void this.send(next.text, next.attachments);
  }

  unqueue(id: string): void {
    this.page.store.patch({ queue: this.page.store.get().queue.filter((queued) => queued.id !== id) });
  }

  /** Ends the request that runs. What was said so far is kept. */
  async stop(): Promise<void> {
    const turn = this.conversation?.turn;
    if (!turn || !this.conversation || !isBusy(this.conversation)) return;
    await this.page.attempt(() => this.page.api.cancel(turn.requestId));
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
    const { conversation } = this;
    if (!conversation || isBusy(conversation)) return;
    const index = conversation.messages.findLastIndex((message) => message.role === "user");
    const stored = conversation.messages[index];
    if (conversation.sent || !stored) {
      if (conversation.sent) await this.send(textOf(conversation.sent.content), [], conversation.sent.multipartContent);
      return;
    }
    const cut = await this.page.attempt(async () => {
      await this.page.api.slice(conversation.sessionId, { end: index });
      return true;
    });
    if (!cut) return;
    this.set({ ...conversation, messages: conversation.messages.slice(0, index), turn: null });
    await this.send(textOf(stored.content), [], stored.multipartContent);
  }

  /** Another answer, or another question, in a branch beside this one. */
  async branch(index: number, text: string): Promise<void> {
    const { conversation } = this;
    if (!conversation || isBusy(conversation)) return;
    const made = await this.page.attempt(() => this.page.api.branch(conversation.sessionId, index));
    if (!made) return;
    this.tries.forget();
    const { session_id } = made.session;
    this.page.go(session_id);
    await this.opened(session_id);
    await this.send(text, [], made.message.multipartContent);
  }

  private async opened(id: string): Promise<void> {
    if (this.page.store.get().openId !== id) await this.open(id);
    while (this.conversation?.sessionId === id && this.conversation.phase === "loading") {
      await new Promise((resolve) => setTimeout(resolve, 16));
    }
  }

  /** Takes a message away, with the results of calls that it made. */
  async remove(index: number): Promise<void> {
    const { conversation } = this;
    if (!conversation) return;
    await this.page.attempt(() => this.page.api.slice(conversation.sessionId, { remove_indices: withResults(conversation.messages, index) }));
    await this.reload();
  }
}

function userMessage(text: string, attachments: Attachment[], parts: JsonMap[]): Message {
  const names = attachments.map((attachment) => ({ name: attachment.name, media_type: attachment.mediaType, size: attachment.size }));
  return { role: "user", content: text, metadata: names.length > 0 ? { attachments: names } : {}, ...(parts.length > 0 ? { multipartContent: parts } : {}) };
}
