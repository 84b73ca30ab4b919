use crate::Room;
use crate::stage::*;
use expect_test::expect;
use orlop_app::EventKind;
use serde_json::json;
use std::time::{Duration, SystemTime};

fn tree() -> Stage {
    let stage = Stage::default()
        .file(".gitignore", "target/\n*.log\n")
        .file(".git/config", "needle\n")
        .file(".github/ci.yml", "run: needle\n")
        .file("src/main.rs", "fn main() {\n    needle();\n}\n")
        .file("src/deep/lib.rs", "// a Needle\nfn needle() {}\n// end\n// more\n// needle\n")
        .file("target/out.rs", "needle\n")
        .file("debug.log", "needle\n")
        .file("image.bin", b"needle\0\n");
    for (age, path) in ["src/main.rs", "src/deep/lib.rs", ".github/ci.yml"].iter().enumerate() {
        let file = std::fs::File::options().write(true).open(stage.work().join(path)).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age as u64);
        file.set_modified(time).unwrap();
    }
    stage
}

#[tokio::test]
async fn folders_are_listed_without_what_git_ignores() {
    let room = Room::open(tree()).await;
    std::os::unix::fs::symlink("src/main.rs", room.stage.work().join("link")).unwrap();
    expect![[r#"
        .github/
        .gitignore (14 bytes)
        image.bin (8 bytes)
        link -> src/main.rs
        src/
    "#]]
    .assert_eq(&room.call("list_files", json!({})).await);
    expect![[r#"
        deep/
        deep/lib.rs (52 bytes)
        main.rs (28 bytes)
    "#]]
    .assert_eq(&room.call("list_files", json!({ "path": "src", "depth": 3 })).await);
    expect![[r#"
        .github/
        .gitignore (14 bytes)
        (5 more are not shown; list a folder in it, or raise limit)
    "#]]
    .assert_eq(&room.call("list_files", json!({ "ignored": true, "limit": 2 })).await);
    expect!["src/main.rs is no folder; give a folder as path"]
        .assert_eq(&room.call("list_files", json!({ "path": "src/main.rs" })).await);
}

#[tokio::test]
async fn files_are_found_by_pattern_the_newest_first() {
    let room = Room::open(tree()).await;
    let find = async |input| room.call("find_files", input).await;
    expect![[r#"
        src/main.rs
        src/deep/lib.rs
    "#]]
    .assert_eq(&find(json!({ "pattern": "*.rs" })).await);
    expect![[r#"
        src/main.rs
    "#]]
    .assert_eq(&find(json!({ "pattern": "src/*.rs" })).await);
    expect![[r#"
        src/main.rs
        (the newest 1 of 3; narrow the pattern, or raise limit)
    "#]]
    .assert_eq(&find(json!({ "pattern": "**/*.{rs,yml}", "limit": 1 })).await);
    expect![[r#"
        no file matches "*.zig"
        (files that .gitignore names are left out; ignored: true looks at them)
    "#]]
    .assert_eq(&find(json!({ "pattern": "*.zig" })).await);
    let wrong = find(json!({ "pattern": "{a" })).await;
    assert!(wrong.starts_with("\"{a\" is no pattern for files:"), "{wrong}");
}

#[tokio::test]
async fn content_is_searched_with_context_names_or_counts() {
    let room = Room::open(tree()).await;
    let search = async |input| room.call("search_files", input).await;
    expect![[r#"
        .github/ci.yml
        1: run: needle

        src/deep/lib.rs
        2: fn needle() {}
        5: // needle

        src/main.rs
        2:     needle();
        (4 matching lines in 3 files of 5 searched; 1 binary files skipped)
    "#]]
    .assert_eq(&search(json!({ "pattern": "needle" })).await);
    expect![[r#"
        src/deep/lib.rs
        1: // a Needle
        2: fn needle() {}
        3- // end
        4- // more
        5: // needle
        (3 matching lines in 1 file of 1 searched)
    "#]]
    .assert_eq(
        &search(
            json!({ "pattern": "NEEDLE", "ignore_case": true, "context": 1, "path": "src/deep" }),
        )
        .await,
    );
    expect![[r#"
        src/deep/lib.rs
        src/main.rs
        (2 files of 2 searched)
    "#]]
    .assert_eq(&search(json!({ "pattern": "needle", "glob": "*.rs", "output": "files" })).await);
    expect![[r#"
        src/deep/lib.rs: 2
        src/main.rs: 1
        (3 matching lines in 2 files of 2 searched)
    "#]]
    .assert_eq(&search(json!({ "pattern": "needle", "glob": "*.rs", "output": "count" })).await);
    expect![[r#"
        .github/ci.yml
        1: run: needle
        (1 matching line in 1 file of 1 searched; stopped there; there may be more: narrow the pattern, the path or the glob, or raise limit)
    "#]]
    .assert_eq(&search(json!({ "pattern": "needle", "limit": 1 })).await);
    expect![[r#"
        src/main.rs
        1: fn main() {
        2:     needle();
        (1 matching line in 1 file of 1 searched)
    "#]]
    .assert_eq(
        &search(json!({ "pattern": "main\\(\\) \\{\\n\\s+needle", "multiline": true, "path": "src/main.rs" })).await,
    );
    expect![[r#"
        nothing matches
        (5 files searched; 1 binary files skipped)
    "#]]
    .assert_eq(&search(json!({ "pattern": "f(", "literal": true })).await);
    let wrong = search(json!({ "pattern": "f(" })).await;
    assert!(wrong.contains("to look for the text as it is, set literal"), "{wrong}");
}

#[tokio::test] // M-28
async fn a_long_search_tells_how_far_it_is() {
    let stage = Stage::default();
    for folder in 0..25 {
        let path = stage.work().join(format!("d{folder}"));
        std::fs::create_dir(&path).unwrap();
        for file in 0..100 {
            std::fs::write(path.join(format!("f{file}")), "x\n").unwrap();
        }
    }
    let room = Room::open(stage).await;
    let events = room.events("search_files", json!({ "pattern": "nothing" })).await;
    let told: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolPartial { part, .. } => Some(part.to_string()),
            _ => None,
        })
        .collect();
    expect![[r#"
        {"text":"1000 files and folders looked at, 0 matching lines"}
        {"text":"2000 files and folders looked at, 0 matching lines"}"#]]
    .assert_eq(&told.join("\n"));
    expect![[r#"
        nothing matches
        (2500 files searched)
    "#]]
    .assert_eq(&results(&events).pop().unwrap());
}
