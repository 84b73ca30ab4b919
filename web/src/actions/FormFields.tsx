//! Fields of a form, whoever asks: dialogs of actions, questions of agents, settings.

import { useId } from "react";
import type { Json, JsonMap } from "../api/types";
import { type DialogInput, kindOf } from "./dialog";

interface Props {
  inputs: readonly DialogInput[];
  given: JsonMap;
  errors: Record<string, string>;
  onChange: (given: JsonMap) => void;
  /** Where the heading says the same as the only field. */
  hideLabel?: boolean;
  /** Settings have a value without anybody's doing; none is asked for, and each can go back to it. */
  settings?: boolean;
}

export function FormFields({ inputs, given, errors, onChange, hideLabel = false, settings = false }: Props) {
  const without = (name: string) => Object.fromEntries(Object.entries(given).filter(([held]) => held !== name));
  return (
    <div className="fields">
      {inputs.map((input) => (
        <Field
          key={input.name}
          input={input}
          value={given[input.name] ?? input.default}
          error={errors[input.name]}
          hideLabel={hideLabel}
          optional={!input.required && !settings}
          onChange={(value) => onChange({ ...given, [input.name]: value })}
          onReset={settings && given[input.name] !== undefined && given[input.name] !== null ? () => onChange(without(input.name)) : undefined}
        />
      ))}
    </div>
  );
}

interface FieldProps {
  input: DialogInput;
  value: Json | undefined;
  error: string | undefined;
  hideLabel: boolean;
  /** Whether to say that it may be left empty. */
  optional: boolean;
  onChange: (value: Json) => void;
  onReset: (() => void) | undefined;
}

function Field({ input, value, error, hideLabel, optional, onChange, onReset }: FieldProps) {
  const id = useId();
  const described = [input.description ? `${id}-about` : null, error ? `${id}-error` : null].filter(Boolean).join(" ") || undefined;
  const kind = kindOf(input.type);
  const common = { id, dir: "auto", "aria-describedby": described, "aria-invalid": error ? true : undefined, "aria-required": input.required || undefined };
  const isChoice = input.choices.length > 0;
  const label = `${input.label}${optional ? " (optional)" : ""}`;
  return (
    <div className="field" data-kind={kind}>
      {!(isChoice || kind === "boolean") && (
        <label htmlFor={id} className={hideLabel ? "visually-hidden" : undefined}>
          {label}
        </label>
      )}
      {isChoice ? (
        <Choices input={input} value={value} label={label} hideLabel={hideLabel} described={described} onChange={onChange} />
      ) : kind === "boolean" ? (
        <label className="check">
          <input type="checkbox" {...common} checked={value === true || value === "true"} onChange={(event) => onChange(event.target.checked)} />
          {input.label}
        </label>
      ) : input.multiline || kind === "object" || kind === "array" ? (
        <textarea {...common} rows={3} value={asText(value)} placeholder={input.placeholder ?? undefined} onChange={(event) => onChange(event.target.value)} spellCheck={kind === "text"} />
      ) : (
        <input
          {...common}
          type={input.secret ? "password" : "text"}
          inputMode={keyboardFor(input)}
          autoComplete="off"
          value={asText(value)}
          placeholder={input.placeholder ?? (input.bounds.format === "date" ? "YYYY-MM-DD" : undefined)}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {input.description && (
        <p className="about" id={`${id}-about`}>
          {input.description}
        </p>
      )}
      {onReset && (
        <button type="button" className="link-button" onClick={onReset}>
          Use default<span className="visually-hidden"> of {input.label}</span>
        </button>
      )}
      {error && (
        <p className="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

/** Which keys a phone shows. */
function keyboardFor({ type, bounds }: DialogInput): "numeric" | "decimal" | "email" | "url" | undefined {
  const kind = kindOf(type);
  if (kind === "integer") return "numeric";
  if (kind === "number") return "decimal";
  if (bounds.format === "email") return "email";
  return bounds.format === "uri" || bounds.format === "url" ? "url" : undefined;
}

function asText(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

interface ChoicesProps {
  input: DialogInput;
  value: Json | undefined;
  label: string;
  hideLabel: boolean;
  described: string | undefined;
  onChange: (value: Json) => void;
}

/** A list to choose from: one, or several where the field is a list; something else where that is allowed. */
function Choices({ input, value, label, hideLabel, described, onChange }: ChoicesProps) {
  const id = useId();
  const several = kindOf(input.type) === "array";
  const chosen = several ? (Array.isArray(value) ? value : []) : value === undefined || value === null ? [] : [value];
  const known = (held: Json) => input.choices.some((choice) => same(choice.value, held));
  const other = chosen.find((held) => !known(held));
  const toggle = (choice: Json) => {
    if (!several) return onChange(choice);
    onChange(chosen.some((held) => same(held, choice)) ? chosen.filter((held) => !same(held, choice)) : [...chosen, choice]);
  };
  const write = (text: string) => {
    if (!several) return onChange(text);
    onChange([...chosen.filter(known), ...(text === "" ? [] : [text])]);
  };
  if (!several && !input.other && input.choices.length > 6) {
    return (
      <>
        <label htmlFor={id}>{label}</label>
        <select
          id={id}
          aria-describedby={described}
          value={JSON.stringify(value ?? null)}
          onChange={(event) => onChange(JSON.parse(event.target.value) as Json)}
        >
          <option value="null">Not chosen</option>
          {input.choices.map((choice) => (
            <option key={JSON.stringify(choice.value)} value={JSON.stringify(choice.value)}>
              {choice.label}
            </option>
          ))}
        </select>
      </>
    );
  }
  return (
    <fieldset className="choices" aria-describedby={described}>
      <legend className={hideLabel ? "visually-hidden" : undefined}>{label}</legend>
      {input.choices.map((choice) => (
        <label key={JSON.stringify(choice.value)} className="choice">
          <input type={several ? "checkbox" : "radio"} name={id} checked={chosen.some((held) => same(held, choice.value))} onChange={() => toggle(choice.value)} />
          <span>
            {choice.label}
            {choice.description && <small>{choice.description}</small>}
          </span>
        </label>
      ))}
      {input.other && (
        <input type="text" aria-label="Something else" placeholder="Something else" value={typeof other === "string" ? other : ""} onChange={(event) => write(event.target.value)} />
      )}
    </fieldset>
  );
}

function same(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
