use crate::Room;
use crate::stage::*;
use expect_test::{Expect, expect};
use orlop_app::EventKind;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

async fn check(content: &str, input: Value, expected: Expect) {
    let room = Room::open(Stage::default().file("a.txt", content)).await;
    let mut input = input;
    input["path"] = json!("a.txt");
    let said = room.call("edit_file", input).await;
    expected.assert_eq(&format!("{said}\n---\n{}", room.stage.read("a.txt").escape_debug()));
}

#[tokio::test]
async fn a_text_that_occurs_once_is_replaced() {
    check(
        "one\ntwo\nthree\n",
        json!({ "old_string": "two\n", "new_string": "2\n" }),
        expect![[r#"
            a.txt: changed (+1 -1)
            ---
            one\n2\nthree\n"#]],
    )
    .await;
    check(
        "a b a\na\n",
        json!({ "old_string": "a", "new_string": "c", "replace_all": true }),
        expect![[r#"
            a.txt: changed (+2 -2)
            ---
            c b c\nc\n"#]],
    )
    .await;
    check(
        "a b a\na\n",
        json!({ "old_string": "a", "new_string": "c" }),
        expect![[r#"
            old_string occurs 3 times (lines 1, 1, 2); add lines around it until it occurs once, or set replace_all
            ---
            a b a\na\n"#]],
    )
    .await;
}

#[tokio::test]
async fn several_edits_are_made_in_order_or_not_at_all() {
    check(
        "one\ntwo\n",
        json!({ "edits": [
            { "old_string": "one", "new_string": "1" },
            { "old_string": "1\ntwo", "new_string": "1\n2" },
        ] }),
        expect![[r#"
            a.txt: changed (+2 -2)
            ---
            1\n2\n"#]],
    )
    .await;
    check(
        "one\ntwo\n",
        json!({ "edits": [
            { "old_string": "one", "new_string": "1" },
            { "old_string": "three", "new_string": "3" },
        ] }),
        expect![[r#"
            edit 2 of 2: old_string is not in a.txt, and nothing like it; read the file again; none of the edits was made
            ---
            one\ntwo\n"#]],
    )
    .await;
}

#[tokio::test]
async fn what_is_not_found_is_told_with_what_is_near() {
    check(
        "fn main() {\n    let x = 1;\n    print(x);\n}\n",
        json!({ "old_string": "  let x = 1;\n  print(x);", "new_string": "" }),
        expect![[r#"
            old_string is not in a.txt; the nearest place is line 2 (only spaces differ):
                 2	    let x = 1;
                 3	    print(x);
            ---
            fn main() {\n    let x = 1;\n    print(x);\n}\n"#]],
    )
    .await;
    check(
        "alpha\nconst LIMIT: usize = 100;\nomega\n",
        json!({ "old_string": "const LIMIT: u64 = 100;", "new_string": "x" }),
        expect![[r#"
            old_string is not in a.txt; the most similar line is 2:
                 2	const LIMIT: usize = 100;
            ---
            alpha\nconst LIMIT: usize = 100;\nomega\n"#]],
    )
    .await;
    check(
        "a",
        json!({ "old_string": "", "new_string": "x" }),
        expect![[r#"
            old_string is empty; to make a file or replace all of it use write_file
            ---
            a"#]],
    )
    .await;
    check(
        "a",
        json!({ "old_string": "a" }),
        expect![[r#"
            old_string and new_string belong together
            ---
            a"#]],
    )
    .await;
}

#[tokio::test]
async fn line_ends_marks_and_old_encodings_survive() {
    check(
        "one\r\ntwo\r\nthree\r\n",
        json!({ "old_string": "one\ntwo", "new_string": "1\n2" }),
        expect![[r#"
            a.txt: changed (+2 -2)
            ---
            1\r\n2\r\nthree\r\n"#]],
    )
    .await;
    check(
        "\u{feff}one\n",
        json!({ "old_string": "one", "new_string": "two" }),
        expect![[r#"
            a.txt: changed (+1 -1)
            ---
            \u{feff}two\n"#]],
    )
    .await;
    let room = Room::open(Stage::default().file("old.txt", b"caf\xe9\none\n")).await;
    room.call("edit_file", json!({ "path": "old.txt", "old_string": "one", "new_string": "two" }))
        .await;
    assert_eq!(std::fs::read(room.stage.work().join("old.txt")).unwrap(), b"caf\xe9\ntwo\n");
}

#[tokio::test]
async fn writing_makes_folders_keeps_permissions_and_leaves_nothing_behind() {
    let room = Room::open(Stage::default().file("run.sh", "old\r\n")).await;
    let path = room.stage.work().join("run.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let write = async |path: &str, content: &str| {
        room.call("write_file", json!({ "path": path, "content": content })).await
    };
    expect!["new/deep/file.txt: new file (+1 -0)"]
        .assert_eq(&write("new/deep/file.txt", "hello\n").await);
    assert_eq!(room.stage.read("new/deep/file.txt"), "hello\n");
    expect!["run.sh exists and was not read yet; read it before you replace it, or change parts of it with edit_file"]
        .assert_eq(&write("run.sh", "new\n").await);
    room.call("read_file", json!({ "path": "run.sh" })).await;
    expect!["run.sh: changed (+1 -1)"].assert_eq(&write("run.sh", "new\n").await);
    assert_eq!(room.stage.read("run.sh"), "new\r\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    // What it wrote itself it knows.
    expect!["run.sh: changed (+1 -1)"].assert_eq(&write("run.sh", "newer\n").await);
    let mut names: Vec<_> = std::fs::read_dir(room.stage.work())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["new", "run.sh"]);
}

#[tokio::test]
async fn a_file_that_somebody_else_changed_is_read_again_first() {
    let room = Room::open(Stage::default().file("a.txt", "one\n")).await;
    room.call("read_file", json!({ "path": "a.txt" })).await;
    std::fs::write(room.stage.work().join("a.txt"), "one\nmine\n").unwrap();
    let edit = json!({ "path": "a.txt", "old_string": "one", "new_string": "1" });
    expect![
        "a.txt was changed by someone else since it was last read; read it again, then change it"
    ]
    .assert_eq(&room.call("edit_file", edit.clone()).await);
    assert_eq!(room.stage.read("a.txt"), "one\nmine\n");
    room.call("read_file", json!({ "path": "a.txt" })).await;
    room.call("edit_file", edit).await;
    assert_eq!(room.stage.read("a.txt"), "1\nmine\n");
}

#[tokio::test] // M-28
async fn people_see_the_diff_before_and_after() {
    let room = Room::open(Stage::default().file("a.txt", "one\ntwo\n")).await;
    let edit = json!({ "path": "a.txt", "old_string": "two", "new_string": "2" });
    let events = room.events("edit_file", edit).await;
    let preview = events.iter().find_map(|event| match &event.kind {
        EventKind::ToolCall { preview, .. } => Some(preview.clone()),
        _ => None,
    });
    expect![[r#"
        a.txt: changed (+1 -1)
        --- a/a.txt
        +++ b/a.txt
        @@ -1,2 +1,2 @@
         one
        -two
        +2
    "#]]
    .assert_eq(&preview.unwrap());
    let display = events.iter().find_map(|event| match &event.kind {
        EventKind::ToolResult { message, .. } => message.metadata().get("display").cloned(),
        _ => None,
    });
    expect![[r#"{"type":"diff","path":"a.txt","diff":"--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n","files":[{"path":"a.txt","change":"changed","added":1,"removed":1}]}"#]]
    .assert_eq(&display.unwrap().to_string());
}
