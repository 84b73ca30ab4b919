//! Accessibility rules, run inside of the page.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Found {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

export class AxeBuilder {
  constructor(private readonly page: Page) {}

  /** What is wrong, each rule with the elements that break it. `rules` are all of them, or those on colours only. */
  async violations(rules: "all" | "colours" = "all"): Promise<string[]> {
    // Through the debugger, so that the page's policy does not have to allow it.
    await this.page.evaluate(source);
    const found = await this.page.evaluate(async (rules) => {
      const { axe } = globalThis as unknown as { axe: { run: (options: object) => Promise<{ violations: Found[] }> } };
      const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
      return (await axe.run({ runOnly: rules === "all" ? tags : { type: "rule", values: ["color-contrast", "link-in-text-block"] } })).violations;
    }, rules);
    return found.map((rule) => `${rule.id}: ${rule.nodes.map((node) => `${node.html.slice(0, 160)} (${node.failureSummary?.replaceAll("\n", " ")})`).join(" | ")}`);
  }
}
