import { expect, test } from "vitest";
import { limitText, refusal } from "./limits";

const limits = { max_bytes: 2 * 1024 * 1024, types: ["image/*", "text/plain"] };

test("what the server would refuse is refused before it is sent, with the reason", () => {
  const file = (size: number, type: string) => refusal({ size, type }, 0, limits);
  expect([file(1, "image/png"), file(1, "text/plain"), file(1, "")]).toEqual([null, null, null]);
  expect(file(0, "text/plain")).toBe("The file is empty.");
  expect(file(3 * 1024 * 1024, "image/png")).toBe("Too large: 3.0 MB of at most 2.0 MB.");
  expect(file(1, "application/pdf")).toBe("Files of type application/pdf are not taken here.");
  expect(refusal({ size: 1, type: "text/plain" }, 20, limits)).toBe("A message takes 20 files.");
});

test("limits are told in words", () => {
  expect(limitText(limits)).toBe("up to 20 files of type image/*, text/plain, each of 2.0 MB at most");
  expect(limitText({ max_bytes: 1024 })).toBe("up to 20 files, each of 1.0 KB at most");
  expect(limitText(null)).toBe("");
});
