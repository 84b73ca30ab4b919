// Finds the plugins of a module and says what they are.

import { copy, isMapping, nameOf } from "./copy.mjs";
import { PluginError } from "./errors.mjs";
import { EVERY_HOOK, HOOKS, KINDS, camel, snake } from "./hooks.mjs";

const BASES = new WeakSet();
const SETTINGS = [
  "version", "priority", "critical", "config_schema", "required_tags", "forbidden_tags", "uses_models", "discovery_keys",
  "provider", "native_format", "schema_format", "call_format", "before", "after",
];
const LISTS = ["required_tags", "forbidden_tags", "discovery_keys", "before", "after"];

/** Names that nobody gives to something else by chance. */
const LONG_HOOKS = [...EVERY_HOOK].filter((hook) => hook.length >= 8);

/** Marks a class that plugins are derived from. */
export function base(Class) {
  BASES.add(Class);
  return Class;
}

/** One plugin that is ready to be called. */
export class Plugin {
  constructor(value, label) {
    this.value = value;
    this.label = label;
    this.methods = methodsOf(value);
    this.kind = kindOf(value, this.methods, label);
    this.name = this.#text("name") ?? value.constructor?.name;
    if (!this.name || this.name === "Object" || this.name === "default") {
      throw new PluginError("bad_argument", `${label} has no name; give it one: name = "my_plugin"`);
    }
    this.hooks = HOOKS[this.kind].filter((hook) => this.methods.has(hook));
    if (this.kind === "tool") addToolTwin(this);
  }

  /** Class and method, for messages. */
  where(hook) {
    return `${this.label}.${this.methods.get(hook)?.written ?? camel(hook)}`;
  }

  /** As the host is told of it. */
  description() {
    const told = { name: this.name, version: "0.0.0", kind: this.kind, hooks: this.hooks };
    for (const setting of SETTINGS) {
      const given = this.#setting(setting);
      if (given !== undefined && given !== null) told[setting] = LISTS.includes(setting) && typeof given === "string" ? [given] : given;
    }
    const history = this.#setting("history");
    if (history) told.history = historyOf(history, this.label);
    return told;
  }

  /** What looks like a hook and never will be called. */
  *doubts() {
    for (const [hook, { written }] of this.methods) {
      if (!EVERY_HOOK.has(hook) || HOOKS[this.kind].includes(hook)) continue;
      const kinds = KINDS.filter((kind) => HOOKS[kind].includes(hook));
      yield `${this.label}.${written} is a hook of ${kinds.join(" and ")} plugins, but this is a ${this.kind} plugin, so it is never called; set kind = "${kinds[0]}" if that is what it should be`;
    }
    // Where methods tell the kind, the one that would have told another may be the one that is misspelt.
    const isSaid = (this.value.kind ?? this.value.constructor?.kind) !== undefined;
    yield* typos(this.value, this.label, isSaid ? HOOKS[this.kind] : [...HOOKS[this.kind], ...LONG_HOOKS]);
  }

  #text(name) {
    const given = this.value[name];
    if (given === undefined) return undefined;
    if (typeof given === "string" && given !== "") return given;
    throw new PluginError("bad_argument", `${this.label}.${name} is ${nameOf(given)}; expected a string`);
  }

  #setting(name) {
    const own = this.value;
    const Class = own.constructor === Object ? undefined : own.constructor;
    const names = [name, camel(name), `get_${name}`, camel(`get_${name}`)];
    const given = names.map((it) => own[it] ?? Class?.[it]).find((it) => it !== undefined);
    return typeof given === "function" ? given.call(own) : given;
  }
}

/** The section of a package with the defaults of settings that it does not have. */
export function withDefaults(config, described) {
  const filled = copy(config);
  for (const { name, config_schema } of described) {
    for (const [key, descriptor] of Object.entries(config_schema ?? {})) {
      if (descriptor?.default === undefined || descriptor.default === null) continue;
      const steps = (key.startsWith(`${name}.`) ? key.slice(name.length + 1) : key).split(".");
      const last = steps.pop();
      let place = filled;
      for (const step of steps) place = isMapping(place) ? (place[step] ??= {}) : undefined;
      if (isMapping(place) && !Object.hasOwn(place, last)) place[last] = copy(descriptor.default);
    }
  }
  return filled;
}

/** The plugins among the exports of a module, and what may be a mistake in it. */
export function pluginsOf(exports, setup) {
  const found = new Map();
  const strays = [];
  for (const [name, value] of candidates(exports)) {
    if (found.has(value)) continue;
    const plugin = pluginOf(value, name, setup);
    if (plugin) found.set(value, plugin);
    else if (isClass(value)) strays.push(...typos(value.prototype, value.name || name, LONG_HOOKS));
  }
  const plugins = [...found.values()];
  if (plugins.length === 0) {
    const hint = strays[0] ?? 'export a class with hooks (export class Greeter { initializeRequest(input, call) {} }), or a tool: export default tool({ name: "add", ... })';
    throw new PluginError("not_found", `the file exports no plugin; ${hint}`);
  }
  refuseTwins(plugins);
  return { plugins, warnings: [...strays, ...plugins.flatMap((plugin) => [...plugin.doubts()])] };
}

/** Methods that are nearly one of these hooks. */
function* typos(value, label, hooks) {
  for (const [, written] of everyMethod(value)) {
    const meant = EVERY_HOOK.has(snake(written)) ? undefined : hooks.find((hook) => distance(camel(hook), camel(written)) <= 2);
    if (meant) yield `${label}.${written} is no hook, so it is never called; did you mean ${camel(meant)}?`;
  }
}

