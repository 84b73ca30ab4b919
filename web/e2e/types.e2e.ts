//! The types of the page are those of the server's own document.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { typesOf } from "../scripts/types.mjs";
import { Server } from "./server";

test("the types are made from the document that the server has; if not, npm run types makes them", async () => {
  const server = await Server.start();
  const kept = await readFile(resolve(import.meta.dirname, "../src/api/schema.ts"), "utf8");
  const made: string = await typesOf(server.url);
  await server.remove();
  expect(kept === made).toBe(true);
});
