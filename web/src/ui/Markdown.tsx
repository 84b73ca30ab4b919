//! Markdown from models and plugins. Raw HTML is not rendered, links lead to the web, pictures are not fetched.

import { type MouseEvent, type ReactNode, memo } from "react";
import ReactMarkdown, { type Components, type Options } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { webUrl } from "../actions/safe";
import { blocksOf } from "./blocks";
import { CodeBlock } from "./CodeBlock";
import { rehypeDirections } from "./directions";
import { later } from "./later";


const components: Components = {
  a({ href, id, children, node, "aria-label": label }) {
    const { dataFootnoteRef, dataFootnoteBackref } = node?.properties ?? {};
    if (href && (dataFootnoteRef ?? dataFootnoteBackref) !== undefined) {
      return (
        <Footnote to={href.slice(1)} id={id} label={label}>
          {children}
        </Footnote>
      );
    }
    const url = href ? linkUrl(href) : null;
    if (!url) return <>{children}</>;
    return (
      <a href={url} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    );
  },
  // A picture from elsewhere would tell its server who reads; it is a link until somebody opens it.
  img({ src, alt }) {
    const url = typeof src === "string" ? webUrl(src) : null;
    const label = alt?.trim() || "picture";
    if (!url) return <span className="missing-picture">[{label}]</span>;
    return (
      <a href={url} target="_blank" rel="noopener noreferrer nofollow" className="picture-link">
        {label}
      </a>
    );
  },
  pre({ children }) {
    return <>{children}</>;
  },
  code({ className, children, node }) {
    const text = String(children ?? "");
    const language = /language-(\S+)/.exec(className ?? "")?.[1] ?? null;
    const isBlock = language !== null || (node?.position && node.position.end.line > node.position.start.line) || text.endsWith("\n");
    return isBlock ? <CodeBlock code={text.replace(/\n$/, "")} language={language} /> : <code>{children}</code>;
  },
  table({ children }) {
    return (
      <div className="table-scroll" tabIndex={0} role="group" aria-label="Table" dir="auto">
        <table>{children}</table>
      </div>
    );
  },
  input({ checked }) {
    return <input type="checkbox" checked={checked === true} readOnly disabled aria-label={checked ? "done" : "open"} />;
  },
};

/** The mark of a footnote, or the way back from it. The address of the page names the session, so that it is no link of the browser's. */
function Footnote({ to, id, label, children }: { to: string; id: string | undefined; label: string | undefined; children: ReactNode }) {
  const go = (event: MouseEvent<HTMLElement>) => {
    const named = event.currentTarget.closest(".prose")?.querySelectorAll<HTMLElement>("[id]") ?? [];
    // Sanitising puts its prefix before names, and not before what refers to them.
    const there = [...named].find((element) => element.id === `user-content-${to}`);
    if (there && there.tabIndex < 0) there.tabIndex = -1;
    there?.focus();
  };
  return (
    <button type="button" className="link-button footnote" id={id} aria-label={label} onClick={go}>
      {children}
    </button>
  );
}

function linkUrl(href: string): string | null {
  return /^mailto:[^\s]+@[^\s]+$/.test(href) ? href : webUrl(href);
}

const options: Options = {
  remarkPlugins: [remarkGfm],
  rehypePlugins: [rehypeSanitize, rehypeDirections],
  components,
  urlTransform: (url) => url,
};

const Block = memo(function Block({ text }: { text: string }) {
  return hasMath(text) ? <MathBlock text={text} options={options} /> : <Plain text={text} options={options} />;
});

function Plain({ text, options }: { text: string; options: Options }) {
  return <ReactMarkdown {...options}>{text}</ReactMarkdown>;
}

/** Without the part that draws formulas they are text. */
const MathBlock = later(() => import("./MathBlock"), { waiting: Plain, failed: Plain });

/** Dollars around something that is no amount of money, or the brackets of LaTeX. */
export function hasMath(text: string): boolean {
  return /\$\$[\s\S]+\$\$|\\\(.+\\\)|\\\[[\s\S]+\\\]|(^|[^\\$\w])\$[^\s$](?:[^$\n]*[^\s$\\])?\$(?![\w$])/.test(text);
}

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="prose">
      {blocksOf(text).map((block, place) => (
        <Block key={place} text={block} />
      ))}
    </div>
  );
});
