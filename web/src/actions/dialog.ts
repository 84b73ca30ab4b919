//! What to ask before an action runs, and the answers as values of the right type.

import { type Json, type JsonMap, isMap } from "../api/types";
import { type Bounds, misfit, propertyOf, readBounds } from "./bounds";
import { filled, list } from "./fields";
import { plainLine, plainText } from "./safe";

export interface Dialog {
  kind: string;
  title: string;
  /** Without any it asks whether to go on. */
  inputs: DialogInput[];
}

export interface Choice {
  value: Json;
  label: string;
  description: string | null;
}

export interface DialogInput {
  name: string;
  type: string;
  label: string;
  required: boolean;
  description: string | null;
  placeholder: string | null;
  default: Json | undefined;
  choices: Choice[];
  /** Whether something else than the choices may be said. */
  other: boolean;
  multiline: boolean;
  secret: boolean;
  bounds: Bounds;
}

export type InputKind = "text" | "integer" | "number" | "boolean" | "array" | "object" | "other";

export function readDialog(value: Json | undefined): Dialog | null {
  if (!isMap(value)) return null;
  return {
    kind: filled(value, "kind") ?? "form",
    title: plainLine(filled(value, "title") ?? ""),
    inputs: list(value, "inputs")
      .map((input) => readInput(input, value.schema))
      .filter((input) => input !== null),
  };
}

/** Reads a field of a dialog, a setting or a form, which may have a schema of the whole; `null` without a name. */
export function readInput(value: Json, schema?: Json): DialogInput | null {
  if (!isMap(value)) return null;
  const name = filled(value, "name") ?? filled(value, "key");
  if (!name) return null;
  const given = list(value, "choices");
  const choices = given.length > 0 ? given : list(value, "options").length > 0 ? list(value, "options") : list(value, "enum");
  const description = filled(value, "description");
  return {
    name,
    type: filled(value, "type") ?? "string",
    label: plainLine(filled(value, "label") ?? "") || plainLine(name),
    required: value.required === true,
    description: description ? plainText(description) : null,
    placeholder: filled(value, "placeholder"),
    default: value.default,
    choices: choices.map(readChoice).filter((choice) => choice !== null),
    other: value.other === true,
    multiline: value.multiline === true || value.type === "text",
    secret: value.secret === true,
    bounds: readBounds({ ...propertyOf(schema, name), ...value }),
  };
}

function readChoice(value: Json): Choice | null {
  if (isMap(value)) {
    const id = value.value ?? value.id ?? value.label;
    if (id === undefined || id === null) return null;
    const label = filled(value, "label") ?? String(id);
    const description = filled(value, "description");
    return { value: id, label: plainLine(label), description: description ? plainText(description) : null };
  }
  if (value === null || Array.isArray(value)) return null;
  return { value, label: plainLine(String(value)), description: null };
}

export function kindOf(type: string): InputKind {
  switch (type) {
    case "string":
    case "text":
      return "text";
    case "integer":
    case "int":
      return "integer";
    case "number":
    case "float":
      return "number";
    case "boolean":
    case "bool":
      return "boolean";
    case "array":
    case "object":
      return type;
    default:
      return "other";
  }
}

export type Converted = { value: Json | undefined } | { error: string };

/** The answer as a value of the field's type; `undefined` if it was left empty. */
export function convert(type: string, answer: Json | undefined): Converted {
  const kind = kindOf(type);
  const isText = kind === "text" || kind === "other";
  if (answer === null || answer === undefined) return { value: undefined };
  if (typeof answer === "string" && (isText ? answer : answer.trim()) === "") return { value: undefined };
  const value = valueOf(kind, answer);
  return value === undefined ? { error: `must be ${ASKED_FOR[kind]}` } : { value };
}

const ASKED_FOR: Record<InputKind, string> = {
  text: "a text",
  integer: "a whole number such as 5",
  number: "a number such as 0.5",
  boolean: "true or false",
  array: "a JSON list such as [1, 2]",
  object: 'a JSON mapping such as {"a": 1}',
  other: "a value",
};

function valueOf(kind: InputKind, answer: Json): Json | undefined {
  const typed = typeof answer === "string" ? answer.trim() : null;
  switch (kind) {
    case "other":
      return answer;
    case "text":
      if (typeof answer === "string") return answer;
      return typeof answer === "number" || typeof answer === "boolean" ? String(answer) : undefined;
    case "integer": {
      const number = typed === null ? answer : /^[+-]?\d+$/.test(typed) ? Number(typed) : undefined;
      return typeof number === "number" && Number.isSafeInteger(number) ? number : undefined;
    }
    case "number": {
      const number = typed === null ? answer : /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(typed) ? Number(typed) : undefined;
      return typeof number === "number" && Number.isFinite(number) ? number : undefined;
    }
    case "boolean":
      if (typeof answer === "boolean") return answer;
      if (/^(true|yes|y|on|1)$/i.test(typed ?? "")) return true;
      return /^(false|no|n|off|0)$/i.test(typed ?? "") ? false : undefined;
    case "array":
    case "object": {
      const value = typed === null ? answer : parsed(typed);
      return (kind === "array" ? Array.isArray(value) : isMap(value)) ? value : undefined;
    }
  }
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

export interface Answers {
  values: JsonMap;
  /** What is wrong, by the name of the field. */
  errors: Record<string, string>;
}

/** The answers, each of its declared type and within its bounds. Fields left empty have none; those not asked for have their default. */
export function answersOf(inputs: readonly DialogInput[], given: JsonMap): Answers {
  const answers: Answers = { values: {}, errors: {} };
  for (const input of inputs) {
    const answer = given[input.name];
    const converted = convert(input.type, answer === null || answer === undefined ? input.default : answer);
    const wrong = "error" in converted ? converted.error : converted.value === undefined ? input.required && "is needed" : misfit(converted.value, input.bounds);
    if (wrong) answers.errors[input.name] = `${input.label} ${wrong}`;
    else if ("value" in converted && converted.value !== undefined) answers.values[input.name] = converted.value;
  }
  return answers;
}
