import { expect, test } from "vitest";
import type { ToolItem } from "../state/items";
import { blankTool } from "../state/transcript";
import { newTurn } from "../state/turn";
import { asksIn } from "./Announcer";

const approval = { requestId: "r", input: {}, reason: "", choices: [], form: null, remember: [] };
const tool = (id: string, more: Partial<ToolItem> = {}): ToolItem => ({ ...blankTool(id, id, "shell", {}), ...more });

test("questions are found wherever they stand, inside of delegated work as well", () => {
  const inside = newTurn("child", { items: [tool("c", { approval })] });
  const items = [tool("a", { approval }), tool("b", { children: [inside] }), tool("d")];
  expect(asksIn(items).map((asking) => asking.callId)).toEqual(["a", "c"]);
});
