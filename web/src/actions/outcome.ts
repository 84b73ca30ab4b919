//! What came of an action, in one form whoever ran it and however it failed.

import type { Problem } from "../api/problem";
import { type Json, type JsonMap, isMap } from "../api/types";
import { type Display, readDisplay } from "./display";
import { plainLine, plainText } from "./safe";

export interface Outcome {
  status: "ok" | "noop" | "error";
  errorType: string | null;
  message: string | null;
  display: Display | null;
  created: string[];
  updated: string[];
  deleted: string[];
  reload: string[];
  navigate: JsonMap | null;
}

export function outcomeOf(result: JsonMap): Outcome {
  const failed = result.status === "error" || (result.status !== "noop" && result.error !== undefined && result.error !== null);
  const status = failed ? "error" : result.status === "noop" ? "noop" : "ok";
  const mutations = isMap(result.mutations) ? result.mutations : {};
  const effects = isMap(result.ui_effects) ? result.ui_effects : {};
  const error = result.error;
  const part = (key: string) => (isMap(error) ? text(error[key]) : null);
  let message = text(result.message);
  let errorType: string | null = null;
  if (failed) {
    errorType = plainLine(text(result.error_type) ?? part("type") ?? "") || "plugin";
    message ??= part("message") ?? (typeof error === "string" ? text(error) : null) ?? "the action failed and did not say why";
  }
  return {
    status,
    errorType,
    message,
    display: readDisplay(result.display),
    created: ids(mutations.created_session_ids),
    updated: ids(mutations.updated_session_ids),
    deleted: ids(mutations.deleted_session_ids),
    reload: ids(effects.reload_session_ids),
    navigate: isMap(effects.navigate) ? effects.navigate : null,
  };
}

/** The outcome of a call that failed. */
export function failedOutcome(problem: Problem): Outcome {
  return { ...outcomeOf({ status: "error", message: problem.message }), errorType: problem.errorType };
}

/** The message where it is to be shown: of a failure always, otherwise in place of a display. */
export function notice(outcome: Outcome): string | null {
  return outcome.display && outcome.status !== "error" ? null : outcome.message;
}

/** Ids of a list, each once; a lone text is a list of one. */
function ids(value: Json | undefined): string[] {
  const listed = Array.isArray(value) ? value : [value];
  return [...new Set(listed.filter((id): id is string => typeof id === "string" && id !== ""))];
}

function text(value: Json | undefined): string | null {
  if (value === null || value === undefined) return null;
  const shown = plainText(typeof value === "string" ? value : JSON.stringify(value));
  return shown.trim() === "" ? null : shown;
}
