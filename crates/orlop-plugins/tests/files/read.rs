use crate::Room;
use crate::stage::*;
use expect_test::{Expect, expect};
use orlop_app::EventKind;
use orlop_testkit::scripted::ScriptedProvider;
use serde_json::{Value, json};

async fn check(content: impl AsRef<[u8]>, input: Value, expected: Expect) {
    let room = Room::open(Stage::default().file("a.txt", content)).await;
    let mut input = input;
    input["path"] = json!("a.txt");
    // The line in front keeps the indentation of the others.
    expected.assert_eq(&format!("a.txt\n{}", room.call("read_file", input).await));
}

#[tokio::test] // M-28
async fn lines_have_numbers_and_ranges() {
    let five = "one\ntwo\nthree\nfour\nfive\n";
    check(
        five,
        json!({}),
        expect![[r#"
            a.txt
                 1	one
                 2	two
                 3	three
                 4	four
                 5	five
        "#]],
    )
    .await;
    check(
        five,
        json!({ "offset": 2, "limit": "2" }),
        expect![[r#"
            a.txt
                 2	two
                 3	three
            (lines 2 to 3 of 5; go on with offset 4)
        "#]],
    )
    .await;
    check(
        five,
        json!({ "byte_offset": 4, "limit": 1 }),
        expect![[r#"
            a.txt
            two
            (bytes 4 to 8 of 24; go on with byte_offset 8)
        "#]],
    )
    .await;
    check(
        five,
        json!({ "offset": 9 }),
        expect![[r#"
        a.txt
        a.txt has 5 lines; line 9 is beyond its end"#]],
    )
    .await;
    check(
        "",
        json!({}),
        expect![[r#"
        a.txt
        a.txt is empty"#]],
    )
    .await;
}

#[tokio::test]
async fn marks_and_line_ends_are_not_shown() {
    check(
        b"\xef\xbb\xbfone\r\ntwo",
        json!({}),
        expect![[r#"
            a.txt
                 1	one
                 2	two
        "#]],
    )
    .await;
    check(
        b"caf\xe9\n",
        json!({}),
        expect![[r#"
            a.txt
                 1	caf�
        "#]],
    )
    .await;
}

#[tokio::test]
async fn long_texts_are_cut_and_it_is_told_how_to_go_on() {
    let room = Room::open(
        Stage::default()
            .file("long", "x\n".repeat(3_000))
            .file("wide", format!("{}\nshort\n", "ä".repeat(5_000))),
    )
    .await;
    let long = room.call("read_file", json!({ "path": "long" })).await;
    assert!(long.ends_with("  2000\tx\n(lines 1 to 2000 of 3000; go on with offset 2001)\n"));
    let wide = room.call("read_file", json!({ "path": "wide" })).await;
    assert!(wide.starts_with("     1\tääää"), "{wide}");
    assert!(wide.ends_with("ä ... (cut; the line has 9.8 KiB)\n     2\tshort\n(1 long lines were cut after 2000 bytes)\n"), "{}", &wide[wide.len() - 200..]);
    let rest = room.call("read_file", json!({ "path": "long", "offset": 2_001 })).await;
    assert!(rest.ends_with("  3000\tx\n"));
}

/// A sparse file: 10 GB that take no room on the disk.
#[tokio::test]
async fn ten_gigabytes_are_read_by_range() {
    let stage = Stage::default().file("huge.log", "first\nsecond\nthird\n");
    let file = std::fs::OpenOptions::new().write(true).open(stage.work().join("huge.log")).unwrap();
    let head = "a line of the log\n".repeat(1_000);
    std::os::unix::fs::FileExt::write_all_at(&file, head.as_bytes(), 0).unwrap();
    file.set_len(10 * 1024 * 1024 * 1024).unwrap();
    let end = "\nthe last line\n";
    let at = 10 * 1024 * 1024 * 1024 - end.len() as u64;
    std::os::unix::fs::FileExt::write_all_at(&file, end.as_bytes(), at).unwrap();
    let room = Room::open(stage).await;
    let read = async |input| room.call("read_file", input).await;
    expect![[r#"
           999	a line of the log
        (lines 999 to 999 (10.0 GiB); go on with offset 1000)
    "#]]
    .assert_eq(&read(json!({ "path": "huge.log", "offset": 999, "limit": 1 })).await);
    expect![[r#"
        the last line
    "#]]
    .assert_eq(&read(json!({ "path": "huge.log", "byte_offset": at + 1 })).await);
    let edit = json!({ "path": "huge.log", "old_string": "a", "new_string": "b" });
    let refused = room.call("edit_file", edit).await;
    assert!(refused.contains("has 10.0 GiB and is too large to be changed here"), "{refused}");
}

#[tokio::test]
async fn pictures_go_to_models_that_see() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let stage = Stage::default().file("shot.png", png);
    let room = Room::open(stage).await;
    let text = room.call("read_file", json!({ "path": "shot.png" })).await;
    expect!["shot.png is a picture (image/png, 16 bytes); this model cannot look at pictures"]
        .assert_eq(&text);
    let mut stage = Stage::default().file("shot.png", png);
    stage.model = ScriptedProvider::new("scripted").tags(&["vision"]);
    stage.plugins =
        orlop_app::Plugins::new().provider(std::sync::Arc::new(stage.model.clone()), vec![]);
    let room = Room::open(stage).await;
    let events = room.events("read_file", json!({ "path": "shot.png" })).await;
    let parts = events.iter().find_map(|event| match &event.kind {
        EventKind::ToolResult { message, .. } => Some(message.multipart_content().to_vec()),
        _ => None,
    });
    expect![[r#"[{"type":"image","data":"iVBORw0KGgoAAAANSUhEUg==","media_type":"image/png","name":"shot.png"}]"#]]
        .assert_eq(&serde_json::to_string(&parts.unwrap()).unwrap());
}
