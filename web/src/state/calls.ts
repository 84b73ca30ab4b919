//! Tool calls in the forms providers write them: id, name and arguments, whoever made the call.

import { type Json, type JsonMap, isMap } from "../api/types";

export interface ReadCall {
  id: string | null;
  name: string;
  arguments: Json;
}

/** Reads a call of any known form; `null` if it has no name. */
export function readCall(call: JsonMap): ReadCall | null {
  const inner = [call.function, call.custom, call.functionCall, call.function_call].find(isMap) ?? call;
  const name = inner.name;
  if (typeof name !== "string") return null;
  const id = call.call_id ?? call.id ?? inner.id;
  const given = inner.arguments ?? inner.input ?? inner.args ?? null;
  return { id: typeof id === "string" ? id : null, name, arguments: parsed(given) };
}

function parsed(given: Json): Json {
  if (typeof given !== "string") return given ?? {};
  if (given.trim() === "") return {};
  try {
    return JSON.parse(given) as Json;
  } catch {
    return given;
  }
}

/** The calls of an assistant message. */
export function callsOf(metadata: JsonMap | undefined): ReadCall[] {
  const calls = metadata?.tool_calls;
  if (!Array.isArray(calls)) return [];
  return calls.filter(isMap).map(readCall).filter((call) => call !== null);
}

/** One line that says what a call is about: its most telling argument. */
export function headline(given: Json): string {
  if (typeof given === "string") return firstLine(given);
  if (!isMap(given)) return "";
  const telling = ["command", "path", "pattern", "query", "url", "question", "task", "name", "text", "id"];
  const key = telling.find((name) => typeof given[name] === "string" && given[name] !== "");
  const value = key ? given[key] : Object.values(given).find((value) => typeof value === "string");
  return typeof value === "string" ? firstLine(value) : "";
}

function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}
