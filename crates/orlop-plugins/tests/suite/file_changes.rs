//! What turns did to files, and taking it back.

use crate::stage::*;
use expect_test::{Expect, expect};
use orlop_app::{Application, EventKind, Request};
use orlop_core::{ActionCall, Context, Manifest, Map, Value};
use orlop_plugins::{FileChanges, Files, Shell, Watch};
use orlop_testkit::scripted::{ScriptedReply, ScriptedTool};
use proptest::prelude::*;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

struct Room {
    stage: Stage,
    app: Application,
}

impl Room {
    async fn open(stage: Stage) -> Self {
        let stage = stage.tool(Files::default()).application(FileChanges);
        let app = stage.start().await;
        Self { stage, app }
    }

    /// A turn of request `id` with these calls.
    async fn turn(&self, id: &str, calls: &[(&str, &str, Value)]) -> Vec<String> {
        for call in calls {
            self.stage.model.reply(ScriptedReply::calls(std::slice::from_ref(call)));
        }
        self.stage.model.reply(ScriptedReply::text(&["done"]));
        let request = Request { request_id: Some(id.to_owned()), ..ask("s", "go") };
        results(&events_of(&self.app, request).await)
    }

    async fn action(&self, action: &str, request: Option<&str>) -> Map {
        let mut params = Map::from_iter([("session_id".to_owned(), json!("s"))]);
        if let Some(request) = request {
            params.insert("request_id".to_owned(), json!(request));
        }
        let call = ActionCall { plugin: "file_changes".into(), action: action.into(), params };
        self.app.execute_action(call, None).await.unwrap()
    }

    async fn undo(&self) -> String {
        let result = self.action("undo_files", None).await;
        result["message"].as_str().unwrap().to_owned()
    }

    fn has(&self, path: &str) -> bool {
        self.stage.work().join(path).exists()
    }
}

fn write(path: &str, content: &str) -> (&'static str, &'static str, Value) {
    ("c", "write_file", json!({ "path": path, "content": content }))
}

fn edit(path: &str, old: &str, new: &str) -> (&'static str, &'static str, Value) {
    ("c", "edit_file", json!({ "path": path, "old_string": old, "new_string": new }))
}

fn said(expected: Expect, text: &str) {
    expected.assert_eq(text);
}

