//! The plugins of a server in the order in which somebody looks for them. Pure.

import type { Plugin } from "../api/types";

const RANK: Record<string, number> = { failed: 0, running: 1, not_started: 2, disabled: 3 };

/** What is broken first, then what took most time. */
export function inOrder(plugins: readonly Plugin[]): Plugin[] {
  const rank = (plugin: Plugin) => RANK[plugin.state] ?? 1;
  return [...plugins].sort((a, b) => rank(a) - rank(b) || Number(errorsOf(b) > 0) - Number(errorsOf(a) > 0) || secondsOf(b) - secondsOf(a) || a.name.localeCompare(b.name));
}

/** How often its hooks failed. */
export function errorsOf({ details }: Plugin): number {
  return details?.hooks.reduce((sum, hook) => sum + hook.errors, 0) ?? 0;
}

/** How long its hooks ran. */
export function secondsOf({ details }: Plugin): number {
  return details?.hooks.reduce((sum, hook) => sum + hook.seconds, 0) ?? 0;
}
