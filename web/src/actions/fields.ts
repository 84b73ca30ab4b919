//! Reading of loose mappings: parts of the wrong form count as absent.

import { type Json, type JsonMap, isMap } from "../api/types";

/** The text under `key`, if there is one that is not empty. */
export function filled(fields: JsonMap, key: string): string | null {
  const value = fields[key];
  return typeof value === "string" && value !== "" ? value : null;
}

export function mapping(fields: JsonMap, key: string): JsonMap | null {
  const value = fields[key];
  return isMap(value) ? value : null;
}

export function list(fields: JsonMap, key: string): Json[] {
  const value = fields[key];
  return Array.isArray(value) ? value : [];
}

/** The value at a dotted path; numbers are positions in lists. */
export function fieldAt(fields: JsonMap, path: string): Json | undefined {
  let value: Json | undefined = fields;
  for (const name of path.split(".")) {
    if (Array.isArray(value)) value = /^\d+$/.test(name) ? value[Number(name)] : undefined;
    else if (isMap(value)) value = Object.hasOwn(value, name) ? value[name] : undefined;
    else return undefined;
  }
  return value;
}
