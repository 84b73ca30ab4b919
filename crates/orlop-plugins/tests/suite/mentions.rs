//! Completions for files, folders and commands, and what an accepted one becomes.

use crate::stage;

use crate::stage::Stage;
use expect_test::expect;
use orlop_app::*;
use orlop_core::*;
use orlop_plugins::{Activity, Mentions, SystemMessage};
use serde_json::json;

fn with_mentions() -> Stage {
    Stage::default().feature(Mentions::default())
}

async fn offered(app: &Application, text: &str) -> Vec<Map> {
    app.completions("default", None, text).await.unwrap()
}

/// What is shown of the completions.
async fn shown(app: &Application, text: &str) -> String {
    let offered = offered(app, text).await;
    let shown = offered.iter().map(|item| item["display"].as_str().unwrap().to_owned());
    shown.collect::<Vec<_>>().join(" ")
}

/// What the best completion becomes.
async fn accepted(app: &Application, text: &str) -> Result<String> {
    let best = offered(app, text).await.remove(0);
    app.apply_completion("default", None, text, best).await
}

#[tokio::test]
async fn files_and_folders_are_found_by_a_few_letters() {
    let stage = with_mentions()
        .file("src/main.rs", "fn main() {}\n")
        .file("src/commands/model.rs", "")
        .file("docs/my notes.md", "")
        .file(".github/ci.yml", "")
        .file(".git/HEAD", "")
        .file(".gitignore", "target/\n*.log\n")
        .file("target/debug/main", "")
        .file("a.log", "");
    let app = stage.start().await;
    expect!["src/ docs/ .github/ .gitignore src/main.rs src/commands/ .github/ci.yml docs/my notes.md src/commands/model.rs"]
        .assert_eq(&shown(&app, "look at @").await);
    assert_eq!(shown(&app, "look at @main").await, "src/main.rs");
    assert_eq!(shown(&app, "@cmod").await, "src/commands/model.rs docs/my notes.md");
    assert_eq!(shown(&app, "mail me@main").await, "");
    let item = offered(&app, "look at @mai").await.remove(0);
    expect![[r#"{"plugin":"mentions","replacement":"@src/main.rs","start":-4,"display":"src/main.rs","display_meta":"file","path":"src/main.rs"}"#]]
        .assert_eq(&json!(item).to_string());
    let item = offered(&app, "see @\"my no").await.remove(0);
    assert_eq!(
        (&item["replacement"], &item["start"]),
        (&json!("@\"docs/my notes.md\""), &json!(-7))
    );
}

#[tokio::test]
async fn a_file_becomes_its_content_and_a_folder_its_list() {
    let stage = with_mentions()
        .file("src/main.rs", "fn main() {}\n")
        .file("src/fence.md", "```\ncode\n```")
        .file("src/blob.bin", b"\0\xff\0")
        .file("src/long.txt", "x".repeat(70_000))
        .file("src/inner/a", "");
    let app = stage.start().await;
    expect![[r#"
        File src/main.rs:
        ```rs
        fn main() {}
        ```
    "#]]
    .assert_eq(&accepted(&app, "@main.rs").await.unwrap());
    expect![[r#"
        File src/fence.md:
        ````md
        ```
        code
        ```
        ````
    "#]]
    .assert_eq(&accepted(&app, "@fence").await.unwrap());
    expect![[r#"
        Folder src/:
        blob.bin
        fence.md
        inner/
        long.txt
        main.rs
    "#]]
    .assert_eq(&accepted(&app, "@src/").await.unwrap());
    assert_eq!(accepted(&app, "@blob").await.unwrap(), "File src/blob.bin (3 bytes, not text)\n");
    let long = accepted(&app, "@long").await.unwrap();
    assert!(long.ends_with("```\n[4464 bytes more are in the file]\n"));
}

#[cfg(unix)]
#[tokio::test]
async fn nothing_outside_of_the_workspace_is_inserted() {
    let stage = with_mentions().file("../secret.txt", "do not tell").file("a/b", "");
    std::os::unix::fs::symlink("../../secret.txt", stage.work().join("a/link")).unwrap();
    let app = stage.start().await;
    let error = accepted(&app, "@link").await.unwrap_err();
    assert_eq!(error.message(), "a/link lies outside of the folders in use");
    // What a surface hands back need not be what was offered.
    let forged = |path: &str| {
        let fields = json!({ "plugin": "mentions", "path": path });
        fields.as_object().unwrap().clone()
    };
    for path in ["../secret.txt", "/etc/passwd", "a/../../secret.txt"] {
        assert!(app.apply_completion("default", None, "", forged(path)).await.is_err(), "{path}");
    }
    let gone = app.apply_completion("default", None, "", forged("a/none")).await.unwrap_err();
    assert!(gone.message().starts_with("a/none: "), "{}", gone.message());
    // The completion of another plugin is not ours.
    let other = Map::from_iter([("path".to_owned(), "a/b".into())]);
    assert_eq!(app.apply_completion("default", None, "", other).await.unwrap(), "");
}

#[tokio::test]
async fn a_name_with_a_line_end_is_not_offered_and_does_no_harm() {
    let stage = with_mentions().file("odd\nname", "").file("even", "");
    let app = stage.start().await;
    assert_eq!(shown(&app, "@").await, "even");
}

#[tokio::test]
async fn a_mention_that_is_sent_as_it_is_brings_the_file_along() {
    let stage = Stage::says(&["ok", "ok"])
        .host(Mentions::default())
        .file("src/main.rs", "fn main() {}\n")
        .file("my notes.md", "Tides.")
        .file("../secret.txt", "do not tell");
    let host = stage.open().await;
    let text = "explain @src/main.rs, @\"my notes.md\", @none and @../secret.txt";
    stage::chat_to_end(&host, stage::chat("s", text)).await;
    expect![[r#"
        File src/main.rs:
        ```rs
        fn main() {}
        ```


        File my notes.md:
        ```md
        Tides.
        ```
        |explain @src/main.rs, @"my notes.md", @none and @../secret.txt"#]]
    .assert_eq(&stage.model.last_request());
    // It is part of that request, and of no other.
    stage::chat_to_end(&host, stage::chat("s", "thanks")).await;
    assert!(!stage.model.last_request().contains("fn main"));
}

#[tokio::test]
async fn actions_for_people_are_commands() {
    let activity = Activity::default();
    let stage = with_mentions().feature(SystemMessage::default()).application(activity);
    let app = stage.start().await;
    assert_eq!(shown(&app, "/li").await, "/list_active");
    let item = offered(&app, "/lactive").await.remove(0);
    assert_eq!((&item["replacement"], &item["start"]), (&json!("/list_active "), &json!(-8)));
    app.create_session(NewSession { id: Some("s".into()), ..NewSession::default() }).await.unwrap();
    let with_session = app.completions("default", Some("s"), "/linstr").await.unwrap();
    assert_eq!(with_session[0]["display"], "/list_instructions");
    assert_eq!(shown(&app, "not /li").await, "");
    assert_eq!(app.apply_completion("default", None, "", item).await.unwrap(), "");
}

#[tokio::test]
async fn ten_thousand_files_are_searched_as_one_types() {
    let stage = with_mentions().file("module_7/the_needle.rs", "");
    for folder in 0..100 {
        let folder = stage.work().join(format!("module_{folder}"));
        std::fs::create_dir_all(&folder).unwrap();
        for file in 0..100 {
            std::fs::write(folder.join(format!("part_{file}.rs")), "").unwrap();
        }
    }
    let app = stage.start().await;
    assert_eq!(shown(&app, "@needle").await, "module_7/the_needle.rs");
    assert_eq!(offered(&app, "@p").await.len(), 50);
}
