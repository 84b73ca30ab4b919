// Writes the types of the API, made from the OpenAPI document of a server that runs: npm run types [URL]

import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const HEAD = "//! Made from the OpenAPI document of the server by `npm run types`. Not to be edited.\n\n";

export async function typesOf(url) {
  return HEAD + astToString(await openapiTS(new URL("/openapi.json", url)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const url = process.argv[2] ?? process.env.ORLOP_URL ?? "http://127.0.0.1:7420";
  const file = join(dirname(fileURLToPath(import.meta.url)), "../src/api/schema.ts");
  writeFileSync(file, await typesOf(url));
  console.log(`wrote ${file}`);
}
