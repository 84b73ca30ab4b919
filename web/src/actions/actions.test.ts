//! The rules of displays, dialogs and elements are those of the terminal.

import { expect, test } from "vitest";
import type { Json, JsonMap } from "../api/types";
import { answersOf, convert, readDialog } from "./dialog";
import { readDisplay } from "./display";
import { elementsOf, paramsOf, readElement, settingsOf, unknownElements } from "./elements";
import { notice, outcomeOf } from "./outcome";
import { plainText, webUrl } from "./safe";
import { type Displays, NO_DISPLAYS, dismiss, followUp, isSaid, place, show } from "./surface";

const display = (body: string, display_id: string | null = null, presentation = "inline") => {
  const read = readDisplay({ body, display_id, presentation });
  if (!read) throw new Error("no display");
  return read;
};

const shown = (displays: Displays) => displays.shown.map((held) => `${held.number} ${held.placement} ${held.display.body}`);

// covers: G-26, G-29
test("what is absent or unknown becomes the default", () => {
  const plain = readDisplay({ body: "Done." });
  const odd = { body: "Done.", format: "rtf", title: 3, variant: "purple", presentation: ["modal"], dismissible: "no", display_id: "", actions: "none" };
  expect(readDisplay(odd)).toEqual(plain);
  expect(plain).toMatchObject({ format: "text", variant: "info", presentation: "inline", dismissible: true, displayId: null });
  for (const none of [{}, { title: "x" }, { body: 5 }, { body: " " }, "text", null] as Json[]) expect(readDisplay(none)).toBeNull();
});

// covers: G-28, G-30
test("buttons that cannot be offered are left out", () => {
  const actions: Json[] = [
    { kind: "open_url", id: "script", label: "x", url: "javascript:alert(1)" },
    { kind: "open_url", id: "none", label: "x" },
    { kind: "copy_text", id: "no-text", label: "x" },
    { kind: "run_action", id: "no-action", plugin: "p" },
    { kind: "run_action", id: "odd", plugin: "p", action_id: "a", params: [] },
    { kind: "explode", id: "unknown" },
    { kind: "copy_text", label: "no id", text: "x" },
    { kind: "open_url", id: "docs", label: "Docs", url: "https://example.test" },
    { kind: "copy_text", id: "unlabelled", text: "x" },
    { kind: "run_action", id: "run", label: "Run", plugin: "p", action_id: "a", preserve_display: true },
  ];
  expect(readDisplay({ body: "b", actions })?.actions).toEqual([
    { id: "docs", label: "Docs", kind: "open_url", url: "https://example.test" },
    { id: "unlabelled", label: "unlabelled", kind: "copy_text", text: "x" },
    { id: "run", label: "Run", kind: "run_action", plugin: "p", actionId: "a", params: {}, preserveDisplay: true },
  ]);
});

// covers: G-30
test("texts lose control sequences, addresses lead to the web", () => {
  expect(plainText("\u001b[31mred\u001b[0m\u0007\u202e a\r\nb\rc\td")).toBe("red a\nb\nc\td");
  expect(plainText("\u001b]0;owned\u0007Title")).toBe("Title");
  expect(webUrl(" HTTPS://Example.test/a b ")).toBe("https://example.test/a%20b");
  for (const bad of ["javascript:alert(1)", "data:text/html,x", "//x", "ftp://x", "http://a\u0000b", ""]) expect(webUrl(bad)).toBeNull();
});

// covers: K-13, K-14, K-15, J-18
test("one table says where displays go", () => {
  const row = (surface: Parameters<typeof place>[0]) => (["inline", "banner", "modal"] as const).map((hint) => place(surface, hint));
  expect(row("session_list_action")).toEqual([null, null, null]);
  expect(row("session_action")).toEqual(["inline", "inline", "inline"]);
  expect(row("message_action")).toEqual(["inline", "banner", "modal"]);
});

// covers: G-27
test("a display with the same id is replaced where it stands", () => {
  let displays = show(NO_DISPLAYS, "message_action", display("code A", "login"));
  displays = show(displays, "message_action", display("other"));
  displays = show(displays, "message_action", display("code B", "login", "banner"));
  expect(shown(displays)).toEqual(["1 banner code B", "2 inline other"]);
  displays = show(NO_DISPLAYS, "message_action", display("popup", "a", "modal"));
  displays = show(displays, "message_action", display("again", "a", "modal"));
  expect(shown(displays)).toEqual(["1 modal popup", "2 modal again"]);
  expect(show(displays, "session_list_action", display("no"))).toBe(displays);
});

