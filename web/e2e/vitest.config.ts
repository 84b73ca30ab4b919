import { defineConfig } from "vitest/config";
import { Tally } from "../scripts/tally.ts";

export default defineConfig({
  root: import.meta.dirname,
  test: {
    include: ["**/*.e2e.ts"],
    // One server and one browser a file; two files at a time, for machines with few cores.
    maxWorkers: 2,
    globalSetup: "./deadline.ts",
    reporters: ["default", new Tally()],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
