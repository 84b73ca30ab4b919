// A host plugin as a plain object: answers /ping itself, counts requests, tells the model of files and of the user.

import type { HostHooks } from "orlop";

const running = new Set<string>();

export const myCommands: HostHooks & { name: string; kind: "host"; priority: number } = {
  name: "my_commands",
  kind: "host",
  // Before the commands that ship, which answer to every other word with a slash.
  priority: 200,

  interceptChatRequest({ text }) {
    if (text.trim() === "/ping") return { text: "pong" };
    if (text.trim() === "/active") return { text: `${running.size} requests are running` };
  },

  contextProviders({ request }) {
    return [`The user is ${request.userId}.`];
  },

  attachmentHandler({ files }) {
    return files.map((file) => `${file.name} (${file.mediaType}) can be read at ${file.location}`).join("\n");
  },

  onRequestStart({ requestId }) {
    running.add(requestId);
  },

  onRequestEnd({ requestId }) {
    running.delete(requestId);
  },

  beforeToolCall({ toolName }) {
    return toolName === "deploy" ? { deny: "nothing is deployed from here" } : "allow";
  },
};
