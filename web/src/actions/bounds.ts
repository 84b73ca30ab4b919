//! What a field takes beyond its type, in the words of JSON Schema, and how a value that it does not take is told.

import { type Json, type JsonMap, isMap } from "../api/types";
import { filled, list } from "./fields";
import { plainLine } from "./safe";

export interface Bounds {
  least: number | null;
  most: number | null;
  /** Limits that are no values themselves. */
  above: number | null;
  below: number | null;
  multipleOf: number | null;
  shortest: number | null;
  longest: number | null;
  fewest: number | null;
  mostItems: number | null;
  pattern: RegExp | null;
  format: string | null;
  /** A value that would do. */
  example: string | null;
}

/** Reads what restricts a field. What is of the wrong form, or a pattern that is none, restricts nothing. */
export function readBounds(fields: JsonMap): Bounds {
  const least = number(fields, "minimum");
  const most = number(fields, "maximum");
  const excludesLeast = fields.exclusiveMinimum === true;
  const excludesMost = fields.exclusiveMaximum === true;
  const multipleOf = number(fields, "multipleOf");
  const example = list(fields, "examples")[0];
  return {
    least: excludesLeast ? null : least,
    most: excludesMost ? null : most,
    above: excludesLeast ? least : number(fields, "exclusiveMinimum"),
    below: excludesMost ? most : number(fields, "exclusiveMaximum"),
    multipleOf: multipleOf !== null && multipleOf > 0 ? multipleOf : null,
    shortest: number(fields, "minLength"),
    longest: number(fields, "maxLength"),
    fewest: number(fields, "minItems"),
    mostItems: number(fields, "maxItems"),
    pattern: patternOf(filled(fields, "pattern")),
    format: filled(fields, "format"),
    example: typeof example === "string" || typeof example === "number" ? plainLine(String(example)) || null : null,
  };
}

function number(fields: JsonMap, key: string): number | null {
  const value = fields[key];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** Groups that repeat after or around something that varies can take for ever on a text that nearly fits; whoever gets the answer judges it. */
const SLOW = /[*+?|}].*\)[*+{]|\\\d|\\k</s;
/** Longer texts are not held against patterns here. */
const LONGEST_MATCHED = 1_000;

function patternOf(source: string | null): RegExp | null {
  if (source === null || SLOW.test(source)) return null;
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(source, flags);
    } catch {
      // Patterns of other languages may be ones without Unicode rules; what is none at all is passed over.
    }
  }
  return null;
}

/** What is wrong with a value, as it goes on after the name of its field; `null` if nothing is. */
export function misfit(value: Json, bounds: Bounds): string | null {
  if (typeof value === "number") return misfitNumber(value, bounds);
  if (typeof value === "string") return misfitText(value, bounds);
  if (Array.isArray(value)) return misfitCount(value.length, bounds.fewest, bounds.mostItems, "entry", "entries");
  return null;
}

function misfitNumber(value: number, { least, most, above, below, multipleOf }: Bounds): string | null {
  const tooSmall = (least !== null && value < least) || (above !== null && value <= above);
  const tooLarge = (most !== null && value > most) || (below !== null && value >= below);
  if ((tooSmall || tooLarge) && least !== null && most !== null) return `must be between ${least} and ${most}`;
  if (tooSmall) return above !== null && (least === null || above >= least) ? `must be more than ${above}` : `must be at least ${least}`;
  if (tooLarge) return below !== null && (most === null || below <= most) ? `must be less than ${below}` : `must be at most ${most}`;
  if (multipleOf !== null && !divides(multipleOf, value)) return multipleOf === 1 ? "must be a whole number" : `must be a multiple of ${multipleOf}`;
  return null;
}

/** Fractions such as 0.3 and 0.1 are not exact; what is as near as that counts. */
function divides(part: number, value: number): boolean {
  const ratio = value / part;
  return !Number.isFinite(ratio) || Math.abs(ratio - Math.round(ratio)) <= 1e-9 * Math.max(1, Math.abs(ratio));
}

function misfitText(value: string, { shortest, longest, pattern, format, example }: Bounds): string | null {
  const count = misfitCount([...value].length, shortest, longest, "character", "characters");
  if (count) return count;
  const known = format !== null && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
  if (known && !known.fits(value)) return `must be ${known.asked}`;
  if (pattern && value.length <= LONGEST_MATCHED && !pattern.test(value)) return `does not have the form that is asked for${example ? `, such as ${example}` : ""}`;
  return null;
}

function misfitCount(count: number, fewest: number | null, most: number | null, one: string, several: string): string | null {
  const named = (limit: number) => `${limit} ${limit === 1 ? one : several}`;
  if (fewest !== null && count < fewest) return fewest === most ? `must have ${named(fewest)}` : `must have at least ${named(fewest)}`;
  if (most !== null && count > most) return fewest === most ? `must have ${named(most)}` : `must have at most ${named(most)}; there are ${count}`;
  return null;
}

interface Format {
  asked: string;
  fits: (text: string) => boolean;
}

const FORMATS: Partial<Record<string, Format>> = {
  email: { asked: "an e-mail address such as name@example.org", fits: (text) => /^[^\s@]+@[^\s@]+$/.test(text) },
  uri: { asked: "an address such as https://example.org", fits: isUri },
  url: { asked: "an address such as https://example.org", fits: isUri },
  date: { asked: "a date such as 2026-05-31", fits: isDate },
};

function isUri(text: string): boolean {
  return !/\s/.test(text) && URL.canParse(text);
}

/** Year, month and day of a day that there is. */
function isDate(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`);
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

/** What restricts the field `name` in the schema of a whole form. */
export function propertyOf(schema: Json | undefined, name: string): JsonMap {
  const properties = isMap(schema) ? schema.properties : undefined;
  const property = isMap(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isMap(property) ? property : {};
}