test("what a typed command said is not shown again beside it, unless it has buttons or was clicked for", () => {
  const held = (parts: JsonMap, asked: boolean) => {
    const read = readDisplay({ body: "1,280 tokens", ...parts });
    return show(NO_DISPLAYS, "session_action", read as NonNullable<typeof read>, asked).shown[0] as Displays["shown"][number];
  };
  const said = ["Context\n\n1,280 tokens"];
  expect(isSaid(held({}, false), said)).toBe(true);
  expect(isSaid(held({}, true), said)).toBe(false);
  expect(isSaid(held({ actions: [{ kind: "copy_text", id: "c", label: "Copy", text: "x" }] }, false), said)).toBe(false);
  expect(isSaid(held({}, false), ["Something else"])).toBe(false);
});

// covers: K-16
test("a display that must stay is not dismissed", () => {
  let displays = show(NO_DISPLAYS, "session_action", { ...display("fixed"), dismissible: false });
  displays = show(displays, "session_action", display("usual"));
  expect(shown(dismiss(dismiss(displays, 1), 2))).toEqual(["1 inline fixed"]);
});

// covers: K-17
test("a follow-up replaces or closes its display unless it preserves it", () => {
  const start = show(show(NO_DISPLAYS, "session_action", display("login", "login")), "session_action", display("other", "other"));
  const after = (preserve: boolean, answer: ReturnType<typeof display> | null) => shown(followUp(start, 1, preserve, "session_action", answer));
  expect(after(true, null)).toEqual(["1 inline login", "2 inline other"]);
  expect(after(true, display("waiting"))).toEqual(["1 inline login", "2 inline other", "3 inline waiting"]);
  expect(after(true, display("waiting", "login"))).toEqual(["1 inline waiting", "2 inline other"]);
  expect(after(false, null)).toEqual(["2 inline other"]);
  expect(after(false, display("done"))).toEqual(["1 inline done", "2 inline other"]);
  expect(after(false, display("more", "other"))).toEqual(["2 inline more"]);
});

// covers: J-23
test("answers become what their field declares", () => {
  const value = (type: string, answer: Json) => {
    const converted = convert(type, answer);
    return "error" in converted ? converted.error : converted.value;
  };
  expect(value("integer", " -3 ")).toBe(-3);
  expect(value("integer", 7.0)).toBe(7);
  expect(value("integer", "5.5")).toBe("must be a whole number such as 5");
  expect(value("integer", true)).toBe("must be a whole number such as 5");
  expect(value("number", "0.5")).toBe(0.5);
  expect(value("number", "NaN")).toBe("must be a number such as 0.5");
  expect(value("boolean", "Yes")).toBe(true);
  expect(value("boolean", "perhaps")).toBe("must be true or false");
  expect(value("string", 5)).toBe("5");
  expect(value("string", [1])).toBe("must be a text");
  expect(value("array", "[1, 2]")).toEqual([1, 2]);
  expect(value("array", "{}")).toBe("must be a JSON list such as [1, 2]");
  expect(value("object", { a: 1 })).toEqual({ a: 1 });
  expect(value("colour", ["as", "it", "is"])).toEqual(["as", "it", "is"]);
  for (const type of ["string", "integer", "number", "boolean", "array", "object", "colour"]) expect(value(type, "")).toBeUndefined();
  expect(value("string", "  ")).toBe("  ");
});

// covers: J-21, J-23
test("an empty field has no answer, a required one says so, a missing one its default", () => {
  const dialog = readDialog({
    title: "Compact\u001b[1m range",
    inputs: [{ name: "start", type: "integer", label: "Start", required: true, default: 0 }, { name: "note" }, { type: "integer" }, "field"],
  });
  expect(dialog?.title).toBe("Compact range");
  expect(dialog?.inputs.map((input) => [input.name, input.type, input.label])).toEqual([
    ["start", "integer", "Start"],
    ["note", "string", "note"],
  ]);
  expect(answersOf(dialog?.inputs ?? [], { note: "x", more: 1 })).toEqual({ values: { start: 0, note: "x" }, errors: {} });
  expect(answersOf(dialog?.inputs ?? [], { start: "", note: "" })).toEqual({ values: {}, errors: { start: "Start is needed" } });
  expect(readDialog({ inputs: [] })).toEqual({ kind: "form", title: "", inputs: [] });
  expect(readDialog("form")).toBeNull();
});

