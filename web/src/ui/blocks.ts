//! Cuts Markdown into blocks that can be drawn on their own, so that a growing text redraws its last block only.

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const LIST = /^ {0,3}([-*+]|\d{1,9}[.)])(\s|$)/;
const DEFINITION = /^ {0,3}\[[^\]]+\]:/m;

/** The blocks, which joined with nothing give the text again. */
export function blocksOf(text: string): string[] {
  // Definitions of links and footnotes reach across blocks.
  if (DEFINITION.test(text)) return [text];
  const blocks: string[] = [];
  let begin = 0;
  let at = 0;
  let fence: string | null = null;
  let math = false;
  let inList = false;
  let blank = false;
  for (const line of text.split("\n")) {
    const next = at + line.length + 1;
    if (fence !== null) {
      const trimmed = line.trim();
      if (trimmed.startsWith(fence) && trimmed.replaceAll(fence[0] as string, "") === "") fence = null;
    } else if (math) {
      math = !line.includes("$$");
    } else if (line.trim() === "") {
      blank = true;
      at = next;
      continue;
    } else {
      const isItem = LIST.test(line);
      // A list goes on over empty lines, with items and with what is indented.
      const continues = inList && (isItem || /^\s/.test(line));
      if (blank && at > begin && !continues && !/^ {4}|^\t/.test(line)) {
        blocks.push(text.slice(begin, at));
        begin = at;
        inList = false;
      }
      if (isItem) inList = true;
      fence = FENCE.exec(line)?.[1] ?? null;
      math = fence === null && line.trim().startsWith("$$") && !line.trim().slice(2).includes("$$");
    }
    blank = false;
    at = next;
  }
  if (begin < text.length) blocks.push(text.slice(begin));
  return blocks;
}
