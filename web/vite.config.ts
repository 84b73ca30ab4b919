import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { Tally } from "./scripts/tally.ts";

const server = process.env.ORLOP_URL ?? "http://127.0.0.1:7420";

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    // Browsers that know both colours of a theme in one value.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // Everything is a file of its own: the page's policy allows no data addresses for scripts and styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
  },
  server: { proxy: { "/api": server, "/openapi.json": server } },
  test: { include: ["src/**/*.test.ts"], reporters: ["default", new Tally()] },
});
