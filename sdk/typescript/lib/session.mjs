// Sessions as plugins see them. One that was not changed goes back as its handle, and loses nothing on the way.

import { copy, equal, isMapping } from "./copy.mjs";
import { PluginError } from "./errors.mjs";
import { changeOf, lend, skippedOf } from "./lists.mjs";

/** A session of the host. Change its copy with `call.core`, or in place. */
export class Session {
  #handle;
  #metadata;

  constructor({ handle, session_id, metadata = {}, messages, native_messages }) {
    this.#handle = handle;
    this.#metadata = metadata;
    this.session_id = session_id;
    this.metadata = copy(metadata);
    this.messages = messages;
    this.native_messages = native_messages;
    this.#given = { session_id, messages, native_messages };
  }

  #given;

  /** As it crosses the border. */
  toJSON() {
    const { session_id, messages, native_messages } = this.#given;
    const isSame = this.session_id === session_id
      && isUnchanged(messages, this.messages)
      && (native_messages === null ? this.native_messages === null : isUnchanged(native_messages, this.native_messages));
    if (isSame && equal(this.#metadata, this.metadata)) return { $session: { handle: this.#handle } };
    if (isSame) return { $session: { handle: this.#handle, metadata: this.metadata } };
    if (skippedOf(messages) > 0) {
      throw new PluginError("bad_state", `session ${session_id} was given without its first ${skippedOf(messages)} messages, so it cannot be sent back changed; ask for the whole: history = { executeAction: "full" }`);
    }
    return { session_id: this.session_id, messages: this.messages, metadata: this.metadata };
  }
}

function isUnchanged(lent, now) {
  return now !== undefined && now !== null && changeOf(lent, now, "the session") === null;
}

const LISTS_AND_SESSIONS = new Set(["native_messages", "final_messages", "messages", "session"]);

/**
 * Reads the lists and sessions among the fields of a value, in their order: each builds on those before. Other fields may be
 * a stranger's words, and stay as they are.
 */
export function receiveFields(fields, slots) {
  for (const [key, value] of Object.entries(fields)) {
    if (!LISTS_AND_SESSIONS.has(key)) continue;
    if (Array.isArray(value)) fields[key] = lend(value);
    else if (isMapping(value)) fields[key] = receive(value, slots);
  }
  return fields;
}

/** Reads an answer of the host: a session, a list, or something with these in it. */
export function receiveAnswer(answer, slots) {
  if (Array.isArray(answer)) return answer.map((part) => (isMapping(part) ? receive(part, slots) : part));
  if (!isMapping(answer)) return answer;
  const read = receive(answer, slots);
  return read === answer ? receiveFields(answer, slots) : read;
}

function receive(value, slots) {
  if (isMapping(value.$list)) {
    const { items, skip } = slots.read(value.$list);
    return lend(items, skip);
  }
  if (!isMapping(value.$session)) return value;
  const fields = receiveFields({ ...value.$session }, slots);
  return new Session({ ...fields, messages: fields.messages ?? lend([]), native_messages: fields.native_messages ?? null });
}
