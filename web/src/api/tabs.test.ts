import { expect, test } from "vitest";
import { type Channel, Tabs } from "./tabs";
import type { Event } from "./types";

/** Tabs of one browser; what one says, all others hear. */
function browser() {
  const channels: Channel[] = [];
  let now = 0;
  const open = (name: string, owner?: string) => {
    const channel: Channel = {
      postMessage: (word) => channels.forEach((other) => other !== channel && other.onmessage?.({ data: word })),
      onmessage: null,
    };
    channels.push(channel);
    const tabs = new Tabs(name, channel, () => (now += 1));
    tabs.join(owner);
    return tabs;
  };
  return { open };
}

test("the tabs that were used last stream", () => {
  const { open } = browser();
  const tabs = ["a", "b", "c", "d"].map((name) => open(name));
  const streaming = () => tabs.map((tab) => tab.mayStream());
  expect(streaming()).toEqual([false, false, true, true]);
  tabs[0]?.use();
  expect(streaming()).toEqual([true, false, false, true]);
  tabs[0]?.leave();
  expect(streaming().slice(1)).toEqual([false, true, true]);
});

test("a tab hears when its turn comes or goes", () => {
  const { open } = browser();
  const [first] = [open("a"), open("b")];
  let told = 0;
  const end = first.onTurn(() => (told += 1));
  const third = open("c");
  expect([first.mayStream(), told > 0]).toEqual([false, true]);
  end();
  const before = told;
  third.leave();
  expect([first.mayStream(), told]).toEqual([true, before]);
});

test("what one tab is told, the others hear", () => {
  const { open } = browser();
  const [first, second] = [open("a"), open("b")];
  const heard: number[] = [];
  for (const tab of [first, second]) tab.onEvent = (event) => heard.push(event.seq);
  second.share({ type: "session_deleted", seq: 7, at: "" } as Event);
  expect(heard).toEqual([7]);
});

test("a tab alone streams, also where tabs cannot talk", () => {
  expect(new Tabs("a", null).mayStream()).toBe(true);
});

test("tabs of different people tell each other nothing, and take no turn from each other", () => {
  const { open } = browser();
  const [first, other] = [open("a", "ana"), open("b", "bo")];
  const heard: number[] = [];
  other.onEvent = (event) => heard.push(event.seq);
  open("c", "bo");
  open("d", "bo");
  first.share({ seq: 1 } as Event);
  expect([first.mayStream(), other.mayStream(), heard]).toEqual([true, false, []]);
});
