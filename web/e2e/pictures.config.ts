import { defineConfig } from "vitest/config";

export default defineConfig({
  root: import.meta.dirname,
  test: { include: ["**/*.pictures.ts"], globalSetup: "./deadline.ts", testTimeout: 180_000, hookTimeout: 60_000 },
});
