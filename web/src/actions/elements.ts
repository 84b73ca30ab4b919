//! Elements that plugins contribute: buttons in the order of their surface, settings, and the rest.

import { type ActionOwner, type JsonMap, isMap } from "../api/types";
import { type Dialog, readDialog, readInput } from "./dialog";
import { fieldAt, filled, mapping } from "./fields";
import { plainLine } from "./safe";
import { SURFACES, type Surface } from "./surface";

export interface ActionElement {
  surface: Surface;
  plugin: string;
  owner: ActionOwner | null;
  id: string;
  label: string;
  icon: string | null;
  order: number | null;
  actionId: string;
  fixedParams: JsonMap;
  /** Where other parameters come from; without it they are the answers to the dialog. */
  paramMap: JsonMap | null;
  dialog: Dialog | null;
}

const OWNERS: readonly ActionOwner[] = ["provider_extension", "feature", "application"];

/** Reads a button; `null` if the element is none, or names no action. */
export function readElement(element: JsonMap): ActionElement | null {
  const surface = SURFACES.find((name) => name === element.ui_type);
  const actionId = filled(element, "action_id");
  const plugin = filled(element, "plugin");
  if (!surface || !actionId || !plugin) return null;
  const id = filled(element, "id") ?? actionId;
  const paramMap = mapping(element, "param_map");
  return {
    surface,
    plugin,
    owner: OWNERS.find((owner) => owner === element.action_owner) ?? null,
    id,
    label: plainLine(filled(element, "label") ?? "") || plainLine(id),
    icon: plainLine(filled(element, "icon") ?? "") || null,
    order: typeof element.order === "number" ? element.order : null,
    actionId,
    fixedParams: mapping(element, "fixed_params") ?? {},
    paramMap: paramMap && Object.keys(paramMap).length > 0 ? paramMap : null,
    dialog: readDialog(element.dialog),
  };
}

/** The buttons of a surface in the order in which they are shown. */
export function elementsOf(elements: readonly JsonMap[], surface: Surface): ActionElement[] {
  const found = elements.map(readElement).filter((element) => element !== null && element.surface === surface);
  const rank = (element: ActionElement | null) => element?.order ?? Number.POSITIVE_INFINITY;
  // Two without a rank are infinitely far from anything but not from each other.
  return (found as ActionElement[]).sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)));
}

export interface ConfigElement {
  key: string | null;
  plugin: string;
  element: JsonMap;
}

/** The settings. */
export function settingsOf(elements: readonly JsonMap[]): ConfigElement[] {
  return elements
    .filter((element) => element.ui_type === "config")
    .map((element) => ({ key: filled(element, "key"), plugin: filled(element, "plugin") ?? "", element }));
}

/** What this page has no place for; it is told, not dropped. */
export function unknownElements(elements: readonly JsonMap[]): JsonMap[] {
  return elements.filter((element) => (element.ui_type === "config" ? readInput(element) : readElement(element)) === null);
}

export interface Sources {
  session?: JsonMap | undefined;
  message?: JsonMap | undefined;
  /** The answers to the dialog, already of their types. */
  answers?: JsonMap | undefined;
}

/** The parameters for one click. A reference to nothing leaves its parameter out. */
export function paramsOf(element: ActionElement, sources: Sources): JsonMap {
  const params: JsonMap = { ...element.fixedParams };
  if (!element.paramMap) return Object.assign(params, sources.answers ?? {});
  for (const [name, value] of Object.entries(element.paramMap)) {
    const reference = typeof value === "string" ? /^\$(session|message|dialog)\.(.*)$/s.exec(value) : null;
    const found = reference ? follow(reference[1] as string, reference[2] as string, sources) : value;
    if (found !== undefined && (found !== null || !reference)) params[name] = found;
  }
  return params;
}

function follow(source: string, path: string, sources: Sources): JsonMap[string] {
  if (source === "dialog") return sources.answers && Object.hasOwn(sources.answers, path) ? sources.answers[path] : undefined;
  const fields = source === "session" ? sources.session : sources.message;
  return isMap(fields) ? fieldAt(fields, path) : undefined;
}
