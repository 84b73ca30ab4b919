//! What models and file systems do to a tool that it did not ask for.

use crate::Room;
use crate::stage::*;
use expect_test::expect;
use serde_json::json;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

#[tokio::test]
async fn arguments_that_are_wrong_are_told() {
    let room = Room::open(Stage::default()).await;
    for (tool, input, expected) in [
        (
            "read_file",
            json!({}),
            expect![[r#"
                Error: tool "read_file" was not run, because its arguments do not fit its schema; correct them and call it again:
                - "path" is a required property"#]],
        ),
        (
            "read_file",
            json!("{\"path\": "),
            expect![[r#"
                Error: tool "read_file" was not run, because its arguments do not fit its schema; correct them and call it again:
                - "{\"path\": " is not of type "object""#]],
        ),
        (
            "read_file",
            json!({ "path": 5 }),
            expect![[r#"
                Error: tool "read_file" was not run, because its arguments do not fit its schema; correct them and call it again:
                - /path: 5 is not of type "string""#]],
        ),
        (
            "read_file",
            json!({ "path": "a\0b" }),
            expect!["a path is empty or has a zero byte in it"],
        ),
        ("read_file", json!({ "path": "none.txt" }), expect![[r#""#]]),
        (
            "search_files",
            json!({ "pattern": "x", "output": "all" }),
            expect![[r#"
                Error: tool "search_files" was not run, because its arguments do not fit its schema; correct them and call it again:
                - /output: "all" is not one of "content", "files" or "count""#]],
        ),
    ] {
        let said = room.call(tool, input.clone()).await;
        if input == json!({ "path": "none.txt" }) {
            assert!(
                said.ends_with(
                    "none.txt does not exist; check the path with list_files or find_files"
                ),
                "{said}"
            );
        } else {
            expected.assert_eq(&said);
        }
    }
}

#[tokio::test]
async fn a_name_that_is_almost_right_is_told() {
    let room = Room::open(Stage::default().file("src/Main.rs", "x").file("src/lib.rs", "y")).await;
    let edit = json!({ "path": "src/mian.rs", "old_string": "x", "new_string": "z" });
    for (tool, input) in [("read_file", json!({ "path": "src/main.rs" })), ("edit_file", edit)] {
        let said = room.call(tool, input).await;
        assert!(said.ends_with("does not exist; in that folder there is Main.rs"), "{said}");
    }
}

#[tokio::test]
async fn what_is_no_plain_file_is_left_alone_at_once() {
    let room = Room::open(Stage::default().file("bin", b"\x7fELF\0\0")).await;
    let work = room.stage.work();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        work.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(work.join("sock")).unwrap();
    for (path, kind) in [("pipe", "named pipe"), ("sock", "socket"), (".", "folder")] {
        for (tool, input) in [
            ("read_file", json!({ "path": path })),
            ("write_file", json!({ "path": path, "content": "x" })),
            ("edit_file", json!({ "path": path, "old_string": "x", "new_string": "y" })),
            (
                "apply_patch",
                json!({ "patch": format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch") }),
            ),
        ] {
            let said = room.call(tool, input).await;
            assert!(said.contains(&format!("is a {kind}")), "{tool} {path}: {said}");
        }
    }
    expect![[r#"
        bin (6 bytes)
        pipe (named pipe)
        sock (socket)
    "#]]
    .assert_eq(&room.call("list_files", json!({})).await);
    let said = room.call("search_files", json!({ "pattern": "x" })).await;
    expect![[r#"
        nothing matches
        (1 files searched; 1 binary files skipped)
    "#]]
    .assert_eq(&said);
    expect!["bin is no text (a program, 6 bytes); look at it with a program in the shell"]
        .assert_eq(&room.call("read_file", json!({ "path": "bin" })).await);
}

#[tokio::test]
async fn names_with_line_ends_and_names_that_are_no_unicode() {
    let stage = Stage::default().file("two\nlines.txt", "inside\n");
    let odd = stage.work().join(std::ffi::OsStr::from_bytes(b"caf\xe9.txt"));
    std::fs::write(odd, "inside\n").unwrap();
    let room = Room::open(stage).await;
    expect![[r#"
        "caf\xE9.txt" (not Unicode; only the shell can use it) (7 bytes)
        "two\nlines.txt" (7 bytes)
    "#]]
    .assert_eq(&room.call("list_files", json!({})).await);
    expect![[r#"
        "caf\xE9.txt" (not Unicode; only the shell can use it)
        1: inside

        "two\nlines.txt"
        1: inside
        (2 matching lines in 2 files of 2 searched)
    "#]]
    .assert_eq(&room.call("search_files", json!({ "pattern": "inside" })).await);
    let edit = json!({ "path": "two\nlines.txt", "old_string": "inside", "new_string": "in" });
    expect![[r#""two\nlines.txt": changed (+1 -1)"#]]
        .assert_eq(&room.call("edit_file", edit).await);
    assert_eq!(room.stage.read("two\nlines.txt"), "in\n");
}

#[tokio::test]
async fn a_working_folder_that_vanishes_is_told_and_the_session_goes_on() {
    let room = Room::open(Stage::default().file("a.txt", "one\n")).await;
    std::fs::remove_dir_all(room.stage.work()).unwrap();
    for (tool, input) in [
        ("read_file", json!({ "path": "a.txt" })),
        ("write_file", json!({ "path": "a.txt", "content": "x" })),
        ("list_files", json!({})),
        ("search_files", json!({ "pattern": "x" })),
    ] {
        let said = room.call(tool, input).await;
        assert!(said.contains("the working folder") && said.contains("cannot be used"), "{said}");
    }
    std::fs::create_dir(room.stage.work()).unwrap();
    room.call("write_file", json!({ "path": "a.txt", "content": "x" })).await;
    assert_eq!(room.stage.read("a.txt"), "x");
}

#[tokio::test]
async fn links_lead_nowhere_outside() {
    let room = Room::open(Stage::default().file("in.txt", "inside\n")).await;
    let outside = room.stage.outside().join("secret.txt");
    std::fs::write(&outside, "secret\n").unwrap();
    let login = room.stage.home().join("credentials.json");
    std::fs::write(&login, "token\n").unwrap();
    symlink(&outside, room.stage.work().join("leak")).unwrap();
    symlink("/etc", room.stage.work().join("etc")).unwrap();
    symlink(&login, room.stage.work().join("login")).unwrap();
    symlink("in.txt", room.stage.work().join("alias")).unwrap();
    for path in ["leak", "etc/new", "../secret.txt", "login", "/proc/self/cwd/../secret.txt"] {
        let said = room.call("write_file", json!({ "path": path, "content": "x" })).await;
        assert!(said.contains("outside of the folders this agent may change"), "{path}: {said}");
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "secret\n");
    for path in
        ["login", "../home/credentials.json", "/proc/self/environ", "/dev/zero", "/etc/shadow"]
    {
        for (tool, input) in [
            ("read_file", json!({ "path": path })),
            ("search_files", json!({ "path": path, "pattern": "t" })),
        ] {
            let said = room.call(tool, input).await;
            assert!(said.contains("must not be read by tools"), "{tool} {path}: {said}");
        }
    }
    // What the permissions judge is what is opened: an address is a name like any other.
    let said = room.call("read_file", json!({ "path": "file:///etc/hostname" })).await;
    assert!(said.contains("work/file: does not exist"), "{said}");
    let found = room.call("search_files", json!({ "pattern": "secret|root" })).await;
    expect![[r#"
        nothing matches
        (1 files searched)
    "#]]
    .assert_eq(&found);
    // A link inside is followed to its file, which stays one.
    room.call("read_file", json!({ "path": "alias" })).await;
    room.call("write_file", json!({ "path": "alias", "content": "new\n" })).await;
    assert_eq!(room.stage.read("in.txt"), "new\n");
    assert!(room.stage.work().join("alias").is_symlink());
}

#[tokio::test]
async fn what_cannot_be_written_says_why() {
    let room = Room::open(Stage::default().file("fixed.txt", "one\n").file("file", "")).await;
    let path = room.stage.work().join("fixed.txt");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    let edit = json!({ "path": "fixed.txt", "old_string": "one", "new_string": "1" });
    expect!["fixed.txt is read-only; its permissions must be changed first"]
        .assert_eq(&room.call("edit_file", edit).await);
    let said = room.call("write_file", json!({ "path": "file/below", "content": "x" })).await;
    assert!(said.contains("Not a directory"), "{said}");
    let long = "n".repeat(300);
    let said = room.call("write_file", json!({ "path": long, "content": "x" })).await;
    assert!(said.contains("too long"), "{said}");
}
