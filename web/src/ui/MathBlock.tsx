//! Markdown with formulas, as MathML that browsers draw themselves. Loaded with the first formula.

import { useMemo } from "react";
import ReactMarkdown, { type Options } from "react-markdown";
import rehypeKatex from "rehype-katex";
import remarkMath from "remark-math";
import { rehypeFormulas } from "./formulas";
import { remarkLatexBrackets } from "./latex";

export default function MathBlock({ text, options }: { text: string; options: Options }) {
  const withMath = useMemo<Options>(
    () => ({
      ...options,
      remarkPlugins: [...(options.remarkPlugins ?? []), remarkMath, remarkLatexBrackets],
      // After sanitising: what it makes is known, and is not written by the model.
      rehypePlugins: [...(options.rehypePlugins ?? []), [rehypeKatex, { output: "mathml", throwOnError: false, strict: "ignore", trust: false }], rehypeFormulas],
    }),
    [options],
  );
  return <ReactMarkdown {...withMath}>{text}</ReactMarkdown>;
}
