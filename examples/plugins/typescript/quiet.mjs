// An extension of every provider: shows text in lower case while it streams, and gives each new session a key of its own for
// the cache of prompts.

import { randomUUID } from "node:crypto";

export class Quiet {
  name = "quiet";
  version = "1.0.0";

  processChunk({ chunk }) {
    if (chunk.partial) chunk.partial.content = chunk.partial.content.toLowerCase();
    return chunk;
  }

  getActions() {
    return [{ id: "ensure_prompt_cache_key", label: "Ensure prompt cache key", inputs: {}, trigger: ["session_create", "request_prepare"] }];
  }

  executeAction({ session, native_messages }) {
    if (session.metadata.overrides?.prompt_cache_key) return { native_messages };
    return { native_messages, session_metadata: { overrides: { prompt_cache_key: randomUUID() } } };
  }
}
