import { defineConfig } from "vitest/config";

export default defineConfig({
  root: import.meta.dirname,
  test: { include: ["**/*.figures.ts"], fileParallelism: false, globalSetup: "./deadline.ts", disableConsoleIntercept: true, testTimeout: 120_000, hookTimeout: 60_000 },
});
