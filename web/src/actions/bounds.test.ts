//! What fields take beyond their type.

import { expect, test } from "vitest";
import type { Json, JsonMap } from "../api/types";
import { misfit, readBounds } from "./bounds";
import { answersOf, readDialog } from "./dialog";

const told = (fields: JsonMap, value: Json) => misfit(value, readBounds(fields));

// covers: J-23
test.each<[JsonMap, Json, string | null]>([
  [{ minimum: 1 }, 0, "must be at least 1"],
  [{ minimum: 1 }, 1, null],
  [{ maximum: 2 }, 2.5, "must be at most 2"],
  [{ minimum: 0, maximum: 2 }, -1, "must be between 0 and 2"],
  [{ minimum: 0, maximum: 2 }, 3, "must be between 0 and 2"],
  [{ exclusiveMinimum: 0 }, 0, "must be more than 0"],
  [{ exclusiveMaximum: 1 }, 1, "must be less than 1"],
  [{ exclusiveMaximum: 1 }, 0.99, null],
  [{ minimum: 0, exclusiveMinimum: true }, 0, "must be more than 0"],
  [{ maximum: 9, exclusiveMaximum: true }, 9, "must be less than 9"],
  [{ minimum: 5, exclusiveMinimum: 0 }, 1, "must be at least 5"],
  [{ multipleOf: 5 }, 12, "must be a multiple of 5"],
  [{ multipleOf: 1 }, 1.5, "must be a whole number"],
  [{ multipleOf: 0.1 }, 0.3, null],
  [{ multipleOf: 0.1 }, 0.35, "must be a multiple of 0.1"],
  [{ multipleOf: 1e-300 }, 1e300, null],
])("numbers within %j: %j", (fields, value, expected) => expect(told(fields, value)).toBe(expected));

// covers: J-23
test.each<[JsonMap, Json, string | null]>([
  [{ minLength: 3 }, "ab", "must have at least 3 characters"],
  [{ minLength: 1 }, "⚓", null],
  [{ maxLength: 1 }, "⚓️".slice(0, 1), null],
  [{ maxLength: 2 }, "🚢🚢", null],
  [{ maxLength: 2 }, "🚢🚢🚢", "must have at most 2 characters; there are 3"],
  [{ minLength: 4, maxLength: 4 }, "123", "must have 4 characters"],
  [{ pattern: "^[A-Z]{2}\\d+$" }, "AB12", null],
  [{ pattern: "^[A-Z]{2}\\d+$" }, "12", "does not have the form that is asked for"],
  [{ pattern: "^[A-Z]{2}\\d+$", examples: ["AB12"] }, "12", "does not have the form that is asked for, such as AB12"],
  [{ pattern: "^\\p{L}+$" }, "Štěpán", null],
  [{ pattern: "^\\-a$" }, "b", "does not have the form that is asked for"],
  [{ format: "email" }, "mate@harbour.test", null],
  [{ format: "email" }, "mate at harbour", "must be an e-mail address such as name@example.org"],
  [{ format: "uri" }, "https://harbour.test/a", null],
  [{ format: "uri" }, "harbour", "must be an address such as https://example.org"],
  [{ format: "date" }, "2024-02-29", null],
  [{ format: "date" }, "2023-02-29", "must be a date such as 2026-05-31"],
  [{ format: "date" }, "29.2.2024", "must be a date such as 2026-05-31"],
  [{ format: "constructor" }, "anything", null],
  [{ format: "nautical" }, "anything", null],
])("texts within %j: %j", (fields, value, expected) => expect(told(fields, value)).toBe(expected));

// covers: J-23
test.each<[JsonMap, Json, string | null]>([
  [{ minItems: 1 }, [], "must have at least 1 entry"],
  [{ maxItems: 2 }, [1, 2, 3], "must have at most 2 entries; there are 3"],
  [{ minItems: 2, maxItems: 2 }, [1], "must have 2 entries"],
  [{ minItems: 2 }, "one", null],
])("lists within %j: %j", (fields, value, expected) => expect(told(fields, value)).toBe(expected));

test("bounds that are none bind nothing, and patterns that are none throw nothing", () => {
  for (const pattern of ["(", "[", "*", "a{2,1}", "(?<", 5, null] as Json[]) expect(told({ pattern }, "x")).toBeNull();
  expect(told({ minimum: "1", multipleOf: 0, maxLength: null, examples: "x" }, 0.5)).toBeNull();
  expect(told({ minimum: 1, minLength: 9 }, true)).toBeNull();
});

test("patterns that could take for ever, and long texts, are left to whoever gets the answer", () => {
  const nearly = `${"a".repeat(60)}!`;
  for (const pattern of ["^(a+)+$", "^(a|aa)+$", "^((a+)a)*$", "^(a*)*$", "^(\\w+\\s?)*$", "^(a)\\1$"]) expect(told({ pattern }, nearly)).toBeNull();
  expect(told({ pattern: "^b*$" }, "a".repeat(2_000))).toBeNull();
});

// covers: J-23
test("a form says beside each field what it does not take, by the field or by the schema of the whole", () => {
  const dialog = readDialog({
    inputs: [
      { name: "port", type: "integer", label: "Port", default: 80 },
      { name: "tags", type: "array", label: "Tags", minItems: 2 },
      { name: "note", label: "Note", minLength: 5 },
    ],
    schema: { type: "object", properties: { port: { minimum: 1, maximum: 65535 } } },
  });
  expect(answersOf(dialog?.inputs ?? [], { port: "70000", tags: '["a"]' })).toEqual({
    values: {},
    errors: { port: "Port must be between 1 and 65535", tags: "Tags must have at least 2 entries" },
  });
  expect(answersOf(dialog?.inputs ?? [], { tags: ["a", "b"], note: "" })).toEqual({ values: { port: 80, tags: ["a", "b"] }, errors: {} });
});
