import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import MathBlock from "./MathBlock";

/** What is drawn of a text, formulas as ⟨their source⟩. */
function drawn(text: string): string {
  const html = renderToStaticMarkup(createElement(MathBlock, { text, options: {} }));
  const formula = /<math[^>]*?(display="block")?>.*?<annotation[^>]*>(.*?)<\/annotation>.*?<\/math>/gs;
  return html
    .replace(formula, (_, block: string | undefined, source: string) => (block ? `⟪${source}⟫` : `⟨${source}⟩`))
    .replace(/<div class="formula"[^>]*>(.*?)<\/div>/gs, "$1")
    .replace(/<\/?span[^>]*>/g, "");
}

test("LaTeX's brackets are formulas", () => {
  expect(drawn("The mean \\(\\bar{h} = 2\\) is low.")).toBe("<p>The mean ⟨\\bar{h} = 2⟩ is low.</p>");
  expect(drawn("Then\n\n\\[\na + b\n\\]\n\nholds.")).toBe("<p>Then</p>\n⟪a + b⟫\n<p>holds.</p>");
  expect(drawn("Both \\[a\n + b\\] here")).toContain("⟨a + b⟩");
});

test("brackets in lists and quotations stay where they are", () => {
  expect(drawn("- so\n\n  \\[x\\]\n\n- on")).toMatch(/<li>\s*<p>so<\/p>\s*⟪x⟫\s*<\/li>/);
  expect(drawn("> \\[x\\]")).toMatch(/<blockquote>\s*⟪x⟫\s*<\/blockquote>/);
});

test("code is shown as it was written", () => {
  const code = 'grep "\\(a\\|b\\)" x\nprintf "\\[%s\\]" y';
  expect(drawn(`Look at $x$:\n\n\`\`\`sh\n${code}\n\`\`\``)).toContain(`${code.replaceAll('"', "&quot;")}\n</code>`);
  expect(drawn("Use `\\(x\\)`, which means \\(x\\)")).toBe("<p>Use <code>\\(x\\)</code>, which means ⟨x⟩</p>");
  expect(drawn("    sed 's/\\(a\\)/b/'\n\nand \\(x\\)")).toContain("sed &#x27;s/\\(a\\)/b/&#x27;");
  expect(drawn("A backslash \\\\(no formula\\\\) and $y$")).toContain("\\(no formula\\)");
});
