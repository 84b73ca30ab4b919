// What all scripts here share: where the server is, and how a scenario is told of.
import { deepStrictEqual } from "node:assert/strict";

export const baseURL = process.env.ORLOP_BASE_URL;
if (!baseURL) throw new Error("ORLOP_BASE_URL says where the server is");
export const check = deepStrictEqual;
let [passed, failed] = [0, 0];

/** Runs a function and prints how it went. */
export async function scenario(name, run) {
  try {
    await run();
    console.log(`  ${name}: ok`);
    passed += 1;
  } catch (error) {
    console.error(error);
    console.log(`  ${name}: FAILED`);
    failed += 1;
  }
}

/** Ends a script, with a line that is counted. */
export function finish() {
  const verdict = failed ? "FAILED" : "ok";
  console.log(`test result: ${verdict}. ${passed} passed; ${failed} failed; 0 ignored`);
  process.exitCode = failed ? 1 : 0;
}
