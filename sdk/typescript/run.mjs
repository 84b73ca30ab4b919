#!/usr/bin/env node
// Runs the plugins of a file or folder: `node run.mjs PATH`. Speaks the protocol over standard input and output.

import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { PluginError } from "./lib/errors.mjs";
import { openPipes } from "./lib/pipes.mjs";
import { Server } from "./lib/server.mjs";
import "./register.mjs";

const HERE = new URL(".", import.meta.url).href;
const ENTRIES = ["plugin.js", "plugin.mjs", "plugin.cjs", "plugin.ts", "plugin.mts", "index.js", "index.mjs", "index.ts"];

// A function that ran often is compiled anew, on a thread of its own, and for milliseconds that takes the processor from the
// next call. Ten times the usual budget spares short hooks that; a loop has used it up as soon as it matters. The V8 of Node 20
// has that flag; newer ones do not, and would complain of it in the log of the plugin.
if (process.versions.v8.startsWith("11.3.")) setFlagsFromString("--interrupt-budget=675840");

// What the compiler makes of TypeScript has other lines than the file. Node 22 leaves all lines where they are.
if (!process.features.typescript) process.setSourceMapsEnabled(true);

const loaded = load();
loaded.catch(() => {}); // initialize tells of it
const server = new Server(() => loaded, openPipes((message) => server.take(message)));

async function load() {
  const file = entryOf(process.argv[2]);
  try {
    return await import(pathToFileURL(file).href);
  } catch (error) {
    throw new PluginError("bad_argument", `${file} could not be loaded: ${placeOf(error, file)}${error?.name ?? "Error"}: ${error?.message ?? error}`, { cause: error });
  }
}

/** Where an error comes from, in words. */
function placeOf(error, file) {
  const at = placeInStack(error?.stack) ?? (error instanceof SyntaxError ? placeInLog(file) : undefined);
  if (!at) return "";
  const place = at.place.startsWith("file:") ? fileURLToPath(at.place) : at.place;
  return place === file ? `line ${at.line}: ` : `${place}, line ${at.line}: `;
}

/** The place above an error, or the innermost line of the plugin that it went through. */
function placeInStack(stack) {
  const lines = String(stack ?? "").split("\n");
  const above = /^((?:file:\/\/)?\/.+):(\d+)$/.exec(lines[0]);
  const frames = lines.map((line) => /^ +at (?:.* \()?((?:file:\/\/)?\/.+?):(\d+):\d+\)?$/.exec(line));
  const found = above ?? frames.find((frame) => frame && !frame[1].startsWith(HERE));
  return found && { place: found[1], line: found[2] };
}

/** Where a syntax error of JavaScript is. Node tells nobody but the log, and runs nothing of a file that it cannot read. */
function placeInLog(file) {
  const { stderr } = spawnSync(process.execPath, ["--import", `${HERE}register.mjs`, file], { encoding: "utf8", stdio: ["ignore", "ignore", "pipe"], timeout: 5_000 });
  const found = /^(file:\/\/.+):(\d+)$/m.exec(stderr ?? "");
  return found && { place: found[1], line: found[2] };
}

function entryOf(path) {
  if (!path) throw new PluginError("bad_argument", "which plugin? call: node run.mjs PATH, with a file or a folder");
  const place = resolve(path);
  if (!existsSync(place)) throw new PluginError("not_found", `there is no ${place}`);
  if (!statSync(place).isDirectory()) return place;
  const entry = ENTRIES.map((name) => join(place, name)).find((it) => existsSync(it));
  if (!entry) throw new PluginError("not_found", `${place} has none of ${ENTRIES.join(", ")}; name the file instead`);
  return entry;
}
