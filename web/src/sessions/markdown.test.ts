import { expect, test } from "vitest";
import type { Message } from "../api/types";
import { markdownOf } from "./markdown";

const call = { id: "c", name: "shell", arguments: { command: "ls" } };

test("a conversation is a file that reads as it went", () => {
  const messages: Message[] = [
    { role: "system", content: "Be short." },
    { role: "user", content: "What is here?" },
    { role: "assistant", content: "I look.", metadata: { tool_calls: [call] } },
    { role: "tool", content: "free.sh", metadata: { tool_call_id: "c" } },
    { role: "assistant", content: "One file." },
  ];
  expect(markdownOf("The harbour", messages)).toBe(
    [
      "# The harbour",
      "## You",
      "What is here?",
      "## Assistant",
      "I look.",
      '`shell` \n```json\n{\n  "command": "ls"\n}\n```',
      "\n```\nfree.sh\n```",
      "## Assistant",
      "One file.\n",
    ].join("\n\n"),
  );
});

test("a call without words has no empty line of them, and contents of parts are their texts", () => {
  const text = markdownOf("t", [
    { role: "assistant", content: "", metadata: { tool_calls: [call] } },
    { role: "user", content: [{ type: "text", text: "one" }, { type: "text", text: "two" }] },
  ]);
  expect(text).toContain("## Assistant\n\n`shell`");
  expect(text).toContain("## You\n\none\n\ntwo");
});

test("what has fences in it stands between longer ones", () => {
  const text = markdownOf("t", [{ role: "tool", content: "````\ncode\n````" }]);
  expect(text).toBe("# t\n\n\n`````\n````\ncode\n````\n`````\n");
});
