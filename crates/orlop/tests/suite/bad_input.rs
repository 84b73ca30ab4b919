//! Wrong ids, broken configurations, damaged databases, full disks: the exit code is right, one
//! sentence says what happened and what to do, and nothing that was acknowledged is lost.

use crate::common::{BOUND, Done, Folder, Place, finish};
use futures::StreamExt;
use orlop_testkit::mock_model::Reply;
use orlop_testkit::{Gate, skip};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is wrong in a place.
#[derive(Clone, Copy)]
enum Wrong {
    /// Nothing but the arguments.
    Nothing,
    /// The configuration is this.
    Config(&'static str),
    /// The agent `default` has this line as well: the seventh of the file.
    Line(&'static str),
    /// Something was done to the closed database.
    Database(fn(&Path)),
    /// The database is another file.
    Instead(&'static [u8]),
    /// Neither the database nor its folder can be written.
    ReadOnly,
    /// The disk is full.
    FullDisk,
    /// Files cannot grow.
    SizeLimit,
}

struct Case {
    wrong: Wrong,
    arguments: &'static [&'static str],
    code: i32,
    words: &'static [&'static str],
}

const fn case(
    wrong: Wrong,
    arguments: &'static [&'static str],
    code: i32,
    words: &'static [&'static str],
) -> Case {
    Case { wrong, arguments, code, words }
}

/// A session id of ten thousand characters.
const LONG: &str = match std::str::from_utf8(&[b'a'; 10_000]) {
    Ok(text) => text,
    Err(_) => "",
};
const ID: &[&str] = &["cannot be a session id", "use 1 to 128 letters"];
const NO_SESSION: &[&str] = &["there is no session \"none\"", "`orlop session list` shows"];
const NO_AGENT: &[&str] = &["there is no agent \"none\"", "known: default"];
const NO_ACTION: &[&str] = &["no action \"go\" of plugin \"none\"", "`orlop action list` shows"];
const NO_KEY: &[&str] =
    &["orlop.toml:2:11", "agents.default.api_key", "NOT_SET_KEY is not set", "set NOT_SET_KEY"];
const NO_DATABASE: &[&str] = &["orlop.db is no SQLite database", "move this one away"];
const DAMAGED: &[&str] = &["orlop.db is damaged", "restore it from a backup"];
const FOREIGN: &[&str] = &["database of another program", "choose another file"];
const NEWER: &[&str] = &["written by a newer version", "version 99", "update Orlop"];
const NOT_WRITABLE: &[&str] = &["orlop.db cannot be written", "check the permissions"];
const NO_SPACE: &[&str] = &["orlop.db", "space", "try again"];
const TEXT: &[u8] = b"This file has been something else for a long time, and it is longer than a \
    hundred bytes, so that it could be a database by its length alone.";
const KEY: Wrong = Wrong::Config(
    "[agents.default]\napi_key = \"${env:NOT_SET_KEY}\"\nprovider = \"openai_compatible\"\nmodel = \"m\"\n",
);

