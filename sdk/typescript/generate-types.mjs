// Writes types.d.ts, the payloads of all hooks and the operations of the host, from docs/schema: `node generate-types.mjs`.

import { readFileSync, writeFileSync } from "node:fs";
import { HOOKS, STREAMS, camel } from "./lib/hooks.mjs";
import { APP, CORE } from "./lib/remote.mjs";

const SCHEMAS = new URL("../../docs/schema/", import.meta.url);
const HEADER = `// Generated from docs/schema by generate-types.mjs; do not edit.

import type { AnySession, Answered, Call, Change, List, Session, Streamed } from "./index.d.ts";
import type { ActionAnswer, ChunkAnswer, FinalizeAnswer, GateAnswer, InterceptAnswer, ModelCallAnswer, ReportAnswer, RequestAnswer, StateAnswer } from "./index.d.ts";

/** A JSON object. */
export type Json = { [key: string]: any };
`;

// What the SDK makes of them by itself, or takes more generously.
const GENERIC = {
  Change_of_NativeItem: "Change<NativeItem>", Change_of_Message: "Change<Message>", List_of_NativeItem: "List<NativeItem>", List_of_Message: "List<Message>", Session: "Session",
  LentSession: "Session", GivenSession: "AnySession", LentList_of_NativeItem: "List<NativeItem>", LentList_of_Message: "List<Message>",
  // What was removed is asked for by slicing again.
  Sliced: "Session",
};
// Of the messages of the protocol, those that plugins see; the others are the SDK's own business.
const SEEN = ["Folders", "HookContext", "LifecycleRun", "Loaded", "Sent", "SessionPage", "ToolDescriptor"];
// Operations that the SDK makes something else of, and arguments that it does not take.
const MADE = new Set(["read_asset", "put_asset", "acquire_session_lock"]);
const NOT_TAKEN = new Set(["return_removed"]);
// Answers `null` only where it streams, which is a method of its own.
const WHOLE = new Set(["send_request"]);
const ANSWERS = {
  StateChange: "StateAnswer", RequestChange: "RequestAnswer", FinalizeChange: "FinalizeAnswer", ModelAnswer: "ModelCallAnswer", Chunk: "ChunkAnswer",
  ActionResult: "ActionAnswer", ToolReport: "ReportAnswer", ToolPart: "ReportAnswer", ToolGate: "GateAnswer", Interception: "InterceptAnswer",
};
const LEFT_OUT = /^(Edit\d*|Session|(Change|List)_of_.*)$/;

/** The text of types.d.ts. */
export function generate() {
  const schemas = Object.fromEntries(["any", ...Object.keys(HOOKS)].map((kind) => [kind, JSON.parse(readFileSync(new URL(`${kind}.json`, SCHEMAS), "utf8"))]));
  const protocol = JSON.parse(readFileSync(new URL("protocol.json", SCHEMAS), "utf8"));
  const seen = Object.fromEntries(SEEN.map((name) => [name, protocol.$defs[name]]));
  const { types, owners } = definitions({ ...schemas, protocol: { $defs: seen } });
  const blocks = [HEADER, ...[...types].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text), PROCESS_CHUNK];
  for (const kind of Object.keys(HOOKS)) blocks.push(hooksOf(kind, schemas, owners));
  blocks.push(operationsOf("core", CORE, protocol), operationsOf("app", APP, protocol));
  return `${blocks.join("\n")}`;
}

const PROCESS_CHUNK = `/** For \`process_chunk\`. */
export interface ProcessChunkInput {
  /** The chunk. */
  chunk: Chunk;
  /** The state of the request. */
  state: State;
}
`;

/** Every type once. Host plugins read camelCase; a type that others have too gets a name of its own there. */
function definitions(schemas) {
  const types = new Map();
  const owners = (name, kind) => (kind === "host" && name === "FileInfo" ? "HostFileInfo" : name);
  for (const [kind, schema] of Object.entries(schemas)) {
    for (const [name, definition] of Object.entries(schema.$defs)) {
      if (LEFT_OUT.test(name)) continue;
      const own = owners(name, kind);
      const rename = kind === "host" ? camel : (key) => key;
      const text = declaration(own, definition, { rename, ref: (it) => owners(it, kind) });
      if (types.has(own) && types.get(own) !== text) throw new Error(`${own} is not the same type in ${kind}.json as in another schema`);
      types.set(own, text);
    }
  }
  return { types, owners };
}

function declaration(name, schema, names) {
  const head = comment(schema.description, "");
  const body = typeOf(schema, names, "");
  return schema.type === "object" && schema.properties ? `${head}export interface ${name} ${body}\n` : `${head}export type ${name} = ${body};\n`;
}