const element = (parts: JsonMap): JsonMap => ({ ui_type: "message_action", plugin: "compaction", action_id: "compact_range", ...parts });

// covers: J-16, J-17
test("parts of the wrong form count as absent, missing ones make it no button", () => {
  const read = readElement(element({ id: 5, label: "\u001b[1m\n", icon: [], order: "first", fixed_params: [], param_map: "all", dialog: true, action_owner: "nobody" }));
  expect(read).toMatchObject({ id: "compact_range", label: "compact_range", icon: null, order: null, fixedParams: {}, paramMap: null, dialog: null, owner: null });
  for (const missing of ["ui_type", "plugin", "action_id"]) expect(readElement(element({ [missing]: undefined }))).toBeNull();
});

// covers: J-14, J-18
test("each surface has its elements, and what is unknown is not lost", () => {
  const elements = ["session_list_action", "session_action", "message_action", "config", "mine"].map((ui_type) => element({ ui_type, key: ui_type, action_id: ui_type }));
  for (const surface of ["session_list_action", "session_action", "message_action"] as const) {
    expect(elementsOf(elements, surface).map((found) => found.id)).toEqual([surface]);
  }
  expect(settingsOf(elements)).toHaveLength(1);
  expect(unknownElements(elements).map((found) => found.ui_type)).toEqual(["mine"]);
  // A setting without a name cannot be set; that is told as well.
  expect(unknownElements([{ ui_type: "config", plugin: "p", label: "Level" }])).toHaveLength(1);
});

// covers: J-19
test("elements are ordered by rank and then as they came", () => {
  const ranks: [string, Json][] = [["none 1", null], ["45", 45], ["25 first", 25], ["text", "1"], ["25 second", 25], ["-1", -1]];
  const elements = ranks.map(([id, order]) => element({ id, order }));
  expect(elementsOf(elements, "message_action").map((found) => found.id)).toEqual(["-1", "25 first", "25 second", "45", "none 1", "text"]);
});

// covers: J-20, J-21, J-22, J-24
test("parameters are fixed, mapped or answered", () => {
  const sources = {
    session: { session_id: "s1", metadata: { title: "Notes", empty: null } },
    message: { index: 7, role: "assistant" },
    answers: { start: 3 },
  };
  const params = (parts: JsonMap) => {
    const read = readElement(element(parts));
    if (!read) throw new Error("no element");
    return paramsOf(read, sources);
  };
  expect(
    params({
      fixed_params: { start: 0, end_inclusive: true },
      param_map: { session_id: "$session.session_id", end: "$message.index", title: "$session.metadata.title", literal: "$5", none: "$session.metadata.empty", gone: "$dialog.end", nothing: null },
    }),
  ).toEqual({ start: 0, end_inclusive: true, session_id: "s1", end: 7, title: "Notes", literal: "$5", nothing: null });
  expect(params({ fixed_params: { start: 0 }, param_map: { start: "$dialog.start" } })).toEqual({ start: 3 });
  expect(params({ fixed_params: { deep: true } })).toEqual({ deep: true, start: 3 });
});

// covers: G-21, G-22, G-23, G-24
test("an outcome says how it ended and what to do", () => {
  const outcome = outcomeOf({
    message: "short",
    display: { body: "long" },
    mutations: { created_session_ids: ["a", 5, "a", ""], updated_session_ids: "c", deleted_session_ids: { d: 1 } },
    ui_effects: { reload_session_ids: ["s", 1], navigate: { screen: "sessions" }, confetti: 1 },
  });
  expect(outcome).toMatchObject({ status: "ok", created: ["a"], updated: ["c"], deleted: [], reload: ["s"], navigate: { screen: "sessions" } });
  expect(notice(outcome)).toBeNull();
  expect(notice(outcomeOf({ message: "short" }))).toBe("short");
  expect(notice(outcomeOf({ status: "error", message: "short", display: { body: "long" } }))).toBe("short");
  expect(outcomeOf({ status: "error" })).toMatchObject({ errorType: "plugin", message: "the action failed and did not say why" });
  expect(outcomeOf({ error: { type: "not_found", message: "gone" } })).toMatchObject({ status: "error", errorType: "not_found", message: "gone" });
  expect(outcomeOf({ status: "noop", error: null }).status).toBe("noop");
});
