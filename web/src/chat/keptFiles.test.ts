import { beforeEach, expect, test } from "vitest";
import type { Attachment } from "../state/app";
import { forgetFiles, keepFiles, keptFiles } from "./keptFiles";

const shelf = new Map<string, string>();
const storage = {
  getItem: (key: string) => shelf.get(key) ?? null,
  setItem: (key: string, value: string) => void shelf.set(key, value),
  removeItem: (key: string) => void shelf.delete(key),
};
beforeEach(() => {
  shelf.clear();
  Object.assign(globalThis, { localStorage: storage });
});

const file = (id: string, more: Partial<Attachment> = {}): Attachment => ({ id, name: id, size: 1, mediaType: "text/plain", phase: "ready", problem: null, assetId: `asset-${id}`, preview: null, ...more });

test("files that are there are kept for their owner, without what ends with the page", () => {
  keepFiles("ana", {}, { s: [file("a", { preview: "blob:x" }), file("b", { phase: "uploading" }), file("c", { phase: "failed" })] });
  expect(keptFiles("ana")).toEqual({ s: [file("a")] });
  expect(keptFiles("bob")).toEqual({});
});

test("what another tab keeps of another session stays, and what was sent goes", () => {
  keepFiles("ana", {}, { other: [file("x")] });
  const mine = { s: [file("a")] };
  keepFiles("ana", {}, mine);
  expect(Object.keys(keptFiles("ana")).sort()).toEqual(["other", "s"]);
  keepFiles("ana", mine, {});
  expect(Object.keys(keptFiles("ana"))).toEqual(["other"]);
  forgetFiles("ana");
  expect(keptFiles("ana")).toEqual({});
});
