// What plugins import: `import { tool, Feature } from "orlop"`.

import { base } from "./lib/plugins.mjs";

export { PluginError } from "./lib/errors.mjs";
export { Session } from "./lib/session.mjs";
export { tool } from "./lib/tool.mjs";

/** Talks to a model server. */
export const Provider = base(class Provider { static kind = "provider"; });
/** Stands beside a provider and changes what it streams. */
export const Extension = base(class Extension { static kind = "extension"; });
/** Shapes one session: its history, its settings, the tools on offer. */
export const Feature = base(class Feature { static kind = "feature"; });
/** Gives the model something to do. */
export const Tool = base(class Tool { static kind = "tool"; });
/** Works on stored sessions, several at once. */
export const ApplicationPlugin = base(class ApplicationPlugin { static kind = "application"; });
/** Stands around every request. */
export const HostPlugin = base(class HostPlugin { static kind = "host"; });