#[tokio::test]
async fn turns_are_undone_one_after_another() {
    let room = Room::open(Stage::default().file("a.txt", "one\n").file("b.txt", "b\n")).await;
    let path = room.stage.work().join("a.txt");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    room.turn("r1", &[edit("a.txt", "one", "two"), write("new/c.txt", "c\n")]).await;
    let delete = "*** Begin Patch\n*** Delete File: b.txt\n*** End Patch";
    let patch = ("c", "apply_patch", json!({ "patch": delete }));
    room.turn("r2", &[edit("a.txt", "two", "three"), edit("a.txt", "three", "four"), patch]).await;
    assert_eq!(room.stage.read("a.txt"), "four\n");

    let listed = Value::Object(room.action("list_file_changes", None).await).to_string();
    let listed = listed.replace(&format!("{}/", room.stage.work().display()), "");
    expect![[r#"{"turns":[{"request_id":"r1","undone":false,"files":[{"path":"a.txt","change":"changed","by":["edit_file"]},{"path":"new/c.txt","change":"new","by":["write_file"]}]},{"request_id":"r2","undone":false,"files":[{"path":"a.txt","change":"changed","by":["edit_file"]},{"path":"b.txt","change":"removed","by":["apply_patch"]}]}],"message":"2 turns have changed files"}"#]]
    .assert_eq(&listed);

    said(
        expect![[r#"
        restored a.txt
        restored b.txt"#]],
        &room.undo().await,
    );
    assert_eq!(
        (room.stage.read("a.txt"), room.stage.read("b.txt")),
        ("two\n".into(), "b\n".into())
    );
    said(
        expect![[r#"
        restored a.txt
        removed new/c.txt, which the turn had made
        removed the folder new, which the turn had made"#]],
        &room.undo().await,
    );
    assert_eq!(room.stage.read("a.txt"), "one\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert!(!room.has("new"));
    said(
        expect!["no turn of this session has changed files that could be put back"],
        &room.undo().await,
    );
    // Undoing what is undone changes nothing.
    let again = room.action("undo_files", Some("r1")).await;
    assert_eq!(again["files"][0]["status"], "unchanged");
}

#[tokio::test]
async fn folders_go_only_if_the_turn_made_them_and_nothing_is_left_in_them() {
    let room = Room::open(Stage::default().file("old/x", "x\n")).await;
    let calls = [
        write("a/b/one.txt", "1\n"),
        write("a/b/two.txt", "2\n"),
        write("kept/new.txt", "n\n"),
        write("old/y.txt", "y\n"),
    ];
    room.turn("r1", &calls).await;
    std::fs::write(room.stage.work().join("kept/mine"), "").unwrap();
    std::fs::remove_file(room.stage.work().join("old/x")).unwrap();
    said(
        expect![[r#"
            removed a/b/one.txt, which the turn had made
            removed a/b/two.txt, which the turn had made
            removed kept/new.txt, which the turn had made
            removed old/y.txt, which the turn had made
            removed the folder a/b, which the turn had made
            removed the folder a, which the turn had made"#]],
        &room.undo().await,
    );
    assert!(!room.has("a") && room.has("kept/mine") && room.has("old"));
}

#[tokio::test]
async fn what_the_user_changed_since_is_left_alone() {
    let room = Room::open(Stage::default().file("a.txt", "one\n").file("b.txt", "b\n")).await;
    room.turn("r1", &[edit("a.txt", "one", "two"), edit("b.txt", "b", "c"), write("n", "n")]).await;
    std::fs::write(room.stage.work().join("a.txt"), "two\nmine\n").unwrap();
    std::fs::write(room.stage.work().join("n"), "mine").unwrap();
    said(
        expect![[r#"
        skipped a.txt: it was changed since
        restored b.txt
        skipped n: it was changed since"#]],
        &room.undo().await,
    );
    assert_eq!(room.stage.read("a.txt"), "two\nmine\n");
    assert_eq!(room.stage.read("n"), "mine");
    // A turn in the middle stays if a later one changed the same file.
    // The model must see what undoing did before it goes on.
    let refused = room.turn("r2", &[edit("b.txt", "b", "d")]).await;
    assert!(refused[0].contains("read it again"), "{refused:?}");
    let read = ("c", "read_file", json!({ "path": "b.txt" }));
    room.turn("r2b", &[read, edit("b.txt", "b", "d")]).await;
    room.turn("r3", &[edit("b.txt", "d", "e")]).await;
    let skipped = room.action("undo_files", Some("r2b")).await;
    assert_eq!(skipped["files"][0]["reason"], "it was changed since");
    let unknown = ActionCall {
        plugin: "file_changes".into(),
        action: "undo_files".into(),
        params: Map::from_iter([
            ("session_id".into(), json!("s")),
            ("request_id".into(), json!("r9")),
        ]),
    };
    let error = room.app.execute_action(unknown, None).await.unwrap_err();
    assert_eq!(error.message(), "nothing is kept of file changes by request \"r9\"");
}

#[tokio::test]
async fn a_change_by_the_user_between_two_steps_survives() {
    let room = Room::open(Stage::default().file("a.txt", "one\n")).await;
    let path = room.stage.work().join("a.txt");
    let meddle = ScriptedTool::new("user").offering(&["user"]).execute_tool(move |_, _| {
        std::fs::write(&path, "two\nmine\n").unwrap();
        Ok(orlop_core::types::ToolReport::ok("did"))
    });
    let Room { stage, .. } = room;
    let stage = stage.tool(meddle);
    let app = stage.start().await;
    let room = Room { stage, app };
    let calls = [
        edit("a.txt", "one", "two"),
        ("c", "user", json!({})),
        ("c", "read_file", json!({ "path": "a.txt" })),
        edit("a.txt", "two", "three"),
    ];
    room.turn("r1", &calls).await;
    assert_eq!(room.stage.read("a.txt"), "three\nmine\n");
    said(expect!["restored a.txt"], &room.undo().await);
    assert_eq!(room.stage.read("a.txt"), "two\nmine\n");
}

#[tokio::test]
async fn what_is_kept_is_private_and_goes_with_the_session() {
    let room = Room::open(Stage::default().file("a.txt", "one\n")).await;
    room.turn("r1", &[edit("a.txt", "one", "two")]).await;
    let folder = room.stage.home().join("file_changes/local/local/s");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 2);
    assert!(files.iter().all(|file| mode(file) == 0o600));
    let fork = room.app.fork_session("s", None, None).await.unwrap();
    let params = Map::from_iter([("session_id".to_owned(), json!(fork.session.id()))]);
    let list =
        ActionCall { plugin: "file_changes".into(), action: "list_file_changes".into(), params };
    assert_eq!(room.app.execute_action(list, None).await.unwrap()["turns"], json!([]));
    room.app.delete_session("s", None).await.unwrap();
    assert!(!folder.exists());
}

/// A tool that does to the working folder what a command could.
fn command(
    watch: Watch,
    change: impl Fn(&std::path::Path) + Send + Sync + Clone + 'static,
) -> CommandTool {
    CommandTool { watch, change: std::sync::Arc::new(change) }
}

struct CommandTool {
    watch: Watch,
    change: std::sync::Arc<dyn Fn(&std::path::Path) + Send + Sync>,
}

impl orlop_core::Plugin for CommandTool {
    fn manifest(&self) -> Manifest {
        Manifest::new("command", "1.0.0")
    }
}

impl orlop_core::Tool for CommandTool {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a orlop_core::hooks::ToolSchemasInput,
        _: &'a Context,
    ) -> orlop_core::Answer<'a, Vec<Map>> {
        let schema = json!({ "name": "command", "parameters": { "type": "object" } });
        orlop_core::Answer::ok(schema.as_object().cloned().into_iter().collect())
    }

    fn execute_tool<'a>(
        &'a self,
        _: &'a orlop_core::hooks::ToolInput,
        cx: &'a Context,
    ) -> orlop_core::Answer<'a, orlop_core::types::ToolReport> {
        orlop_core::Answer::later(async move {
            let watched = self.watch.begin(cx, "command").await;
            (self.change)(orlop_plugins::Workspace::of(cx)?.root());
            let note = watched.end().await;
            Ok(orlop_core::types::ToolReport::ok(note.unwrap_or_else(|| "all".to_owned())))
        })
    }
}

#[tokio::test]
async fn what_a_command_changed_is_undone_too() {
    let stage = Stage::default()
        .file(".gitignore", "target/\n")
        .file("a.txt", "one\n")
        .file("gone.txt", "gone\n")
        .file("same.txt", "same\n")
        .file("large.bin", vec![1; 300 * 1024])
        .file("target/out", "built\n");
    let command = command(Watch::default(), |work| {
        std::fs::write(work.join("a.txt"), "two\n").unwrap();
        std::fs::write(work.join("same.txt"), "same\n").unwrap();
        std::fs::write(work.join("made.txt"), "made\n").unwrap();
        std::fs::write(work.join("large.bin"), vec![2; 300 * 1024]).unwrap();
        std::fs::write(work.join("target/out"), "rebuilt\n").unwrap();
        let _ = std::fs::remove_file(work.join("gone.txt"));
    });
    let room = Room::open(stage.tool(command)).await;
    let said = room.turn("r1", &[("c", "command", json!({}))]).await;
    expect!["1 changed files are too large, or too many, to be put back by an undo"]
        .assert_eq(&said[0]);
    expect![[r#"
        restored a.txt
        removed made.txt, which the turn had made
        restored gone.txt"#]]
    .assert_eq(&room.undo().await);
    assert_eq!(room.stage.read("a.txt"), "one\n");
    assert_eq!(room.stage.read("gone.txt"), "gone\n");
    assert_eq!(room.stage.read("target/out"), "rebuilt\n");
    // Content that is known from before is found again after an undo.
    room.turn("r2", &[("c", "command", json!({}))]).await;
    room.undo().await;
    assert_eq!(room.stage.read("a.txt"), "one\n");
}

#[tokio::test]
async fn the_shell_is_watched_also_when_it_is_cancelled() {
    let room = Room::open(Stage::default().file("a.txt", "one\n").tool(Shell::default())).await;
    let run = |command: &str| ("c", "shell", json!({ "command": command }));
    room.turn("r1", &[run("echo two > a.txt; mkdir new; echo x > new/b.txt; exit 3")]).await;
    let command = "rm a.txt; echo gone; sleep 600";
    room.stage.model.reply(ScriptedReply::calls(&[run(command)]));
    let request = Request { request_id: Some("r2".to_owned()), ..ask("s", "go") };
    let mut handle = room.app.send_request(request).await.unwrap();
    while let Some(event) = handle.next().await {
        if let EventKind::ToolPartial { .. } = &event.kind {
            handle.cancel("enough").await.unwrap();
        }
    }
    let noticed = async {
        while room.action("list_file_changes", None).await["turns"].as_array().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), noticed).await.unwrap();
    said(expect!["restored a.txt"], &room.undo().await);
    assert_eq!(room.stage.read("a.txt"), "two\n");
    said(
        expect![[r#"
            restored a.txt
            removed new/b.txt, which the turn had made"#]],
        &room.undo().await,
    );
    assert_eq!(room.stage.read("a.txt"), "one\n");
}

#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    Edit(usize, u8, String),
    Delete(usize),
}

fn changes() -> impl Strategy<Value = Vec<Vec<Change>>> {
    let file = 0..4usize;
    let text = prop::collection::vec(prop::sample::select(b"ab\r\n\xc3\xa9".to_vec()), 0..12);
    let change = prop_oneof![
        (file.clone(), text).prop_map(|(file, text)| Change::Write(file, text)),
        (file.clone(), prop::sample::select(b"ab".to_vec()), "[xy\n]{0,3}")
            .prop_map(|(file, old, new)| Change::Edit(file, old, new)),
        file.prop_map(Change::Delete),
    ];
    prop::collection::vec(prop::collection::vec(change, 1..4), 1..4)
}

fn snapshot(stage: &Stage) -> Vec<Option<Vec<u8>>> {
    (0..4).map(|file| std::fs::read(stage.work().join(format!("f{file}"))).ok()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever turns did, undoing them one by one gives the bytes back.
    #[test]
    fn random_edits_are_undone_to_the_byte(turns in changes()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let stage = Stage::default().file("f0", "a\r\nb\r\n").file("f1", "\u{feff}ab\n").file("f2", "");
            let room = Room::open(stage).await;
            let mut before = Vec::new();
            for (index, turn) in turns.iter().enumerate() {
                let known = snapshot(&room.stage);
                let mut calls = Vec::new();
                for change in turn {
                    let call = match change {
                        Change::Write(file, text) => {
                            calls.push(("c", "read_file", json!({ "path": format!("f{file}") })));
                            write(&format!("f{file}"), &String::from_utf8_lossy(text))
                        }
                        Change::Edit(file, old, new) => ("c", "edit_file", json!({
                            "path": format!("f{file}"), "old_string": char::from(*old).to_string(),
                            "new_string": new, "replace_all": true,
                        })),
                        Change::Delete(file) => ("c", "apply_patch", json!({
                            "patch": format!("*** Begin Patch\n*** Delete File: f{file}\n*** End Patch"),
                        })),
                    };
                    calls.push(call);
                }
                room.turn(&format!("r{index}"), &calls).await;
                let listed = room.action("list_file_changes", None).await;
                let last = listed["turns"].as_array().unwrap().last().cloned();
                if last.is_some_and(|turn| turn["request_id"] == format!("r{index}")) {
                    before.push(known);
                } else {
                    assert_eq!(known, snapshot(&room.stage));
                }
            }
            while let Some(known) = before.pop() {
                room.undo().await;
                assert_eq!(snapshot(&room.stage), known);
            }
        });
    }
}
