use crate::Room;
use crate::stage::*;
use expect_test::{Expect, expect};
use serde_json::json;

/// The files of the working folder after a patch, with their content.
fn shown(stage: &Stage) -> String {
    let mut all = Vec::new();
    let mut folders = vec![stage.work()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(stage.work()).unwrap().display().to_string();
            all.push(format!("{name}: {}", std::fs::read_to_string(&path).unwrap().escape_debug()));
        }
    }
    all.sort();
    all.join("\n")
}

async fn check(files: &[(&str, &str)], patch: &str, expected: Expect) {
    let stage =
        files.iter().fold(Stage::default(), |stage, (path, content)| stage.file(path, content));
    let room = Room::open(stage).await;
    let said = room.call("apply_patch", json!({ "patch": patch })).await;
    expected.assert_eq(&format!("{said}\n---\n{}", shown(&room.stage)));
}

#[tokio::test]
async fn a_patch_adds_updates_moves_and_deletes() {
    check(
        &[
            ("a.py", "def f():\n    x = 1\n    return x\n\ndef g():\n    x = 1\n    return x\n"),
            ("old.txt", "gone\n"),
            ("name.txt", "text\n"),
        ],
        "*** Begin Patch
*** Update File: a.py
@@ def g():
     x = 1
-    return x
+    return x + 1
*** Add File: new/b.txt
+first
+
*** Delete File: old.txt
*** Update File: name.txt
*** Move to: renamed.txt
@@
-text
+other
*** End Patch",
        expect![[r#"
            a.py: changed (+1 -1)
            new/b.txt: new file (+2 -0)
            old.txt: removed (+0 -1)
            name.txt: removed (+0 -1)
            renamed.txt: new file (+1 -0)
            ---
            a.py: def f():\n    x = 1\n    return x\n\ndef g():\n    x = 1\n    return x + 1\n
            new/b.txt: first\n\n
            renamed.txt: other\n"#]],
    )
    .await;
}

#[tokio::test]
async fn spaces_and_quotes_may_differ_and_kept_lines_stay_as_they_are() {
    check(
        &[("a.txt", "\tone  \r\n\ttwo\r\n“three”\r\n")],
        "*** Begin Patch\n*** Update File: a.txt\n one\n-two\n+\t2\n \"three\"\n+4\n*** End of File\n*** End Patch\n",
        expect![[r#"
            a.txt: changed (+2 -1)
            ---
            a.txt: \tone  \r\n\t2\r\n“three”\r\n4\r\n"#]],
    )
    .await;
}

#[tokio::test]
async fn unified_diffs_are_taken_too() {
    check(
        &[("a.txt", "0\none\ntwo\nthree\nfour\n"), ("b.txt", "b\n"), ("gone.txt", "x\n")],
        "diff --git a/a.txt b/a.txt
index 1..2 100644
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@ fn
 one
-two
+2
 three
diff --git a/b.txt b/c.txt
similarity index 100%
rename from b.txt
rename to c.txt
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-x
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+new
+end
\\ No newline at end of file
",
        expect![[r#"
            a.txt: changed (+1 -1)
            b.txt: removed (+0 -1)
            c.txt: new file (+1 -0)
            gone.txt: removed (+0 -1)
            new.txt: new file (+2 -0)
            ---
            a.txt: 0\none\n2\nthree\nfour\n
            c.txt: b\n
            new.txt: new\nend"#]],
    )
    .await;
}

#[tokio::test]
async fn if_one_part_does_not_fit_nothing_changes() {
    check(
        &[("a.txt", "one\n"), ("b.txt", "two\n")],
        "*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n*** Update File: b.txt\n-three\n+3\n*** End Patch",
        expect![[r#"
            part 1 of the patch does not fit b.txt: these lines are not there:
            three
            ; nothing was changed; read the file again
            ---
            a.txt: one\n
            b.txt: two\n"#]],
    )
    .await;
}

#[tokio::test]
async fn what_is_no_patch_is_told() {
    for (patch, expected) in [
        (
            "",
            expect![
                "this is no patch: begin with `*** Begin Patch`, or send a unified diff with --- and +++ lines"
            ],
        ),
        (
            "*** Begin Patch\n*** Add File: a\n+x",
            expect!["the patch ends without a line `*** End Patch`; nothing was changed"],
        ),
        (
            "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
            expect![[
                r#"line 3 of the patch ("x"): every line of a new file begins with +; nothing was changed"#
            ]],
        ),
        (
            "*** Begin Patch\n*** Update File: a.txt\n*** End Patch",
            expect!["the patch of a.txt has no changes in it; nothing was changed"],
        ),
        (
            "*** Begin Patch\n*** Delete File: none\n*** End Patch",
            expect!["none does not exist; nothing was changed; check the path with find_files"],
        ),
        (
            "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch",
            expect!["a.txt exists already; update it, or delete it first; nothing was changed"],
        ),
        (
            "*** Begin Patch\n*** Add File: n\n+x\n*** Delete File: a.txt\n*** Add File: ./n\n+y\n*** End Patch",
            expect!["the patch names n twice; put all changes of a file into one section"],
        ),
        (
            "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n",
            expect!["the patch ends in the middle of a chunk; nothing was changed"],
        ),
        ("*** Begin Patch\n*** Add File: ../out\n+x\n*** End Patch", expect![[""]]),
    ] {
        let room = Room::open(Stage::default().file("a.txt", "one\n")).await;
        let said = room.call("apply_patch", json!({ "patch": patch })).await;
        if patch.contains("../out") {
            assert!(said.contains("is outside of the folders this agent may change"), "{said}");
        } else {
            expected.assert_eq(&said);
        }
        assert_eq!(shown(&room.stage), "a.txt: one\\n");
    }
    assert_eq!(
        orlop_plugins::patch_paths(
            "```\n*** Begin Patch\n*** Update File: a\n*** Move to: b\n-x\n+y\n*** End Patch\n```"
        ),
        ["a", "b"]
    );
}
