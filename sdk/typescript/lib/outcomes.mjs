// From what a method returned to what the protocol wants. Generous in what it takes; what it cannot take it names.

import { equal, isMapping, nameOf } from "./copy.mjs";
import { PluginError } from "./errors.mjs";
import { changeOf, checkItems } from "./lists.mjs";
import { stateChange } from "./state.mjs";

/**
 * The outcome of a hook.
 * @param given what it was lent: the input it got, and `state` or `chunk` as they were before
 * @param where class and method, for errors
 */
export function outcomeOf(kind, hook, returned, given, where) {
  const shape = OWN_SHAPES[kind]?.[hook] ?? SHAPES[hook];
  return shape(returned, given, where);
}

function wrong(where, returned, expected) {
  return new PluginError("wrong_type", `${where} returned ${nameOf(returned)}; expected ${expected}`);
}

const nothing = () => null;
const isJson = (value) => typeof value !== "function" && typeof value !== "symbol";

/** Nothing, or what passes the test. */
function optional(test, expected) {
  return (returned, _, where) => {
    if (returned === undefined || returned === null) return null;
    if (!test(returned)) throw wrong(where, returned, `${expected}, or nothing`);
    return returned;
  };
}

const anything = optional(isJson, "a JSON value");
const isText = (value) => typeof value === "string";
const text = optional(isText, "a string");
const boolean = optional((value) => typeof value === "boolean", "true, false");
const array = optional(Array.isArray, "an array");
const objects = optional((value) => Array.isArray(value) && value.every(isMapping), "an array of objects");
const texts = optional((value) => Array.isArray(value) && value.every(isText), "an array of strings");
const oneOrMore = (shape) => (returned, given, where) =>
  shape(isText(returned) || isMapping(returned) ? [returned] : returned, given, where);
const actions = optional(
  (value) => Array.isArray(value) && value.every((it) => isMapping(it) && isText(it.id)),
  "an array of actions (objects with an id)",
);

function items(returned, _, where) {
  if (!Array.isArray(returned)) throw wrong(where, returned, "an array of objects");
  checkItems(returned, `${where}: the returned list`);
  return returned;
}

function state(returned, given, where) {
  return stateChange(given.state, returned ?? given.lentState(), `${where}: the returned state`);
}

function listChange(name) {
  return (returned, given, where) => changeOf(given.input[name], returned, `${where}: ${name}`);
}

/** The parts of an answer that is a mapping, a tuple in the order of `names`, or the first list alone. */
function partsOf(returned, names, where) {
  if (returned === undefined || returned === null) return {};
  if (Array.isArray(returned)) {
    const isTuple = Array.isArray(returned[0]);
    if (!isTuple) return { [names[0]]: returned };
    if (returned.length <= names.length) return Object.fromEntries(returned.map((part, at) => [names[at], part]));
  } else if (isMapping(returned)) {
    const stranger = Object.keys(returned).find((key) => !names.includes(key));
    if (stranger === undefined) return returned;
    throw new PluginError("wrong_type", `${where} returned an object with ${stranger}; expected only ${names.join(", ")}`);
  }
  throw wrong(where, returned, `[${names.join(", ")}], an object with these, or nothing`);
}

/** An answer that changes several things; `null` where nothing changed. */
function changes(names) {
  return (returned, given, where) => {
    const parts = partsOf(returned, names, where);
    const answer = {};
    for (const name of names) {
      const change = name === "state" ? state(parts.state, given, where) : listChange(name)(parts[name], given, where);
      if (change !== null && change !== "keep") answer[name] = change;
    }
    return Object.keys(answer).length === 0 ? null : answer;
  };
}

function actionResult(returned, given, where) {
  if (returned === undefined || returned === null) return null;
  if (isText(returned)) return { message: returned };
  if (!isMapping(returned)) throw wrong(where, returned, "an object such as { message: ... }, a string, or nothing");
  if (returned.native_messages === undefined || given.input.native_messages === undefined) return returned;
  return { ...returned, native_messages: listChange("native_messages")(returned.native_messages, given, where) };
}

/** A report, from whatever a tool gives back. */
export function toolReport(returned) {
  if (isMapping(returned) && typeof returned.success === "boolean") return returned;
  return { success: true, output: returned ?? "done" };
}

