// A tool: the model calls it, and reads what it returns.
import { tool } from "orlop";

export default tool({
  name: "my_plugin",
  description: "Greets somebody.",
  parameters: { name: { type: "string", description: "whom to greet" } },
  annotations: { access: "none", idempotent: true },
  run: ({ name }) => `Hello, ${name}!`,
});
