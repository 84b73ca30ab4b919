import { expect, test } from "vitest";
import { fileName } from "./fileName";

test("a file is called like its session, as far as file systems allow it", () => {
  expect(fileName("Gezeiten für Zoë", "id")).toBe("Gezeiten für Zoë");
  expect(fileName("src/main.rs: what?\n", "id")).toBe("src-main.rs- what");
  expect(fileName("..hidden. ", "id")).toBe("hidden");
  expect(fileName("a\u202egpj.exe", "id")).toBe("a-gpj.exe");
});

test("a long name is cut between characters, and a session without one is called by its id", () => {
  expect([...fileName("⛵".repeat(100), "id")]).toHaveLength(80);
  expect(["", "  ", "..."].map((title) => fileName(title, "a:1"))).toEqual(["a-1", "a-1", "a-1"]);
});
