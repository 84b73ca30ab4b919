// Hooks of Node's module loader: `orlop` is this SDK wherever the plugin lies, TypeScript is read on every Node, and a `.js`
// file with `export` in it is a module without a package.json.

import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
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
    return ts.transpileModule(source, { fileName: fileURLToPath(url), compilerOptions: options }).outputText;
  });
}

/** What was made of a file before, in the data folder of the plugin: loading the compiler takes longer than everything else of a start. */
async function remembered(source, url, make) {
  const folder = process.env.PLUGIN_DATA && join(process.env.PLUGIN_DATA, "tmp", "typescript");
  if (!folder) return make();
  const file = join(folder, `${createHash("sha256").update(`${url}\n${source}`).digest("hex")}.mjs`);
  try {
    return await readFile(file, "utf8");
  } catch {
    const made = make();
    const beside = `${file}.${process.pid}`;
    // Whoever cannot keep it makes it anew.
    await mkdir(folder, { recursive: true }).then(() => writeFile(beside, made)).then(() => rename(beside, file)).catch(() => {});
    return made;
  }
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
  throw new Error(`${fileURLToPath(url)} is TypeScript, which Node ${process.versions.node} does not read by itself; use Node 22.18 or newer, or run: npm install --prefix ${folder} typescript`);
}