const CASES: &[Case] = &[
    // Names of nothing.
    case(Wrong::Nothing, &["session", "show", "none"], 4, NO_SESSION),
    case(Wrong::Nothing, &["session", "export", "none"], 4, NO_SESSION),
    case(Wrong::Nothing, &["session", "fork", "none"], 4, NO_SESSION),
    case(Wrong::Nothing, &["session", "edit", "none", "--remove", "0"], 4, NO_SESSION),
    case(Wrong::Nothing, &["session", "edit", "kept", "--join", "none"], 4, NO_SESSION),
    case(Wrong::Nothing, &["session", "delete", "kept", "none"], 4, NO_SESSION),
    case(Wrong::Nothing, &["session", "switch", "none", "default"], 4, NO_SESSION),
    case(Wrong::Nothing, &["session", "undo", "none"], 4, NO_SESSION),
    case(Wrong::Nothing, &["action", "list", "--session", "none"], 4, NO_SESSION),
    case(Wrong::Nothing, &["session", "switch", "kept", "none"], 4, NO_AGENT),
    case(Wrong::Nothing, &["run", "--agent", "none", "hi"], 4, NO_AGENT),
    case(Wrong::Nothing, &["agent", "show", "none"], 4, NO_AGENT),
    case(Wrong::Nothing, &["tool", "list", "--agent", "none"], 4, NO_AGENT),
    case(Wrong::Nothing, &["model", "list", "--agent", "none"], 4, NO_AGENT),
    case(Wrong::Nothing, &["action", "run", "none", "go"], 4, NO_ACTION),
    case(Wrong::Nothing, &["action", "run", "none", "go", "--session", "kept"], 4, &["no action"]),
    case(Wrong::Nothing, &["trace", "none"], 4, &["there is no request \"none\""]),
    case(Wrong::Nothing, &["trace"], 4, &["no request yet", "`orlop run`"]),
    // Names that cannot be.
    case(Wrong::Nothing, &["session", "show", ""], 2, ID),
    case(Wrong::Nothing, &["session", "show", "../x"], 2, &["\"../x\" cannot be a session id"]),
    case(Wrong::Nothing, &["session", "export", "/etc/passwd"], 2, ID),
    case(Wrong::Nothing, &["session", "delete", "a\\b"], 2, ID),
    case(Wrong::Nothing, &["session", "fork", "kept", "--id-of-fork", ".."], 2, ID),
    case(Wrong::Nothing, &["session", "edit", "kept", "--join", "a b"], 2, ID),
    case(Wrong::Nothing, &["session", "undo", "a\u{1}b"], 2, ID),
    case(Wrong::Nothing, &["run", "--session", "a\nb", "hi"], 2, ID),
    case(Wrong::Nothing, &["run", "--session", "é😀", "hi"], 2, ID),
    case(Wrong::Nothing, &["run", "--session", "a\u{202e}b", "hi"], 2, ID),
    case(Wrong::Nothing, &["run", "--session", LONG, "hi"], 2, ID),
    case(
        Wrong::Nothing,
        &["run", "--request-id", "../x", "hi"],
        2,
        &["\"../x\" cannot be a request id"],
    ),
    case(Wrong::Nothing, &["run", "--request-id", "", "hi"], 2, &["cannot be a request id"]),
    case(Wrong::Nothing, &["trace", "%00"], 2, &["\"%00\" cannot be a request id"]),
    case(
        Wrong::Nothing,
        &["run", "--agent", "../x\u{1b}[31m", "hi"],
        4,
        &["no agent", "known: default"],
    ),
    // Configurations.
    case(
        Wrong::Config("[agents.default\n"),
        &["run", "hi"],
        3,
        &["orlop.toml:1:", "correct the TOML"],
    ),
    case(Wrong::Config("[agents.default\n"), &["session", "list"], 3, &["orlop.toml:1:"]),
    case(Wrong::Config("\u{0}\u{1}"), &["session", "list"], 3, &["orlop.toml:1:"]),
    case(
        Wrong::Config("[agents.default]\nmodle = \"m\"\nprovider = \"openai_compatible\"\n"),
        &["run", "hi"],
        3,
        &["orlop.toml:2:1", "agents.default.modle: unknown key", "did you mean \"model\"?"],
    ),
    case(
        Wrong::Config("[agents.default]\nprovider = \"opanai_compatible\"\n"),
        &["run", "hi"],
        3,
        &[
            "orlop.toml:2:12",
            "no provider \"opanai_compatible\"",
            "did you mean \"openai_compatible\"?",
        ],
    ),
    case(
        Wrong::Line("max_steps = \"many\""),
        &["run", "hi"],
        3,
        &["orlop.toml:6:13", "agents.default.max_steps: expected a whole number", "without quotes"],
    ),
    case(
        Wrong::Config(
            "default_agent = \"none\"\n[agents.default]\nprovider = \"openai_compatible\"\n",
        ),
        &["run", "hi"],
        3,
        &["orlop.toml:1:17", "default_agent: there is no agent \"none\"", "known: default"],
    ),
    case(KEY, &["run", "hi"], 3, NO_KEY),
    case(KEY, &["run", "--session", "kept", "hi"], 3, NO_KEY),
    case(KEY, &["agent", "show"], 3, NO_KEY),
    case(KEY, &["model", "list"], 3, NO_KEY),
    case(Wrong::Config(""), &["run", "hi"], 1, &["\"smollm2\"", "`orlop model pull smollm2`"]),
    case(
        Wrong::Config("[store]\nurl = \"mysql://me:sk-test-0123456789abcdefghij@host/db\"\n"),
        &["session", "list"],
        3,
        &["orlop.toml:2:7: store.url", "begin with \"sqlite:\""],
    ),
    case(
        Wrong::Config(
            "[store]\nurl = \"postgres://me:sk-test-0123456789abcdefghij@127.0.0.1:1/db\"\n",
        ),
        &["session", "list"],
        1,
        &["127.0.0.1:1/db cannot be reached", "check that it runs"],
    ),
    case(
        Wrong::Config("[assets]\nurl = \"s3://bucket\"\n"),
        &["session", "list"],
        3,
        &["assets.url", "use \"file:\""],
    ),
    case(
        Wrong::Nothing,
        &["--config", "none.toml", "session", "list"],
        3,
        &["none.toml: cannot be read", "check the path"],
    ),
    case(
        Wrong::Nothing,
        &["--config", ".", "session", "list"],
        3,
        &["is a folder", "name a TOML file"],
    ),
    case(
        Wrong::Nothing,
        &["--set", "x", "session", "list"],
        3,
        &["\"x\" is not a key and a value", "write --set key=value"],
    ),
    case(
        Wrong::Nothing,
        &["--set", "agents.default.modle=x", "session", "list"],
        3,
        &["--set: agents.default.modle", "did you mean \"model\"?"],
    ),
    // Databases.
    case(Wrong::Instead(TEXT), &["session", "list"], 1, NO_DATABASE),
    case(Wrong::Instead(TEXT), &["run", "hi"], 1, NO_DATABASE),
    case(Wrong::Instead(b"short"), &["session", "list"], 1, NO_DATABASE),
    case(Wrong::Database(truncate), &["session", "list"], 1, DAMAGED),
    case(Wrong::Database(truncate), &["run", "--session", "kept", "hi"], 1, DAMAGED),
    case(Wrong::Database(newer), &["session", "list"], 1, NEWER),
    case(Wrong::Database(newer), &["run", "--session", "kept", "hi"], 1, NEWER),
    case(Wrong::Database(foreign), &["session", "list"], 1, FOREIGN),
    case(Wrong::ReadOnly, &["session", "list"], 1, NOT_WRITABLE),
    case(Wrong::ReadOnly, &["run", "--session", "kept", "hi"], 1, NOT_WRITABLE),
    case(Wrong::FullDisk, &["session", "import", "large.json"], 1, NO_SPACE),
    case(Wrong::FullDisk, &["run", "--session", "kept", "hi"], 1, NO_SPACE),
    case(Wrong::SizeLimit, &["session", "import", "large.json"], 1, NO_SPACE),
    case(Wrong::SizeLimit, &["session", "edit", "kept", "--join", "large"], 1, NO_SPACE),
];

