import { defineConfig } from "vitest/config";
import { Tally } from "../scripts/tally.ts";

/** What people do on a phone, too, is tested there with the same words. */
const ON_PHONES = ["branches", "chat", "connection", "inspector", "plugins", "reading", "sessions", "tools", "writing"];

// What is waited for comes when it comes; a busy machine takes longer than the second that polls have by themselves.
const shared = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 15_000 } } };

export default defineConfig({
  root: import.meta.dirname,
  test: {
    // One server and one browser a file; two files at a time, for machines with few cores.
    maxWorkers: 2,
    globalSetup: "./deadline.ts",
    reporters: ["default", new Tally()],
    projects: [
      { extends: true, test: { name: "desk", include: ["**/*.e2e.ts"], ...shared } },
      { extends: true, test: { name: "phone", include: ON_PHONES.map((name) => `${name}.e2e.ts`), env: { ORLOP_SIZE: "phone" }, ...shared } },
    ],
  },
});
