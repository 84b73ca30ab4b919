//! Runs the actions of plugins and does what their results ask for.

import { asProblem } from "../api/problem";
import type { JsonMap } from "../api/types";
import type { Page } from "../state/page";
import type { DisplayAction } from "./display";
import type { ActionElement } from "./elements";
import { type Outcome, failedOutcome, notice, outcomeOf } from "./outcome";
import { NOT_COPIED, copyText } from "../ui/clipboard";
import { OwnRuns } from "./own";
import { type Surface, dismiss, followUp, show } from "./surface";

export class ActionRunner {
  private readonly own = new OwnRuns();

  constructor(private readonly page: Page) {}

  /** Asks what plugins contribute for the session in view. */
  async loadElements(): Promise<void> {
    const agent = this.page.agentId();
    const { openId } = this.page.store.get();
    if (!agent) return;
    try {
      const elements = await this.page.api.uiSchema(agent, openId);
      if (this.page.store.get().openId === openId) this.page.store.patch({ elements });
    } catch {
      // The conversation is of use without buttons; the next load asks again.
      if (this.page.store.get().openId === openId) this.page.store.patch({ elements: [] });
    }
  }

  /** Runs an action whose result the page itself has a place for. */
  async ask(plugin: string, action: string, sessionId: string | null, params: JsonMap): Promise<JsonMap> {
    const answered = this.own.begin(sessionId, plugin, action);
    try {
      return (await this.page.api.runAction(plugin, action, sessionId, params)).result;
    } finally {
      answered();
    }
  }

  /** Runs the action of a button. */
  async runElement(element: ActionElement, params: JsonMap, sessionId: string | null): Promise<Outcome> {
    // What a row of the list offers may be about a session that is not in view.
    const view = element.surface === "session_list_action" ? this.page.store.get().openId : sessionId;
    const outcome = await this.call(element.plugin, element.actionId, sessionId, params);
    const here = this.page.store.get().openId === view;
    this.apply(outcome, here);
    if (outcome.display && here) {
      this.page.store.patch({ displays: show(this.page.store.get().displays, element.surface, outcome.display) });
    }
    return outcome;
  }

  /** Does what a button of a display says. */
  async runDisplayAction(number: number, surface: Surface, action: DisplayAction): Promise<void> {
    if (action.kind === "open_url") {
      open(action.url, "_blank", "noopener,noreferrer");
      return;
    }
    if (action.kind === "copy_text") {
      if (await copyText(action.text)) this.page.toast("Copied.", "success");
      else this.page.toast(NOT_COPIED, "error");
      return;
    }
    const { openId } = this.page.store.get();
    const outcome = await this.call(action.plugin, action.actionId, openId, action.params);
    const here = this.page.store.get().openId === openId;
    this.apply(outcome, here);
    if (!here) return;
    const keep = action.preserveDisplay || (outcome.status === "error" && !outcome.display);
    const { displays } = this.page.store.get();
    this.page.store.patch({ displays: followUp(displays, number, keep, surface, outcome.display) });
  }

  dismiss(number: number): void {
    this.page.store.patch({ displays: dismiss(this.page.store.get().displays, number) });
  }

  /** An action ran: by itself, elsewhere, or here, which is no news. */
  ran({ plugin, action_id, result, request_id }: { plugin: string; action_id: string; result: JsonMap; request_id?: string }, sessionId: string): void {
    if (this.own.tells(sessionId, plugin, action_id)) return;
    const outcome = outcomeOf(result);
    // What somebody clicked elsewhere takes nobody here to another place; what the turn in view did by itself may.
    this.apply({ ...outcome, message: null, navigate: request_id ? outcome.navigate : null });
    this.came(result, sessionId);
  }

  /** Something to see that nobody here asked for. */
  came(result: JsonMap, sessionId: string): void {
    const { display } = outcomeOf(result);
    const { openId, displays } = this.page.store.get();
    if (display && openId === sessionId) this.page.store.patch({ displays: show(displays, "session_action", display, false) });
  }

  private async call(plugin: string, action: string, sessionId: string | null, params: JsonMap): Promise<Outcome> {
    const answered = this.own.begin(sessionId, plugin, action);
    try {
      const { result, change_id } = await this.page.api.runAction(plugin, action, sessionId, params);
      if (sessionId && change_id) this.offerUndo(sessionId, change_id);
      return outcomeOf(result);
    } catch (error) {
      return failedOutcome(asProblem(error));
    } finally {
      answered();
    }
  }

  private offerUndo(sessionId: string, change: string): void {
    const undo = async () => {
      await this.page.attempt(() => this.page.api.undo(sessionId, change));
      await this.page.chat.reload();
    };
    this.page.toast("The session was changed.", "success", { label: "Undo", run: () => void undo() }, 10_000);
  }

  /** Effects of a command that answered in the form of a result. A display that was not shown yet is, where it has more to it than the answer. */
  handled(result: JsonMap, sessionId: string): void {
    const { display } = outcomeOf(result);
    this.apply({ ...outcomeOf(result), message: null });
    if (!this.page.store.get().displays.shown.some((held) => held.display.body === display?.body)) this.came(result, sessionId);
  }

  /** Does what a result asks for. It takes nobody elsewhere who has left the session that it is of. */
  private apply(outcome: Outcome, here = true): void {
    const told = notice(outcome);
    if (told) this.page.toast(told, outcome.status === "error" ? "error" : "success");
    const { openId } = this.page.store.get();
    const changed = [...outcome.created, ...outcome.updated, ...outcome.deleted, ...outcome.reload];
    if (changed.length > 0) this.page.sessions.refreshSoon();
    if (openId && outcome.deleted.includes(openId)) this.page.go(null);
    else if (openId && (outcome.updated.includes(openId) || outcome.reload.includes(openId))) {
      void this.page.chat.reload();
      void this.loadElements();
    }
    if (here) this.navigate(outcome.navigate);
  }

  private navigate(to: JsonMap | null): void {
    if (to?.screen === "sessions") this.page.go(null);
    if (to?.screen === "session" && typeof to.session_id === "string") this.page.go(to.session_id);
  }
}