/** What a running tool shows. */
export function toolPart(value) {
  if (isMapping(value) && ("success" in value || (Object.keys(value).length === 1 && "part" in value))) return value;
  return { part: value };
}

const CHUNK_KEYS = ["partial", "final_messages", "state"];

/** A chunk, from a piece of text, a partial, a list of finals or a chunk. */
export function chunkOf(value, given, where) {
  if (isText(value)) return { partial: { role: "assistant", content: value } };
  if (Array.isArray(value)) return { final_messages: items(value, given, where) };
  if (!isMapping(value)) throw wrong(where, value, "a string, a partial, or a chunk: an object with partial, final_messages or state");
  if (isText(value.role) && isText(value.content)) return { partial: value };
  const stranger = Object.keys(value).find((key) => !CHUNK_KEYS.includes(key));
  if (stranger !== undefined) throw wrong(where, value, "a chunk with partial, final_messages or state only");
  const chunk = { ...value };
  if (isText(value.partial)) chunk.partial = { role: "assistant", content: value.partial };
  if (value.final_messages != null) items(value.final_messages, given, where);
  else delete chunk.final_messages;
  if ("state" in value) chunk.state = stateChange(given.state, value.state, `${where}: state`);
  return chunk;
}

function processedChunk(returned, given, where) {
  const now = returned ?? given.input.chunk;
  return equal(now, given.chunk) ? null : chunkOf(now, given, where);
}

function modelAnswer(returned, given, where) {
  if (returned === undefined || returned === null) return null;
  const names = ["partials", "final_messages", "native_messages", "state"];
  const isFinals = Array.isArray(returned) && !Array.isArray(returned[0]);
  const parts = isFinals ? { final_messages: returned } : partsOf(returned, names, where);
  const answer = { final_messages: items(parts.final_messages ?? [], given, where) };
  if (parts.partials) answer.partials = parts.partials;
  answer.native_messages = listChange("native_messages")(parts.native_messages, given, where);
  answer.state = state(parts.state, given, where);
  return answer;
}

function interception(returned, _, where) {
  if (returned === undefined || returned === null) return null;
  if (isText(returned)) return { text: returned };
  if (isMapping(returned) && (isText(returned.rewrite) || isText(returned.text))) return returned;
  throw wrong(where, returned, "{ text: ... } to answer, { rewrite: ... } to ask something else, or nothing");
}

function gate(returned, _, where) {
  if (returned === undefined || returned === null || returned === true || returned === "allow") return "allow";
  const [only, ...others] = isMapping(returned) ? Object.keys(returned) : [];
  const fits = only === "rewrite" || ((only === "ask" || only === "deny") && isText(returned[only]));
  if (others.length === 0 && fits) return returned;
  throw wrong(where, returned, '"allow", { deny: reason }, { ask: reason }, { rewrite: input }, or nothing');
}

const SHAPES = {
  init: state,
  get_tags: oneOrMore(texts),
  is_enabled: boolean,
  get_ui_elements: array,
  get_models: objects,
  to_native_messages: listChange("native_messages"),
  from_native_messages: listChange("messages"),
  initialize_request: changes(["native_messages", "state"]),
  call_api: modelAnswer,
  finalize: changes(["final_messages", "native_messages", "state"]),
  cancel_request: nothing,
  process_chunk: processedChunk,
  get_actions: actions,
  execute_action: actionResult,
  filter_tools: objects,
  attachment_parts: oneOrMore(objects),
  get_template: text,
  get_completions: array,
  apply_completion: text,
  get_tool_schemas: oneOrMore(objects),
  prepare_tools: anything,
  execute_tool: toolReport,
  format_tool_result: anything,
  to_display_format: anything,
  format_tool_call_preview: text,
  start: nothing,
  stop: nothing,
  on_request_start: nothing,
  on_request_end: nothing,
  on_turn_persisted: nothing,
  intercept_chat_request: interception,
  attachment_handler: text,
  context_providers: oneOrMore(texts),
  before_tool_call: gate,
  after_tool_call: text,
};

const OWN_SHAPES = {
  provider: { to_native_messages: items, from_native_messages: items },
  application: { init: anything },
};
