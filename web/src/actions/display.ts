//! What an action wants a person to see: the `display` of its result.

import { type Json, type JsonMap, isMap } from "../api/types";
import { filled, list, mapping } from "./fields";
import { plainLine, plainText, webUrl } from "./safe";

export type Variant = "info" | "success" | "warning" | "error";
export type Presentation = "inline" | "banner" | "modal";

export type DisplayAction = { id: string; label: string } & (
  | { kind: "open_url"; url: string }
  | { kind: "copy_text"; text: string }
  | { kind: "run_action"; plugin: string; actionId: string; params: JsonMap; preserveDisplay: boolean }
);

export interface Display {
  title: string | null;
  body: string;
  format: "text" | "markdown";
  variant: Variant;
  presentation: Presentation;
  dismissible: boolean;
  displayId: string | null;
  actions: DisplayAction[];
}

/** Reads a display. Unknown values become the defaults; without a body there is nothing to show. */
export function readDisplay(value: Json | undefined): Display | null {
  if (!isMap(value) || typeof value.body !== "string") return null;
  const body = plainText(value.body);
  if (body.trim() === "") return null;
  const title = filled(value, "title");
  return {
    title: (title && plainLine(title)) || null,
    body,
    format: value.format === "markdown" ? "markdown" : "text",
    variant: oneOf(value.variant, ["success", "warning", "error"]) ?? "info",
    presentation: oneOf(value.presentation, ["modal", "banner"]) ?? "inline",
    dismissible: typeof value.dismissible === "boolean" ? value.dismissible : true,
    displayId: filled(value, "display_id"),
    actions: list(value, "actions").map(readAction).filter((action) => action !== null),
  };
}

function oneOf<T extends string>(value: Json | undefined, known: readonly T[]): T | null {
  return known.find((word) => word === value) ?? null;
}

/** A button; `null` if it cannot be offered. */
function readAction(value: Json): DisplayAction | null {
  if (!isMap(value)) return null;
  const id = filled(value, "id");
  if (!id) return null;
  const given = filled(value, "label");
  const head = { id, label: (given && plainLine(given)) || plainLine(id) };
  switch (filled(value, "kind")) {
    case "open_url": {
      const url = webUrl(filled(value, "url") ?? "");
      return url ? { ...head, kind: "open_url", url } : null;
    }
    case "copy_text": {
      const text = filled(value, "text");
      return text ? { ...head, kind: "copy_text", text: plainText(text) } : null;
    }
    case "run_action": {
      const plugin = filled(value, "plugin");
      const actionId = filled(value, "action_id");
      const params = value.params === undefined || value.params === null ? {} : mapping(value, "params");
      if (!plugin || !actionId || !params) return null;
      return { ...head, kind: "run_action", plugin, actionId, params, preserveDisplay: value.preserve_display === true };
    }
    default:
      return null;
  }
}
