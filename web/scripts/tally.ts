//! Says at the end how many tests passed, in the words of Rust's test programs, which `cargo xtask test` counts.

import type { Reporter, TestModule } from "vitest/node";

export class Tally implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const [passed, failed, skipped] = [count("passed"), count("failed"), count("skipped")];
    console.log(`test result: ${failed === 0 ? "ok" : "FAILED"}. ${passed} passed; ${failed} failed; ${skipped} ignored`);
  }
}
