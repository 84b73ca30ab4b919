//! From a click on a plugin's button to its action: asks what its dialog asks, then runs it.

import { type FormEvent, type ReactNode, createContext, useContext, useState } from "react";
import type { JsonMap } from "../api/types";
import type { Seen } from "../state/chat";
import { type Page, usePage } from "../state/page";
import { Modal } from "../ui/Modal";
import { answersOf } from "./dialog";
import { type ActionElement, paramsOf } from "./elements";
import { FormFields } from "./FormFields";

interface Asked {
  element: ActionElement;
  session: JsonMap | undefined;
  message: Seen | null;
}

export type StartAction = (element: ActionElement, about?: { session?: JsonMap; message?: Seen | null }) => void;

const Starter = createContext<StartAction>(() => undefined);

/** Gives the function that runs an element, with its dialog if it has one. */
export function useActionDialog(): StartAction {
  return useContext(Starter);
}

export function ActionDialogs({ children }: { children: ReactNode }) {
  const page = usePage();
  const [asked, setAsked] = useState<Asked | null>(null);
  const start: StartAction = (element, about) => {
    const call = { element, session: about?.session ?? sessionInView(page), message: about?.message ?? null };
    if (element.dialog) setAsked(call);
    else void run(call, {});
  };
  /** Whether it went well. */
  const run = async ({ element, session, message }: Asked, answers: JsonMap): Promise<boolean> => {
    const sessionId = typeof session?.session_id === "string" ? session.session_id : null;
    // A plugin is told of a position; by the time the dialog is filled in another message may stand there.
    if (message && !page.chat.isStill(message)) return true;
    const about = message ? { index: message.index, ...(message.message as unknown as JsonMap) } : undefined;
    const { status } = await page.actions.runElement(element, paramsOf(element, { session, message: about, answers }), sessionId);
    return status !== "error";
  };
  return (
    <Starter value={start}>
      {children}
      {asked && (
        <AskFirst
          asked={asked}
          onClose={() => setAsked(null)}
          onRun={async (answers) => {
            // What was filled in stays until it was of use.
            if (await run(asked, answers)) setAsked((held) => (held === asked ? null : held));
          }}
        />
      )}
    </Starter>
  );
}

/** The session in view, with the fields it has in the list and those of a session that is read whole. */
export function sessionInView(page: Pick<Page, "store">): JsonMap | undefined {
  const { openId, conversation, list } = page.store.get();
  if (!openId) return undefined;
  const metadata = conversation?.metadata ?? {};
  const summary = list.sessions.find((held) => held.session_id === openId) as unknown as JsonMap | undefined;
  return {
    title: metadata.title ?? null,
    agent_id: metadata.agent_id ?? null,
    ...summary,
    session_id: openId,
    metadata,
    messages: (conversation?.messages ?? []) as unknown as JsonMap[],
  };
}

function AskFirst({ asked, onClose, onRun }: { asked: Asked; onClose: () => void; onRun: (answers: JsonMap) => Promise<void> }) {
  const { element } = asked;
  const inputs = element.dialog?.inputs ?? [];
  const [given, setGiven] = useState<JsonMap>({});
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [running, setRunning] = useState(false);
  const title = element.dialog?.title || element.label;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const answers = answersOf(inputs, given);
    setErrors(answers.errors);
    if (Object.keys(answers.errors).length > 0 || running) return;
    setRunning(true);
    await onRun(answers.values);
    setRunning(false);
  };
  return (
    <Modal title={title} description={inputs.length === 0 ? `${element.label}: go on?` : undefined} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        <FormFields inputs={inputs} given={given} errors={errors} onChange={setGiven} />
        <div className="row-end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" aria-disabled={running || undefined}>
            {inputs.length === 0 ? "Go on" : element.label}
          </button>
        </div>
      </form>
    </Modal>
  );
}