fn truncate(database: &Path) {
    let file = std::fs::OpenOptions::new().write(true).open(database).unwrap();
    file.set_len(file.metadata().unwrap().len() / 3).unwrap();
}

fn newer(database: &Path) {
    let database = rusqlite::Connection::open(database).unwrap();
    database.execute_batch("PRAGMA user_version = 99").unwrap();
}

fn foreign(database: &Path) {
    std::fs::remove_file(database).unwrap();
    let database = rusqlite::Connection::open(database).unwrap();
    database.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
}

/// A small disk, taken away when it is dropped.
struct Disk(PathBuf);

impl Disk {
    /// Only those who may mount have one.
    fn at(folder: &Path) -> Option<Self> {
        std::fs::create_dir_all(folder).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"])
            .arg(folder)
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then(|| Self(folder.to_owned()))
    }

    fn remount(&self, how: &str) {
        let done = Command::new("mount").args(["-o", how]).arg(&self.0).status().unwrap();
        assert!(done.success());
    }

    /// Leaves no space at all.
    fn fill(&self) {
        use std::io::Write;
        let mut file = std::fs::File::create(self.0.join("fill")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    fn free(&self) {
        std::fs::remove_file(self.0.join("fill")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Messages of about a megabyte that do not repeat themselves.
fn large() -> String {
    let text =
        |from: u64| (from..from + 6_000).map(|n| format!("{} ", n * 7919)).collect::<String>();
    let messages: Vec<_> = (0..20)
        .map(|n| serde_json::json!({ "role": "user", "content": text(n * 10_000) }))
        .collect();
    serde_json::json!({ "session_id": "large", "messages": messages }).to_string()
}

/// A place with a session of two messages that were acknowledged, and its export.
async fn place_with_kept(disk: bool) -> (Place, Option<Disk>, String) {
    let place = Place::new("bad").await;
    let disk = if disk { Disk::at(&place.home()) } else { None };
    place.write("large.json", large());
    let kept = r#"{"session_id": "kept", "messages": [
        {"role": "user", "content": "remember"}, {"role": "assistant", "content": "always"}]}"#;
    place.write("kept.json", kept);
    place.run(&["session", "import", "kept.json"]).await.ok();
    let kept = place.run(&["session", "export", "kept"]).await.ok();
    (place, disk, kept)
}

/// One line that says what happened and what to do, and nothing on stdout.
fn check(case: &Case, done: &Done) {
    let name: Vec<&str> = case.arguments.iter().map(|it| it.get(..40).unwrap_or(it)).collect();
    assert_eq!(done.code, Some(case.code), "{name:?}: {done:?}");
    assert_eq!(done.out, "", "{name:?}");
    assert!(done.err.starts_with("orlop: "), "{name:?}: {done:?}");
    assert!(done.err.len() < 600, "{name:?} is answered at length: {}", done.err);
    for word in case.words {
        assert!(done.err.contains(word), "{name:?}: {word:?} is missing in {done:?}");
    }
    // A configuration is told all its problems, one a line.
    let lines = matches!(case.wrong, Wrong::Config(_));
    let odd = |c: char| c.is_control() && !(lines && c == '\n');
    assert!(!done.err.trim_end().contains(odd), "{name:?}: {done:?}");
}

async fn try_case(case: &Case) {
    let needs_disk = matches!(case.wrong, Wrong::ReadOnly | Wrong::FullDisk);
    let (place, disk, kept) = place_with_kept(needs_disk).await;
    let chmod = |file: u32, folder: u32| {
        use std::os::unix::fs::PermissionsExt;
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&place.home(), 0o700);
        set(&place.database(), file);
        set(&place.home(), folder);
    };
    let mut usable = !needs_disk || disk.is_some();
    if disk.is_none() && matches!(case.wrong, Wrong::ReadOnly) {
        // Permissions do as well, where they bind.
        chmod(0o400, 0o500);
        usable = std::fs::OpenOptions::new().append(true).open(place.database()).is_err();
    }
    if !usable {
        // One line for the one test, however many cases it has to leave out.
        static TOLD: std::sync::Once = std::sync::Once::new();
        return TOLD.call_once(|| skip("cases of bad disks", "a disk cannot be mounted"));
    }
    let (config, database) = (place.path().join("orlop.toml"), place.database());
    let good = std::fs::read(&database).unwrap();
    match case.wrong {
        Wrong::Nothing => {}
        Wrong::SizeLimit => {
            let import = ["session", "import", "large.json"];
            if case.arguments != import {
                place.run(&import).await.ok();
            }
        }
        Wrong::Config(text) => std::fs::write(&config, text).unwrap(),
        Wrong::Line(line) => {
            let text = place.config().replace("[agents.other]", &format!("{line}\n[agents.other]"));
            std::fs::write(&config, text).unwrap();
        }
        Wrong::Database(change) => change(&database),
        Wrong::Instead(bytes) => std::fs::write(&database, bytes).unwrap(),
        Wrong::ReadOnly => disk.iter().for_each(|disk| disk.remount("remount,ro")),
        Wrong::FullDisk => disk.iter().for_each(Disk::fill),
    }
    let before = std::fs::read(&database).unwrap();
    let done = match case.wrong {
        Wrong::SizeLimit => {
            // 64 kB; a signal would otherwise end the program.
            let script = "trap '' XFSZ; ulimit -f 128; exec \"$0\" \"$@\"";
            let mut command = place.program("sh");
            command.args(["-c", script, env!("CARGO_BIN_EXE_orlop")]).args(case.arguments);
            finish(command.spawn().unwrap()).await
        }
        _ => place.run(case.arguments).await,
    };
    check(case, &done);
    match case.wrong {
        Wrong::Config(_) | Wrong::Line(_) => std::fs::write(&config, place.config()).unwrap(),
        Wrong::Database(_) | Wrong::Instead(_) => {
            // What cannot be used is left as it is.
            assert!(std::fs::read(&database).unwrap() == before, "{:?}", case.arguments);
            for rest in ["orlop.db-wal", "orlop.db-shm"] {
                let _ = std::fs::remove_file(place.home().join(rest));
            }
            std::fs::write(&database, good).unwrap();
        }
        Wrong::ReadOnly => match &disk {
            Some(disk) => disk.remount("remount,rw"),
            None => chmod(0o600, 0o700),
        },
        Wrong::FullDisk => disk.iter().for_each(Disk::free),
        Wrong::Nothing | Wrong::SizeLimit => {}
    }
    // Nothing is lost, nothing was done, and everything works again.
    assert_eq!(place.times_asked(), 0, "{:?}", case.arguments);
    assert_eq!(place.run(&["session", "export", "kept"]).await.ok(), kept, "{:?}", case.arguments);
    let after = place.run(&["run", "--session", "kept", "again"]).await;
    assert_eq!(after.ok(), "You said: again\n", "{:?}", case.arguments);
}

#[tokio::test] // I-42
async fn bad_input_is_refused_in_a_sentence_and_harms_nothing() {
    futures::stream::iter(CASES).for_each_concurrent(4, try_case).await;
}

/// Waits until a process has opened a file.
async fn has_open(child: &tokio::process::Child, file: &Path) {
    let folder = format!("/proc/{}/fd", child.id().expect("it runs"));
    let waiting = async {
        loop {
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let mut files = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
            if files.any(|open| open == file) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(BOUND, waiting).await.expect("it never opened the file");
}

#[tokio::test]
async fn a_database_that_is_busy_is_waited_for() {
    let (place, _, _) = place_with_kept(false).await;
    for arguments in [
        &["session", "list"][..],
        &["session", "edit", "kept", "--title", "x"],
        &["session", "fork", "kept"],
        &["run", "--session", "kept", "hi"],
    ] {
        let other = rusqlite::Connection::open(place.database()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut child = place.command(arguments).spawn().unwrap();
        has_open(&child, &place.database()).await;
        assert!(child.try_wait().unwrap().is_none(), "{arguments:?} did not wait");
        other.execute_batch("COMMIT").unwrap();
        finish(child).await.ok();
    }
    assert_eq!(place.messages("kept").await.len(), 4);
}

#[tokio::test]
async fn a_disk_that_fills_up_during_a_turn_loses_nothing() {
    let (place, disk, _) = place_with_kept(true).await;
    let Some(disk) = disk else {
        return skip("a disk that fills up during a turn", "a disk cannot be mounted");
    };
    let gate = Gate::new();
    let long = "word ".repeat(50_000);
    place.model.reply(Reply::text(["begun "]).wait(&gate).then_text([long.as_str()]));
    let child = place.command(&["run", "--session", "kept", "hi"]).spawn().unwrap();
    tokio::time::timeout(BOUND, gate.reached()).await.unwrap();
    disk.fill();
    gate.open();
    let done = finish(child).await;
    // The log may have said it before.
    let told = done.err.lines().last().unwrap();
    assert!(done.code == Some(1) && told.starts_with("orlop: the disk with"), "{done:?}");
    assert!(told.ends_with("is full, and nothing was changed; free some space and try again"));
    disk.free();
    let messages = place.messages("kept").await;
    assert_eq!(messages[..3], ["user: remember", "assistant: always", "user: hi"]);
    assert_eq!(place.run(&["run", "--session", "kept", "go on"]).await.ok(), "You said: go on\n");
}

#[tokio::test]
async fn places_that_cannot_be_are_told() {
    let place = Place::new("places").await;
    let folder = Folder::new("file");
    std::fs::write(folder.0.join("file"), "x").unwrap();
    let mut command = place.command(&["session", "list"]);
    let done = finish(command.env("ORLOP_HOME", folder.0.join("file")).spawn().unwrap()).await;
    done.fails(1, &["cannot be created", "check that its folder exists"]);
    let mut command = place.command(&["session", "list"]);
    let done = finish(command.env_remove("ORLOP_HOME").env_remove("HOME").spawn().unwrap()).await;
    done.fails(3, &["neither ORLOP_HOME nor HOME is set", "set ORLOP_HOME"]);
    // A folder where the database belongs.
    std::fs::create_dir_all(place.database()).unwrap();
    place.run(&["session", "list"]).await.fails(1, &["orlop.db cannot be opened", "check"]);
    // An answer that cannot be written is a failure, and is kept all the same.
    std::fs::remove_dir(place.database()).unwrap();
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        let mut command = place.command(&["run", "--session", "s", "hi"]);
        let done = finish(command.stdout(full).spawn().unwrap()).await;
        done.fails(1, &["write the output", "No space left"]);
        assert_eq!(place.messages("s").await.len(), 2);
    }
}
