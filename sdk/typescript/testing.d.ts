// Runs the hooks of a plugin without a host: `import { testPlugin } from "orlop/testing"`.

import type { Json } from "./types.d.ts";

/** Answers in place of the host, by the name of the method: `{ loadSession: (args) => ... }`. */
export type Answers = { [method: string]: (args: Json) => unknown };

export interface CallOptions {
  context?: Json;
  core?: Answers;
  app?: Answers;
}

export interface TestedPlugin {
  /** What the host is told of the plugin. */
  readonly description: Json;
  readonly logged: { level: string; message: string; fields?: Json }[];
  readonly progress: { message: string; done?: number; total?: number }[];
  /** What went wrong, as it would stand in the log. */
  readonly complaints: string[];
  /** Calls a hook and gives what the host would be answered; `null` means that nothing changes. */
  call(hook: string, input?: Json, options?: CallOptions): Promise<any>;
  /** Calls a hook that streams, and gives all its parts. */
  stream(hook: string, input?: Json, options?: CallOptions): Promise<any[]>;
}

/** Takes a class, an object, what `tool` gave, or all exports of a module. */
export function testPlugin(plugin: unknown, options?: { config?: Json; folders?: Json; name?: string }): Promise<TestedPlugin>;
