// The shortest plugin: a function that the model can call.

import { isMapping, nameOf } from "./copy.mjs";
import { PluginError } from "./errors.mjs";

/**
 * A tool from a name, a description, its parameters and a function.
 * Parameters are a JSON Schema of an object, or in short `{ city: "string", "days?": { type: "integer", default: 1 } }`.
 */
export function tool(declaration) {
  return new DeclaredTool(declaration);
}

class DeclaredTool {
  kind = "tool";
  #schema;
  #run;

  constructor({ name, description = "", parameters = {}, annotations, run, preview, version, ...settings } = {}) {
    const own = run?.name === "run" ? undefined : run?.name;
    this.name = name ?? own;
    if (typeof this.name !== "string" || this.name === "") {
      throw new PluginError("bad_argument", `tool({ ... }) has no name${name === undefined ? "" : ` but ${nameOf(name)}`}; write tool({ name: "add", run(args) { ... } })`);
    }
    if (typeof run !== "function") {
      throw new PluginError("bad_argument", `the tool ${this.name} has ${nameOf(run)} as run; expected a function: run(args, call) { ... }`);
    }
    this.version = version;
    this.#run = run;
    this.#schema = { name: this.name, description, parameters: schemaOf(parameters, this.name), ...(annotations && { annotations }) };
    Object.assign(this, settings);
    if (preview) this.formatToolCallPreview = ({ payload }, call) => preview(payload, call);
    if (run.constructor.name.endsWith("GeneratorFunction")) this.streamTool = (input, call) => this.#streamed(input, call);
  }

  getToolSchemas() {
    return [this.#schema];
  }

  // An error of the function is for the model to read, for the model can try something else.
  async executeTool({ payload }, call) {
    try {
      const returned = await this.#run(payload, call);
      return typeof returned?.next === "function" ? await finish(returned) : returned;
    } catch (error) {
      return failed(error, call);
    }
  }

  async *#streamed({ payload }, call) {
    try {
      return yield* this.#run(payload, call);
    } catch (error) {
      return failed(error, call);
    }
  }
}

async function finish(parts) {
  for (;;) {
    const { done, value } = await parts.next();
    if (done) return value;
  }
}

function failed(error, call) {
  if (call?.isCancelled) throw error;
  console.error(error);
  return { success: false, error: error instanceof Error ? error.message : String(error) };
}

function schemaOf(parameters, name) {
  if (!isMapping(parameters)) throw new PluginError("bad_argument", `the parameters of the tool ${name} are ${nameOf(parameters)}; expected an object such as { city: "string" }`);
  if (parameters.type === "object" && isMapping(parameters.properties)) return parameters;
  const [properties, required] = [{}, []];
  for (const [key, type] of Object.entries(parameters)) {
    const isOptional = key.endsWith("?");
    const field = isOptional ? key.slice(0, -1) : key;
    properties[field] = typeof type === "string" ? { type } : type;
    if (!isOptional && properties[field]?.default === undefined) required.push(field);
  }
  return { type: "object", properties, required };
}
