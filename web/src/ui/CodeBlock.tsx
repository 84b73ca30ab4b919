//! A block of code: its language, copying, wrapping, and colours once they are loaded.

import { Check, Copy, WrapText } from "lucide-react";
import { type ReactNode, memo, useEffect, useState } from "react";
import { IconButton } from "./IconButton";
import { useCopied } from "./useCopied";

/** Longer code stays plain: colouring it would hold the page up. */
const MAX_COLOURED = 60_000;

export const CodeBlock = memo(function CodeBlock({ code, language }: { code: string; language: string | null }) {
  const [wrapped, setWrapped] = useState(false);
  const [copied, copy] = useCopied();
  return (
    <figure className="code-block" data-wrapped={wrapped || undefined}>
      <figcaption>
        <span>{language ?? "text"}</span>
        <span className="code-tools">
          <IconButton label={wrapped ? "Do not wrap lines" : "Wrap lines"} pressed={wrapped} onClick={() => setWrapped(!wrapped)}>
            <WrapText />
          </IconButton>
          <IconButton label={copied ? "Copied" : "Copy code"} onClick={() => copy(code)} data-copy-code>
            {copied ? <Check /> : <Copy />}
          </IconButton>
        </span>
      </figcaption>
      <pre tabIndex={0}>
        <code>
          <Coloured code={code} language={language} />
        </code>
      </pre>
    </figure>
  );
});

function Coloured({ code, language }: { code: string; language: string | null }) {
  const [coloured, setColoured] = useState<{ code: string; tree: ReactNode } | null>(null);
  const wanted = language !== null && code.length <= MAX_COLOURED;
  useEffect(() => {
    if (!wanted) return;
    let current = true;
    import("./highlight")
      .then(({ highlight }) => {
        if (current) setColoured({ code, tree: highlight(code, language) });
      })
      // Code without colours is code.
      .catch(() => undefined);
    return () => {
      current = false;
    };
  }, [code, language, wanted]);
  if (!wanted || !coloured) return <>{code}</>;
  // While code grows, the end that is not coloured yet stands behind what is.
  if (coloured.code === code) return <>{coloured.tree}</>;
  if (code.startsWith(coloured.code)) {
    return (
      <>
        {coloured.tree}
        {code.slice(coloured.code.length)}
      </>
    );
  }
  return <>{code}</>;
}
