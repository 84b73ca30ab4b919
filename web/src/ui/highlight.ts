//! Colours for code. Loaded with the first block that wants them.

import { toJsxRuntime } from "hast-util-to-jsx-runtime";
import { common, createLowlight } from "lowlight";
import type { ReactNode } from "react";
import { Fragment, jsx, jsxs } from "react/jsx-runtime";

const lowlight = createLowlight(common);
lowlight.registerAlias({ bash: ["console", "shellsession", "zsh"], ini: ["toml"], typescript: ["tsx"], javascript: ["jsx"] });

/** The code with its parts marked; as it is where the language is not known. */
export function highlight(code: string, language: string): ReactNode {
  if (!lowlight.registered(language)) return code;
  return toJsxRuntime(lowlight.highlight(language, code, { prefix: "hl-" }), { Fragment, jsx, jsxs });
}
