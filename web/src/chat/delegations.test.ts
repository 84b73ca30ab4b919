import { expect, test } from "vitest";
import type { Message } from "../api/types";
import type { ToolItem } from "../state/items";
import { blankTool } from "../state/transcript";
import { newTurn } from "../state/turn";
import { delegationsOf, itemsInside } from "./delegations";

const display = { type: "delegate", agent: "reviewer", session_id: "inside", usage: { input_tokens: 12 }, content: "Fine." };
const call = (parts: Partial<ToolItem>): ToolItem => ({ ...blankTool("c1", "c1", "delegate", {}), ...parts });
const turn = newTurn("r1", { agentId: "reviewer", sessionId: "inside", status: "running" });

test("after a reload the result tells who did the work, and where it can be read", () => {
  expect(delegationsOf(call({ status: "done", display }))).toEqual([{ key: "inside", agent: "reviewer", sessionId: "inside", turn: null, state: "finished", usage: { input_tokens: 12 } }]);
});

test("work that was heard of is told once, and is over when its call is", () => {
  expect(delegationsOf(call({ status: "running", children: [turn] })).map((held) => held.state)).toEqual(["at work"]);
  const [held, ...more] = delegationsOf(call({ status: "done", display, children: [turn] }));
  expect(more).toEqual([]);
  expect(held).toMatchObject({ turn, state: "finished", usage: { input_tokens: 12 } });
});

test("work fails with its call, and waits where it asks", () => {
  expect(delegationsOf(call({ status: "failed", display })).map((held) => held.state)).toEqual(["failed"]);
  const approval = { requestId: "r1", input: {}, reason: "", choices: [], form: null, remember: [] };
  const asking = { ...turn, items: [call({ status: "waiting", approval })] };
  expect(delegationsOf(call({ children: [asking] })).map((held) => held.state)).toEqual(["waits for you"]);
});

test("inside of a card, a session is what was said and done, and offers nothing to do", () => {
  const messages: Message[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Review free.sh" },
    { role: "assistant", content: "It does what it says.", metadata: {} },
  ];
  expect(itemsInside(messages)).toMatchObject([{ kind: "text", text: "It does what it says.", index: null }]);
});
