//! A call that waits for a person: allow it, refuse it, remember the answer, or answer its question.

import { type FormEvent, type RefObject, useId, useRef, useState } from "react";
import type { JsonMap, RememberScope } from "../api/types";
import { answersOf, readDialog } from "../actions/dialog";
import { plainText } from "../actions/safe";
import { FormFields } from "../actions/FormFields";
import type { Approval, ToolItem } from "../state/items";
import { usePage } from "../state/page";
import { focusChat, isFocusLost } from "../ui/focus";
import { Preview } from "./ToolResult";

interface Props {
  tool: ToolItem;
  approval: Approval;
}

export function ApprovalCard({ tool, approval }: Props) {
  return approval.form ? <Question tool={tool} approval={approval} form={approval.form} /> : <Permission tool={tool} approval={approval} />;
}

function Permission({ tool, approval }: Props) {
  const page = usePage();
  const [remember, setRemember] = useState<RememberScope | null>(null);
  // What the model is told of a refusal; `null` as long as nobody wants to say something.
  const [reason, setReason] = useState<string | null>(null);
  const [sent, setSent] = useState(false);
  const [card, leave] = useLeaving<HTMLDivElement>();
  const decide = async (decision: "allow" | "deny") => {
    setSent(true);
    const done = await page.chat.decide(approval.requestId, tool.callId, {
      decision,
      ...(remember ? { remember } : {}),
      ...(decision === "deny" && reason?.trim() ? { reason: reason.trim() } : {}),
    });
    if (!done) setSent(false);
    else leave();
  };
  return (
    <div ref={card} className="approval" role="group" aria-label={`May ${tool.name} run?`}>
      <p className="approval-reason" dir="auto">
        <InlineCode text={approval.reason || `May ${tool.name} run?`} />
      </p>
      <WhatWouldRun tool={tool} approval={approval} />
      {approval.remember.length > 0 && <Remember approval={approval} chosen={remember} onChoose={setRemember} />}
      {reason === null ? (
        <div className="row">
          <button type="button" className="button primary" disabled={sent} onClick={() => void decide("allow")}>
            Allow
          </button>
          <button type="button" className="button" disabled={sent} onClick={() => void decide("deny")}>
            Deny
          </button>
          <button type="button" className="link-button" disabled={sent} onClick={() => setReason("")}>
            Say why not
          </button>
        </div>
      ) : (
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault();
            void decide("deny");
          }}
        >
          <input type="text" dir="auto" className="deny-reason" aria-label="Why not" placeholder="Why not? The model reads it" value={reason} onChange={(event) => setReason(event.target.value)} autoFocus />
          <button type="submit" className="button" disabled={sent}>
            Deny
          </button>
          <button type="button" className="link-button" disabled={sent} onClick={() => setReason(null)}>
            Back
          </button>
        </form>
      )}
    </div>
  );
}

/** For how long an answer counts, and for which calls. */
function Remember({ approval, chosen, onChoose }: { approval: Approval; chosen: RememberScope | null; onChoose: (scope: RememberScope | null) => void }) {
  const name = useId();
  const offered = scopes(approval);
  const rules = offered.find(({ scope }) => scope === chosen)?.rules ?? [];
  return (
    <fieldset className="remember segmented">
      <legend className="visually-hidden">Remember this answer</legend>
      <div>
        <label>
          <input type="radio" name={name} checked={chosen === null} onChange={() => onChoose(null)} />
          <span>Only this once</span>
        </label>
        {offered.map(({ scope }) => (
          <label key={scope}>
            <input type="radio" name={name} checked={chosen === scope} onChange={() => onChoose(scope)} />
            <span>{scope === "session" ? "For this session" : "Always"}</span>
          </label>
        ))}
      </div>
      {rules.length > 0 && (
        <p className="remembered" role="status">
          For every call that fits <code>{rules.join(", ")}</code>
        </p>
      )}
    </fieldset>
  );
}

/** A sentence with code in backticks. */
function InlineCode({ text }: { text: string }) {
  const parts = plainText(text).split("`");
  if (parts.length % 2 === 0) return <>{plainText(text)}</>;
  return <>{parts.map((part, place) => (place % 2 === 1 ? <code key={place}>{part}</code> : part))}</>;
}

/** What would run, where it is not plain from the card: what plugins made of the arguments counts. */
function WhatWouldRun({ tool, approval }: Props) {
  if (tool.preview !== "") return <Preview text={tool.preview} />;
  const { input } = approval;
  const text = typeof input === "string" ? input : JSON.stringify(input, null, 2);
  return text && text !== "{}" && text !== "null" ? <pre tabIndex={0}>{text}</pre> : null;
}

function scopes(approval: Approval): { scope: RememberScope; rules: string[] }[] {
  return (["session", "always"] as const)
    .map((scope) => ({ scope, rules: approval.remember.filter((offer) => offer.scope === scope).map((offer) => offer.rule) }))
    .filter(({ rules }) => rules.length > 0);
}

/** A card that goes once it is answered. If it has the keyboard then, that goes on to where one writes. */
function useLeaving<T extends HTMLElement>(): [RefObject<T | null>, () => void] {
  const card = useRef<T>(null);
  const leave = () => {
    if (isFocusLost() || card.current?.contains(document.activeElement)) focusChat();
  };
  return [card, leave];
}

function Question({ tool, approval, form }: Props & { form: JsonMap }) {
  const page = usePage();
  const dialog = readDialog(form);
  const [given, setGiven] = useState<JsonMap>({});
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [sent, setSent] = useState(false);
  const [card, leave] = useLeaving<HTMLFormElement>();
  if (!dialog) return null;
  const decide = async (decision: "allow" | "deny", input?: JsonMap) => {
    setSent(true);
    const done = await page.chat.decide(approval.requestId, tool.callId, { decision, ...(input ? { input } : {}) });
    if (!done) setSent(false);
    else leave();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const answers = answersOf(dialog.inputs, given);
    setErrors(answers.errors);
    if (Object.keys(answers.errors).length > 0) return;
    // A question of its own has one field, `answer`; a form's answer is the mapping of its fields.
    const isForm = typeof form.schema === "object" && form.schema !== null && !Array.isArray(form.schema) && form.schema.type === "object";
    void decide("allow", { answer: isForm ? answers.values : (answers.values.answer ?? null) });
  };
  return (
    <form ref={card} className="approval" aria-label={dialog.title} onSubmit={submit} noValidate>
      <p className="approval-reason" dir="auto">{dialog.title}</p>
      <FormFields inputs={dialog.inputs} given={given} errors={errors} onChange={setGiven} hideLabel={dialog.inputs.length === 1 && dialog.inputs[0]?.label === dialog.title} />
      <div className="row">
        <button type="submit" className="button primary" disabled={sent}>
          Answer
        </button>
        <button type="button" className="button" disabled={sent} onClick={() => void decide("deny")}>
          Do not answer
        </button>
      </div>
    </form>
  );
}
