//! Attempts to leave the sandbox from inside of it, as tools that work on files would make them.

#![cfg(target_os = "linux")]
use crate::stage::*;
use expect_test::{Expect, expect};
use orlop_core::Manifest;
use orlop_core::types::ToolReport;
use orlop_plugins::Sandbox;
use orlop_testkit::scripted::ScriptedTool;
use serde_json::json;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is tried.
type Attempt = Box<dyn Fn() -> io::Result<()> + Send + Sync>;
type Attempts = Vec<(&'static str, Attempt)>;

fn can_be_tested(what: &str) -> bool {
    let support = Sandbox::support();
    if !support.is_there() {
        orlop_testkit::skip(what, &support.to_string());
    }
    support.is_there()
}

/// Makes the attempts in the sandbox of an agent of this stage; one line for each.
async fn check(stage: Stage, attempts: Attempts, expected: Expect) -> Stage {
    if !can_be_tested("the sandbox of files") {
        return stage;
    }
    let attempts = Arc::new(attempts);
    let manifest = Sandbox::settings(Manifest::new("attempt", "1.0.0"));
    let tool = ScriptedTool::with_manifest(manifest).offering(&["attempt"]);
    let tool = tool.execute_tool(move |_, cx| {
        let attempts = attempts.clone();
        let all = move || {
            let told = attempts.iter().map(|(name, attempt)| match attempt() {
                Ok(()) => format!("{name}: done\n"),
                Err(error) => format!("{name}: {}\n", error.kind()),
            });
            told.collect::<String>()
        };
        let done = futures::executor::block_on(Sandbox::of(cx)?.run(all))?;
        Ok(ToolReport::ok(done))
    });
    let stage = stage.tool(tool);
    let app = stage.start().await;
    expected.assert_eq(&run_call(&app, &stage.model, "attempt", json!({})).await);
    stage
}

/// A stage with secrets in its data folder and files around the working folder.
fn stage() -> Stage {
    let mut stage = Stage::default().file("mine.txt", "mine");
    let outside = stage.outside().to_owned();
    fs::write(outside.join("theirs.txt"), "theirs").unwrap();
    fs::write(stage.home().join("credentials.json"), "{}").unwrap();
    fs::create_dir_all(outside.join("person/.ssh")).unwrap();
    fs::write(outside.join("person/.ssh/id"), "key").unwrap();
    fs::write(outside.join("person/notes"), "notes").unwrap();
    let person = outside.join("person").display().to_string();
    stage.vars.insert("HOME".to_owned(), person);
    stage
}

fn read(path: PathBuf) -> Attempt {
    Box::new(move || fs::read(&path).map(drop))
}

fn write(path: PathBuf) -> Attempt {
    Box::new(move || fs::write(&path, "changed"))
}

fn list(path: PathBuf) -> Attempt {
    Box::new(move || fs::read_dir(&path).map(drop))
}

fn make_folder(path: PathBuf) -> Attempt {
    Box::new(move || fs::create_dir(&path))
}

fn cut(path: PathBuf) -> Attempt {
    Box::new(move || fs::OpenOptions::new().write(true).open(&path)?.set_len(0))
}

fn remove(path: PathBuf) -> Attempt {
    Box::new(move || fs::remove_file(&path))
}

fn rename(from: PathBuf, to: PathBuf) -> Attempt {
    Box::new(move || fs::rename(&from, &to))
}

fn link(from: PathBuf, to: PathBuf) -> Attempt {
    Box::new(move || fs::hard_link(&from, &to))
}

#[tokio::test] // M-28
async fn the_workspace_is_written_and_secrets_are_not_read() {
    let stage = stage();
    let (work, outside, home) = (stage.work(), stage.outside().to_owned(), stage.home());
    symlink(outside.join("theirs.txt"), work.join("to_theirs")).unwrap();
    symlink(home.join("credentials.json"), work.join("to_logins")).unwrap();
    symlink("../home", work.join("to_home")).unwrap();
    let held = fs::File::open(home.join("credentials.json")).unwrap();
    let held = std::os::fd::AsRawFd::as_raw_fd(&held);
    let theirs = outside.join("theirs.txt");
    let attempts: Attempts = vec![
        ("write in the workspace", write(work.join("new.txt"))),
        ("make a folder", make_folder(work.join("a"))),
        ("rename between folders", rename(work.join("new.txt"), work.join("a/new.txt"))),
        ("read a system file", read("/etc/passwd".into())),
        ("read outside", read(theirs.clone())),
        ("write outside", write(theirs.clone())),
        ("make a file outside", write(outside.join("fresh.txt"))),
        ("write through a link", write(work.join("to_theirs"))),
        ("cut to length", cut(theirs.clone())),
        ("remove outside", remove(theirs.clone())),
        ("move out", rename(work.join("mine.txt"), outside.join("moved.txt"))),
        ("move in", rename(theirs.clone(), work.join("taken.txt"))),
        ("link a file in", link(theirs, work.join("linked.txt"))),
        ("link logins in", link(home.join("credentials.json"), work.join("linked.json"))),
        ("read logins", read(home.join("credentials.json"))),
        ("read logins through a link", read(work.join("to_logins"))),
        ("read logins through a linked folder", read(work.join("to_home/credentials.json"))),
        (
            "read logins through /proc",
            read(format!("/proc/self/root{}", home.join("credentials.json").display()).into()),
        ),
        ("read logins that are open", read(format!("/proc/self/fd/{held}").into())),
        ("read own environment", read("/proc/self/environ".into())),
        ("write logins", write(home.join("credentials.json"))),
        ("make a file in the data folder", write(home.join("orlop.db"))),
        ("read a key", read(outside.join("person/.ssh/id"))),
        ("read beside a key", read(outside.join("person/notes"))),
        ("write to /dev/null", write("/dev/null".into())),
    ];
    check(
        stage,
        attempts,
        expect![[r#"
            write in the workspace: done
            make a folder: done
            rename between folders: done
            read a system file: done
            read outside: done
            write outside: permission denied
            make a file outside: permission denied
            write through a link: permission denied
            cut to length: permission denied
            remove outside: permission denied
            move out: permission denied
            move in: permission denied
            link a file in: cross-device link or rename
            link logins in: cross-device link or rename
            read logins: permission denied
            read logins through a link: permission denied
            read logins through a linked folder: permission denied
            read logins through /proc: permission denied
            read logins that are open: permission denied
            read own environment: permission denied
            write logins: permission denied
            make a file in the data folder: permission denied
            read a key: permission denied
            read beside a key: done
            write to /dev/null: done
        "#]],
    )
    .await;
}

#[tokio::test] // M-28
async fn the_data_folder_is_hidden_in_a_workspace_around_it() {
    let stage = stage().settings("folders = [\"..\"]");
    let (outside, home) = (stage.outside().to_owned(), stage.home());
    let attempts: Attempts = vec![
        ("write around it", write(outside.join("theirs.txt"))),
        ("write in a folder beside it", write(outside.join("person/notes"))),
        ("make a file beside it", write(outside.join("fresh.txt"))),
        ("read logins", read(home.join("credentials.json"))),
        ("write logins", write(home.join("credentials.json"))),
        ("make a file in it", write(home.join("orlop.db"))),
        ("move it away", rename(home.clone(), outside.join("work/home"))),
        ("read a key", read(outside.join("person/.ssh/id"))),
        ("list around it", list(outside.clone())),
    ];
    check(
        stage,
        attempts,
        expect![[r#"
        write around it: done
        write in a folder beside it: done
        make a file beside it: permission denied
        read logins: permission denied
        write logins: permission denied
        make a file in it: permission denied
        move it away: permission denied
        read a key: permission denied
        list around it: done
    "#]],
    )
    .await;
}

#[tokio::test] // M-28
async fn a_store_and_attachments_elsewhere_are_hidden() {
    let stage = stage();
    let outside = stage.outside().to_owned();
    fs::write(outside.join("other.db"), "sessions").unwrap();
    fs::create_dir(outside.join("files")).unwrap();
    fs::write(outside.join("files/one"), "attachment").unwrap();
    let at = outside.display();
    let stage = stage.more(&format!(
        "[store]\nurl = \"sqlite:{at}/other.db\"\n[assets]\nurl = \"file:{at}/files\""
    ));
    let attempts: Attempts = vec![
        ("read the store", read(outside.join("other.db"))),
        ("read an attachment", read(outside.join("files/one"))),
        ("read beside them", read(outside.join("theirs.txt"))),
    ];
    check(
        stage,
        attempts,
        expect![[r#"
            read the store: permission denied
            read an attachment: permission denied
            read beside them: done
        "#]],
    )
    .await;
}

#[tokio::test] // M-28
async fn settings_narrow_and_widen_it() {
    let stage = stage().settings(
        "sandbox.read = [\"~/.ssh\"]\nsandbox.write = [\"../shared\"]\nsandbox.hide = [\"private\"]",
    );
    let (work, outside) = (stage.work(), stage.outside().to_owned());
    fs::create_dir(outside.join("shared")).unwrap();
    fs::create_dir(work.join("private")).unwrap();
    fs::write(work.join("private/diary"), "dear").unwrap();
    let attempts: Attempts = vec![
        ("read outside", read(outside.join("theirs.txt"))),
        ("list outside", list(outside.clone())),
        ("read what is listed", read(outside.join("person/.ssh/id"))),
        ("read a system file", read("/etc/passwd".into())),
        ("write what is listed", write(outside.join("shared/x"))),
        ("read what is hidden", read(work.join("private/diary"))),
        ("write beside what is hidden", write(work.join("mine.txt"))),
    ];
    check(
        stage,
        attempts,
        expect![[r#"
        read outside: permission denied
        list outside: permission denied
        read what is listed: done
        read a system file: done
        write what is listed: done
        read what is hidden: permission denied
        write beside what is hidden: done
    "#]],
    )
    .await;
}

#[tokio::test] // M-28
async fn switched_off_it_restricts_nothing() {
    let stage = stage().settings("sandbox.enabled = false");
    let attempts: Attempts = vec![("write outside", write(stage.outside().join("theirs.txt")))];
    check(
        stage,
        attempts,
        expect![[r#"
        write outside: done
    "#]],
    )
    .await;
}

#[tokio::test] // M-28
async fn a_link_that_is_swapped_all_the_time_leads_nowhere() {
    let stage = stage();
    let (work, outside) = (stage.work(), stage.outside().to_owned());
    let theirs = outside.join("theirs.txt");
    let is_over = Arc::new(AtomicBool::new(false));
    let swapping = {
        let (is_over, theirs, place) = (is_over.clone(), theirs.clone(), work.join("place"));
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let _ = fs::remove_file(&place);
                let _ = symlink(&theirs, &place);
                let _ = fs::remove_file(&place);
                let _ = fs::write(&place, "plain");
            }
        })
    };
    let place = work.join("place");
    let many = move || {
        for _ in 0..3_000 {
            // Refused or done, depending on what is there at the moment.
            let _ = fs::write(&place, "changed");
        }
        Ok(())
    };
    let _stage = check(
        stage,
        vec![("write 3000 times", Box::new(many))],
        expect![[r#"
        write 3000 times: done
    "#]],
    )
    .await;
    is_over.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
}
