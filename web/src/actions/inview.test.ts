import { expect, test } from "vitest";
import type { Summary } from "../api/types";
import { newConversation } from "../state/conversation";
import { newStore } from "../state/app";
import { sessionInView } from "./ActionDialog";

test("a button of a session gets every field that the session has, in the list or by itself", () => {
  const store = newStore();
  expect(sessionInView({ store })).toBeUndefined();
  const metadata = { title: "Harbour", agent_id: "mate", overrides: { level: 1 } };
  store.patch({ openId: "s", conversation: { ...newConversation("s"), metadata } });
  expect(sessionInView({ store })).toMatchObject({ session_id: "s", title: "Harbour", agent_id: "mate", metadata, messages: [] });
  const summary = { session_id: "s", title: "Renamed", agent_id: "mate", revision: 3, pinned: true } as unknown as Summary;
  store.patch({ list: { ...store.get().list, sessions: [summary] } });
  expect(sessionInView({ store })).toMatchObject({ title: "Renamed", revision: 3, pinned: true, metadata });
});