function comment(text, indent) {
  if (!text) return "";
  const lines = text.replaceAll("*/", "* /").split("\n");
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
}

function typeOf(schema, names, indent) {
  if (schema === true || Object.keys(schema).every((key) => key === "description" || key === "default")) return "any";
  if (schema.$ref) {
    const name = schema.$ref.replace("#/$defs/", "");
    return GENERIC[name] ?? names.ref(name);
  }
  const union = schema.oneOf ?? schema.anyOf;
  if (union) return union.map((it) => typeOf(it, names, indent)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type }, names, indent)).join(" | ");
  switch (schema.type) {
    case "array": {
      if (schema.prefixItems) return `[${schema.prefixItems.map((it) => typeOf(it, names, indent)).join(", ")}]`;
      const item = typeOf(schema.items ?? true, names, indent);
      return item.includes("|") ? `(${item})[]` : `${item}[]`;
    }
    case "object": return objectOf(schema, names, indent);
    case "integer": return "number";
    default: return schema.type;
  }
}

const OPEN = new Set(["State", "NativeItem"]);

function objectOf(schema, names, indent) {
  if (!schema.properties) return "Json";
  const inner = `${indent}  `;
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties).map(([key, value]) =>
    `${comment(value.description, inner)}${inner}${names.rename(key)}${required.has(key) ? "" : "?"}: ${typeOf(value, names, inner)};\n`);
  // State, native items and metadata belong to others as well.
  const isOpen = schema.additionalProperties === true || (schema.additionalProperties === undefined && required.size === 0);
  if (isOpen) fields.push(`${inner}[key: string]: any;\n`);
  return `{\n${fields.join("")}${indent}}`;
}

function hooksOf(kind, schemas, owners) {
  const names = { rename: (key) => key, ref: (it) => owners(it, kind) };
  const methods = HOOKS[kind].map((hook) => {
    const schema = schemas[kind].hooks[hook] ?? schemas.any.hooks[hook];
    const input = hook === "process_chunk" ? "ProcessChunkInput" : typeOf(schema.input, names, "  ");
    const answer = hook === "prepare_tools" || schema.outcome === true ? "any" : answerOf(schema.outcome, names);
    const returned = STREAMS.has(hook) ? `Streamed<${answer}>` : hook === "execute_tool" ? "unknown" : `Answered<${answer}>`;
    return `${comment(schema.description, "  ")}  ${camel(hook)}?(input: ${input}, call: Call): ${returned};\n`;
  });
  const title = kind[0].toUpperCase() + kind.slice(1);
  return `/** The hooks of ${kind} plugins. Each may be left out. */\nexport interface ${title}Hooks {\n${methods.join("")}}\n`;
}

/** The operations of the host: what they need in order, what they may have as an object at the end. */
function operationsOf(scope, table, protocol) {
  const names = { rename: (key) => key, ref: (it) => it };
  const methods = Object.entries(table).filter(([name]) => !MADE.has(name)).map(([name, needed]) => {
    const { message, result } = protocol.to_host[`${scope}.${name}`];
    const { properties: { args } } = message.properties.params;
    const known = args.properties ?? {};
    const given = needed.map((argument) => `${argument}: ${typeOf(withoutNull(known[argument]), names, "  ")}, `).join("");
    const left = Object.entries(known).filter(([argument]) => !needed.includes(argument) && !NOT_TAKEN.has(argument));
    const required = (args.required ?? []).filter((argument) => !needed.includes(argument));
    const options = objectOf({ properties: Object.fromEntries(left), required, additionalProperties: false }, names, "  ");
    const last = left.length === 0 ? "" : `options${required.length > 0 ? "" : "?"}: ${options}`;
    const answer = result.type === "null" ? "void" : typeOf(WHOLE.has(name) ? withoutNull(result) : result, names, "  ");
    return `${comment(args.description, "  ")}  ${camel(name)}(${`${given}${last}`.replace(/, $/, "")}): Promise<${answer}>;\n`;
  });
  const title = scope[0].toUpperCase() + scope.slice(1);
  return `/** The operations \`${scope}.*\` of the host. */\nexport interface ${title}Operations {\n${methods.join("")}}\n`;
}

/** An argument that stands in order is there. */
function withoutNull(schema) {
  return Array.isArray(schema.type) ? { ...schema, type: schema.type.filter((type) => type !== "null") } : schema;
}

function answerOf(outcome, names) {
  const type = typeOf(outcome, names, "  ");
  return type.split(" | ").filter((it) => it !== "null").map((it) => ANSWERS[it] ?? it).join(" | ") || "void";
}

if (import.meta.url === `file://${process.argv[1]}`) {
  writeFileSync(new URL("types.d.ts", import.meta.url), generate());
}
