import { expect, test } from "vitest";
import { changesOf, countOf, filesOf } from "./diff";

const drawn = (text: string) =>
  filesOf(text).flatMap((file) => [`${file.change} ${file.path}`, ...file.lines.map((line) => `${line.before ?? "-"} ${line.after ?? "-"} ${line.kind} ${line.text}`.trimEnd())]);

test("lines have their numbers before and after, and the heads of the format are no lines", () => {
  const text = "--- a/free.sh\n+++ b/free.sh\n@@ -1,3 +1,4 @@\n #!/bin/sh\n-= yes\n+= free\n+# done\n end\n";
  expect(drawn(text)).toEqual(["changed free.sh", "1 1 same #!/bin/sh", "2 - removed = yes", "- 2 added = free", "- 3 added # done", "3 4 same end"]);
  expect(countOf(filesOf(text))).toEqual({ added: 2, removed: 1 });
});

test("lines that look like heads are lines inside of a hunk", () => {
  const text = "--- a/q.sql\n+++ b/q.sql\n@@ -1,1 +1,1 @@\n--- old remark\n+++ new remark\n";
  expect(drawn(text)).toEqual(["changed q.sql", "1 - removed -- old remark", "- 1 added ++ new remark"]);
});

test("several files, new and gone ones, and what lies between hunks", () => {
  const text = "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n--- a/far\n+++ b/far\n@@ -10 +10 @@ fn main()\n-c\n+d\n@@ -20 +20 @@\n-e\n+f\n";
  expect(drawn(text)).toEqual(["new new", "- 1 added a", "gone old", "1 - removed b", "changed far", "- - gap fn main()", "10 - removed c", "- 10 added d", "- - gap", "20 - removed e", "- 20 added f"]);
});

test("words before a diff, and a diff that was cut, lose nothing", () => {
  const text = "a: changed (+9 -9)\n--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n-x\n(the diff goes on for 17 lines that are not shown)\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-y\n+z\n";
  expect(drawn(text)).toEqual([
    "changed null",
    "- - note a: changed (+9 -9)",
    "changed a",
    "1 - removed x",
    "- - note (the diff goes on for 17 lines that are not shown)",
    "changed b",
    "1 - removed y",
    "- 1 added z",
  ]);
});

test("how much changed is what the tool says, or what its diff shows", () => {
  const diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-y\n+z\n";
  expect(changesOf({ type: "diff", diff })).toEqual({ added: 1, removed: 1 });
  expect(changesOf({ type: "diff", diff, files: [{ added: 900, removed: 1 }, { added: 3, removed: 2 }] })).toEqual({ added: 903, removed: 3 });
});