/** The plugin that a class, an object or a declared tool is; nothing if it is none. */
export function pluginOf(value, name, setup) {
  if (!isClass(value)) return isMapping(value) && methodsOf(value).size > 0 ? new Plugin(value, labelOf(value, name)) : undefined;
  if (BASES.has(value)) return undefined;
  const isDerived = typeof value.kind === "string";
  if (!isDerived && methodsOf(value.prototype).size === 0 && !mayHaveOwnMethods(value)) return undefined;
  try {
    const plugin = new Plugin(new value(setup), value.name || name);
    return plugin.methods.size > 0 || isDerived || plugin.value.kind ? plugin : undefined;
  } catch (error) {
    if (error instanceof PluginError) throw error;
    throw new PluginError("bad_argument", `new ${value.name || name}() failed: ${error?.message ?? error}`, { cause: error });
  }
}

function* candidates(exports) {
  for (const [name, value] of Object.entries(exports)) {
    const isGroup = name === "default" && (Array.isArray(value) || (isMapping(value) && methodsOf(value).size === 0));
    if (isGroup) yield* Object.entries(value);
    else yield [name, value];
  }
}

function isClass(value) {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}

/** A class with hooks as fields (`initializeRequest = async () => {}`) has to be made before they show. */
function mayHaveOwnMethods(Class) {
  const source = Function.prototype.toString.call(Class);
  return [...EVERY_HOOK].some((hook) => source.includes(camel(hook)) || source.includes(hook)) || /\bkind\s*=/.test(source);
}

function labelOf(value, name) {
  if (value.constructor && value.constructor !== Object && value.constructor.name !== "DeclaredTool") return value.constructor.name;
  return typeof value.name === "string" ? value.name : name;
}

function* everyMethod(value) {
  for (let at = value; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value: method }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof method === "function" && name !== "constructor") yield [method, name];
    }
  }
}

/** The hooks a value has, by their names in the protocol; camelCase and snake_case both count. */
function methodsOf(value) {
  const methods = new Map();
  for (const [method, written] of everyMethod(value)) {
    const hook = snake(written);
    if (EVERY_HOOK.has(hook) && !methods.has(hook)) methods.set(hook, { method, written });
  }
  const action = methods.get("execute_action");
  if (action) action.takesApp = takesApp(action.method);
  const providers = value.contextProviders ?? value.context_providers;
  if (Array.isArray(providers)) methods.set("context_providers", { written: "contextProviders", method: joined(providers) });
  return methods;
}

/** A list of context providers as one. */
function joined(providers) {
  return async function (input, call) {
    const texts = await Promise.all(providers.map((it) => (typeof it === "function" ? it.call(this, input, call) : it)));
    return texts.flat().filter((it) => it !== undefined && it !== null);
  };
}

/** Whether the method wants the application as its first argument. */
function takesApp(method) {
  return /^[^(]*\(\s*app\s*[,)]/.test(Function.prototype.toString.call(method));
}

function kindOf(value, methods, label) {
  const said = value.kind ?? value.constructor?.kind;
  if (said !== undefined) {
    if (KINDS.includes(said)) return said;
    throw new PluginError("bad_argument", `${label}.kind is ${nameOf(said)}; expected one of ${KINDS.join(", ")}`);
  }
  const has = (...hooks) => hooks.some((hook) => methods.has(hook));
  if (has("call_api", "stream_api")) return "provider";
  if (has("get_tool_schemas") && has("execute_tool", "stream_tool")) return "tool";
  if (has("process_chunk")) return "extension";
  if (methods.get("execute_action")?.takesApp) return "application";
  return has(...HOOKS.host) ? "host" : "feature";
}

/** A tool that gives parts also runs in one piece; the host may ask for either. */
function addToolTwin(plugin) {
  const { methods, hooks } = plugin;
  const execute = methods.get("execute_tool");
  if (execute && isGenerator(execute.method) && !methods.has("stream_tool")) methods.set("stream_tool", execute);
  if (methods.has("stream_tool") && (!execute || isGenerator(execute.method))) {
    methods.set("execute_tool", { ...methods.get("stream_tool"), drained: true });
  }
  plugin.hooks = HOOKS.tool.filter((hook) => hooks.includes(hook) || methods.has(hook));
}

function isGenerator(method) {
  return method.constructor.name.endsWith("GeneratorFunction");
}

function historyOf(history, label) {
  const told = {};
  for (const [written, amount] of Object.entries(history)) {
    const isTail = Number.isInteger(amount) && amount >= 0;
    if (!isTail && amount !== "full" && amount !== "none" && !Number.isInteger(amount?.tail)) {
      throw new PluginError("bad_argument", `${label}.history.${written} is ${nameOf(amount)}; expected "none", "full", or how many of the last items`);
    }
    told[snake(written)] = isTail ? { tail: amount } : amount;
  }
  return told;
}

function refuseTwins(plugins) {
  const taken = new Map();
  for (const plugin of plugins) {
    const key = `${plugin.kind} ${plugin.name}`;
    if (taken.has(key)) throw new PluginError("bad_argument", `${taken.get(key).label} and ${plugin.label} are both ${plugin.kind} plugins with the name "${plugin.name}"; give one of them another name`);
    taken.set(key, plugin);
  }
}

/** How many letters one has to change to come from one name to the other; 3 if more than two. */
function distance(one, other) {
  if (Math.abs(one.length - other.length) > 2) return 3;
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return Math.min(row[other.length], 3);
}
