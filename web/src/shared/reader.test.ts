import { expect, test } from "vitest";
import type { SharedMessage } from "../api/types";
import { itemsRead } from "./reader";

const messages: SharedMessage[] = [
  { index: 4, role: "user", content: "mend it", metadata: { attachments: ["night.log"] } },
  { index: 5, role: "assistant", content: "", metadata: { tool_calls: [{ id: "c1", name: "shell", arguments: "{}" }] } },
  { index: 6, role: "tool", content: "done", metadata: { tool_call_id: "c1", tool_name: "shell", duration_ms: 1_500 } },
];

test("who reads by a link can do nothing with a message, and sees names of files and what is being said", () => {
  const items = itemsRead({ messages, live: "It is" });
  expect(items.map((item) => item.kind)).toEqual(["user", "tool", "text"]);
  expect(items[0]).toMatchObject({ index: null, message: { metadata: { attachments: [{ name: "night.log" }] } } });
  expect(items[1]).toMatchObject({ status: "done", took: 1_500 });
  expect(items[2]).toMatchObject({ live: true, text: "It is" });
});
