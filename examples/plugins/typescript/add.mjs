// A tool in a few lines: the model can add two numbers.

import { tool } from "orlop";

export default tool({
  name: "add",
  description: "Adds two numbers.",
  parameters: { a: "number", b: "number" },
  annotations: { access: "none", idempotent: true, concurrent: true },
  run: ({ a, b }) => String(a + b),
});
