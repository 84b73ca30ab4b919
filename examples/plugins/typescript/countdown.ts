// A tool that shows how far it is while it runs, and stops when nobody waits for it any more.

import { tool } from "orlop";

export const countdown = tool({
  name: "countdown",
  description: "Counts down to zero.",
  parameters: { from: "integer", "pause_ms?": { type: "integer", description: "Between two numbers; 0 by default." } },
  preview: ({ from }) => `count down from ${from}`,
  async *run({ from, pause_ms = 0 }, call) {
    for (let left = from; left > 0; left -= 1) {
      call.signal.throwIfAborted();
      call.progress("counting", { done: from - left, total: from });
      yield `${left} ...`;
      await new Promise((resolve) => setTimeout(resolve, pause_ms));
    }
    return "lift-off";
  },
});
