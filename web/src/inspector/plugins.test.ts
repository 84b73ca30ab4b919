import { expect, test } from "vitest";
import type { Plugin } from "../api/types";
import { inOrder } from "./plugins";

const plugin = (name: string, state: string, seconds = 0, errors = 0): Plugin => ({
  name,
  state,
  kinds: [],
  source: "built_in",
  grants: [],
  details: { errors: [], hooks: [{ hook: "context_providers", calls: 1, errors, seconds }] },
});

test("what is broken stands first, then what fails, then what takes time, and what is off last", () => {
  const plugins = [plugin("off", "disabled"), plugin("quick", "running", 0.1), plugin("slow", "running", 2), plugin("shaky", "running", 0, 3), plugin("broken", "failed"), plugin("idle", "not_started")];
  expect(inOrder(plugins).map((held) => held.name)).toEqual(["broken", "shaky", "slow", "quick", "idle", "off"]);
});
