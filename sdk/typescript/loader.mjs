// Hooks of Node's module loader: `orlop` is this SDK wherever the plugin lies, TypeScript is read on every Node, and a `.js`
// file with `export` in it is a module without a package.json.

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import * as module from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const OURS = {
  orlop: new URL("./index.mjs", import.meta.url).href,
  "orlop/testing": new URL("./testing.mjs", import.meta.url).href,
};

export async function resolve(specifier, context, next) {
  const ours = OURS[specifier.replace(/^orlop-sdk/, "orlop")];
  return ours ? { url: ours, format: "module", shortCircuit: true } : next(specifier, context);
}

export async function load(url, context, next) {
  const isPlugins = url.startsWith("file:") && !url.includes("/node_modules/");
  if (isPlugins && /\.m?ts$/.test(url) && !process.features.typescript) return typescript(url);
  if (isPlugins && url.endsWith(".js") && context.format !== "module") {
    const source = await readFile(fileURLToPath(url), "utf8");
    if (/^\s*(import\s*[\w*{"']|export\s)/m.test(source)) return { format: "module", source, shortCircuit: true };
  }
  return next(url, context);
}

async function typescript(url) {
  const source = await readFile(fileURLToPath(url), "utf8");
  return { format: "module", source: await withoutTypes(source, url), shortCircuit: true };
}

async function withoutTypes(source, url) {
  if (module.stripTypeScriptTypes) return module.stripTypeScriptTypes(source, { mode: "transform", sourceUrl: url });
  return remembered(source, url, () => {
    const ts = compilerFor(url);
    const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, inlineSourceMap: true, inlineSources: true };
    const { outputText, diagnostics } = ts.transpileModule(source, { fileName: fileURLToPath(url), compilerOptions: options, reportDiagnostics: true });
    const wrong = diagnostics.find(({ category }) => category === ts.DiagnosticCategory.Error);
    if (wrong) throw syntaxError(ts, wrong, url);
    return outputText;
  });
}

/** What the compiler does not understand, told as Node tells it: the place is the first line of the stack. */
function syntaxError(ts, { file, start, messageText }, url) {
  const error = new SyntaxError(ts.flattenDiagnosticMessageText(messageText, "\n"));
  const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 1;
  error.stack = `${fileURLToPath(url)}:${line}\n\n${error}`;
  return error;
}

/** What was made of a file before, in the data folder of the plugin: loading the compiler takes longer than everything else of a start. */
async function remembered(source, url, make) {
  const folder = process.env.PLUGIN_DATA && join(process.env.PLUGIN_DATA, "tmp", "typescript");
  if (!folder) return make();
  const name = `${digest(url)}-${digest(source)}.mjs`;
  try {
    return await readFile(join(folder, name), "utf8");
  } catch {
    const made = make();
    // Whoever cannot keep it makes it anew.
    await keep(folder, name, made).catch(() => {});
    return made;
  }
}

/** Keeps what was made of a file, in place of what was made of the file before it changed. */
async function keep(folder, name, made) {
  await mkdir(folder, { recursive: true });
  const beside = join(folder, `${name}.${process.pid}`);
  await writeFile(beside, made);
  await rename(beside, join(folder, name));
  const isOlder = (it) => it !== name && it.endsWith(".mjs") && it.startsWith(name.slice(0, name.indexOf("-") + 1));
  await Promise.all((await readdir(folder)).filter(isOlder).map((it) => rm(join(folder, it), { force: true })));
}

function digest(text) {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** The compiler that lies beside the plugin, or beside this SDK. */
function compilerFor(url) {
  for (const place of [url, import.meta.url]) {
    try {
      return module.createRequire(place)("typescript");
    } catch (error) {
      if (error.code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  const folder = fileURLToPath(new URL(".", url));
  throw new Error(`${fileURLToPath(url)} is TypeScript, which Node ${process.versions.node} does not read by itself; use Node 22.18 or newer, or run: npm install --prefix ${/[^\w/.-]/.test(folder) ? `'${folder}'` : folder} typescript`);
}
