//! Commands: what the model reads of them, what people see, and how they end.

#![cfg(unix)]
use crate::stage::*;
use expect_test::{Expect, expect};
use orlop_app::{Application, Approval, ChatRequest, Event, EventKind, Host};
use orlop_core::Value;
use orlop_plugins::{Permissions, Shell, ShellByHand};
use orlop_testkit::scripted::*;
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

fn stage() -> Stage {
    Stage::default().tool(Shell::default())
}

/// Runs one call in a session; gives its events.
async fn call(
    stage: &Stage,
    app: &Application,
    session: &str,
    tool: &str,
    input: Value,
) -> Vec<Arc<Event>> {
    stage.model.reply(ScriptedReply::calls(&[("c1", tool, input)]));
    stage.model.reply(ScriptedReply::text(&["done"]));
    events_of(app, ask(session, "go")).await
}

/// What the model reads, without the folders of this run.
async fn read_of(stage: &Stage, app: &Application, tool: &str, input: Value) -> String {
    let events = call(stage, app, "s", tool, input).await;
    let text = results(&events).pop().unwrap_or_else(|| names(&events));
    without_times(&text.replace(&stage.outside().display().to_string(), "/stage"))
}

/// On a busy machine everything takes a second.
fn without_times(text: &str) -> String {
    let mut text = text.to_owned();
    for word in [" after ", " for "] {
        while let Some((before, rest)) = text.split_once(word)
            && let Some((time, behind)) = rest.split_once(" s]")
            && time.parse::<u64>().is_ok()
        {
            text = format!("{before}]{behind}");
        }
    }
    text
}

async fn check(command: &str, expected: Expect) {
    let stage = stage().file("sub/a.txt", "a\n");
    let app = stage.start().await;
    expected.assert_eq(&read_of(&stage, &app, "shell", json!({ "command": command })).await);
}

/// A pipe that is open as long as some process holds it: gives its first line at once, and ends
/// with the last process.
fn watch(pipe: &Path) -> (oneshot::Receiver<String>, JoinHandle<usize>) {
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let (begun, has_begun) = oneshot::channel();
    let pipe = pipe.to_owned();
    let reading = tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(std::fs::File::open(pipe).unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        begun.send(line).unwrap();
        lines.read_to_end(&mut Vec::new()).unwrap()
    });
    (has_begun, reading)
}

/// Forks, leaves the session, forks again, and stays.
const DETACHED: &str =
    "setsid bash -c '(setsid bash -c \"echo begun; exec sleep 1000\" > pipe &)'; sleep 1000";

#[tokio::test] // M-28
async fn the_model_reads_output_errors_and_how_it_ended() {
    check(
        "echo one; echo two >&2; echo three",
        expect![[r#"
        one
        two
        three
        [exit code 0]"#]],
    )
    .await;
    check(
        "ls missing; exit 3",
        expect![[r#"
        ls: cannot access 'missing': No such file or directory
        [exit code 3]"#]],
    )
    .await;
    check("true", expect!["[exit code 0]"]).await;
    check("kill -SEGV $$", expect!["[ended by signal 11 (SEGV)]"]).await;
    check(
        "printf 'gr\\xc3\\xbcn \\xff no newline'",
        expect![[r#"
        grün � no newline
        [exit code 0]"#]],
    )
    .await;
    check(
        "no-such-program",
        expect![[r#"
        bash: line 1: no-such-program: command not found
        [exit code 127]"#]],
    )
    .await;
    check(
        "read line; echo \"read:$line\"; [ -t 1 ] || echo no terminal",
        expect![[r#"
        read:
        no terminal
        [exit code 0]"#]],
    )
    .await;
    check(
        "cd sub; pwd | tail -c 4; cat a.txt",
        expect![[r#"
        sub
        a
        [exit code 0]"#]],
    )
    .await;
}

#[tokio::test] // M-28
async fn people_see_a_preview_pieces_and_a_terminal() {
    let stage = stage();
    let app = stage.start().await;
    let input = json!({ "command": "echo hello", "cwd": ".", "description": "greets" });
    let events = call(&stage, &app, "s", "shell", input).await;
    expect!["session_created request_started tool_call tool_partial tool_result partial final"]
        .assert_eq(&names(&events));
    let mut shown = String::new();
    for event in &events {
        match &event.kind {
            EventKind::ToolCall { preview, .. } => shown.push_str(&format!("{preview}\n")),
            EventKind::ToolPartial { part, .. } => shown.push_str(&format!("{part}\n")),
            EventKind::ToolResult { message, .. } => {
                let mut display = message.metadata()["display"].clone();
                display["duration_ms"] = json!(0);
                shown.push_str(&format!("{display}\n"));
            }
            _ => {}
        }
    }
    expect![[r#"
        . $ echo hello
        # greets
        {"text":"hello\n"}
        {"type":"terminal","command":"echo hello","output":"hello\n[exit code 0]","exit_code":0,"timed_out":false,"duration_ms":0}
    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended() {
    let stage = stage().settings("shell.max_timeout_s = 1");
    let app = stage.start().await;
    // Whether a command came to print something in its time depends on the machine.
    let last_line = async |command: &str, timeout_s: f64| {
        let input = json!({ "command": command, "timeout_s": timeout_s });
        let read = read_of(&stage, &app, "shell", input).await;
        read.lines().last().unwrap_or_default().to_owned()
    };
    let slow = "echo begun; sleep 1000";
    let over = "[ended because its 0.2 s were over; give it more with timeout_s, or run it with background: true]";
    assert_eq!(last_line(slow, 0.2).await, over);
    let most = "[ended because its 1 s were over, the most there is; run it with background: true]";
    assert_eq!(last_line(slow, 7000.0).await, most);
    // One that does not listen is ended all the same.
    let deaf = "trap '' TERM; echo begun; while true; do sleep 1000; done";
    assert_eq!(last_line(deaf, 0.2).await, over);
}

#[cfg(target_os = "linux")]
#[tokio::test] // I-21
async fn cancelling_ends_processes_that_have_detached() {
    let stage = stage();
    let (has_begun, reading) = watch(&stage.work().join("pipe"));
    stage.model.reply(ScriptedReply::calls(&[("c1", "shell", json!({ "command": DETACHED }))]));
    stage.model.reply(ScriptedReply::text(&["still here"]));
    let app = stage.start().await;
    let mut handle = app.send_request(ask("s", "go")).await.unwrap();
    assert_eq!(has_begun.await.unwrap(), "begun\n");
    handle.cancel("enough").await.unwrap();
    while handle.next().await.is_some() {}
    assert_eq!(reading.await.unwrap(), 0);
    let events = events_of(&app, ask("s", "and now?")).await;
    assert!(names(&events).ends_with("final"), "{}", names(&events));
}

#[cfg(target_os = "linux")]
#[tokio::test] // I-21
async fn what_a_command_leaves_running_ends_with_it() {
    let stage = stage();
    let (has_begun, reading) = watch(&stage.work().join("pipe"));
    let app = stage.start().await;
    let command = "(setsid bash -c 'echo begun > pipe; exec sleep 1000' > pipe &); cat < /dev/null; until [ -e ok ]; do sleep 0.01; done; echo bye";
    let told = read_of(&stage, &app, "shell", json!({ "command": command }));
    let signal = async {
        assert_eq!(has_begun.await.unwrap(), "begun\n");
        std::fs::write(stage.work().join("ok"), "").unwrap();
    };
    let (told, ()) = futures::future::join(told, signal).await;
    expect![[r#"
        bye
        [exit code 0]
        [a process that it left running ended with it; what should go on is to be started with background: true]"#]].assert_eq(&told);
    assert_eq!(reading.await.unwrap(), 0);
}

#[tokio::test]
async fn long_output_is_kept_in_a_file_and_with_the_session() {
    let stage = stage().settings("shell.max_output = 300\nshell.max_log_bytes = 200000");
    let app = stage.start().await;
    let text = read_of(&stage, &app, "shell", json!({ "command": "seq 1 30000" })).await;
    let assets = app.list_assets("s").await.unwrap();
    let file = text.split(" in ").nth(1).unwrap().split(" (asset").next().unwrap().to_owned();
    let told = text.replace(&assets[0].id, "ASSET").replace(&file, "FILE");
    let middle = told.lines().find(|line| line.starts_with("[...")).unwrap();
    expect!["[... 168594 bytes left out here; the whole output is in FILE (asset ASSET), to be read with grep, sed -n or tail ...]"].assert_eq(middle);
    assert!(
        told.starts_with("1\n2\n3\n") && told.ends_with("29999\n30000\n[exit code 0]"),
        "{told}"
    );
    assert!(told.len() < 600, "{told}");
    assert_eq!(app.read_asset(&assets[0].id).await.unwrap().1.len(), 168_894);
    // Another command reads it.
    let file = file.replace("/stage", &stage.outside().display().to_string());
    let line = json!({ "command": format!("sed -n 15000p {file}") });
    expect![[r#"
        15000
        [exit code 0]"#]]
    .assert_eq(&read_of(&stage, &app, "shell", line).await);
    let more = read_of(&stage, &app, "shell", json!({ "command": "seq 1 60000" })).await;
    assert!(more.contains("the first 200000 bytes are in "), "{more}");
}

#[tokio::test]
async fn a_gigabyte_fills_neither_memory_nor_disk() {
    let stage = stage().settings("shell.max_log_bytes = 1000000");
    let app = stage.start().await;
    let command = json!({ "command": "head -c 1073741824 /dev/zero" });
    let events = call(&stage, &app, "s", "shell", command).await;
    let text = results(&events).pop().unwrap();
    assert!(
        text.contains("1073711824 bytes left out here; the first 1000000 bytes are in "),
        "{}",
        &text[text.len() - 400..]
    );
    let shown: usize = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolPartial { part, .. } => Some(part.to_string().len()),
            _ => None,
        })
        .sum();
    assert!(shown < 1 << 20, "{shown}");
    let assets = app.list_assets("s").await.unwrap();
    assert_eq!(assets.iter().map(|asset| asset.size).collect::<Vec<_>>(), [1_000_000]);
}

#[tokio::test]
async fn secrets_of_the_environment_stay_behind() {
    let mut stage = stage().settings("shell.env = { WANTED_TOKEN = \"given\", MODE = \"test\" }");
    for name in ["ACME_API_KEY", "WANTED_TOKEN", "PLAIN"] {
        stage.vars.insert(name.to_owned(), "from outside".to_owned());
    }
    let app = stage.start().await;
    let command = "echo \"$ACME_API_KEY|$WANTED_TOKEN|$PLAIN|$MODE|$TERM\"; touch \"$TMPDIR/x\" && echo written";
    expect![[r#"
        |given|from outside|test|dumb
        written
        [exit code 0]"#]]
    .assert_eq(&read_of(&stage, &app, "shell", json!({ "command": command })).await);
}

#[tokio::test]
async fn the_folder_is_one_of_the_workspace() {
    let stage = stage().file("sub/a.txt", "a\n").file("plain", "");
    std::os::unix::fs::symlink("/etc", stage.work().join("out")).unwrap();
    let app = stage.start().await;
    let mut told = String::new();
    for cwd in ["sub", "sub/..", "..", "out", "/", "plain", "missing", ""] {
        let input = json!({ "command": "ls", "cwd": cwd });
        told.push_str(&format!(
            "{cwd:?}: {}\n",
            read_of(&stage, &app, "shell", input).await.replace('\n', " ")
        ));
    }
    expect![[r#"
        "sub": a.txt [exit code 0]
        "sub/..": out plain sub [exit code 0]
        "..": cwd ".." is outside of the workspace; commands run in /stage/work, or below
        "out": cwd "out" is outside of the workspace; commands run in /stage/work, or below
        "/": cwd "/" is outside of the workspace; commands run in /stage/work, or below
        "plain": cwd "plain" is no folder
        "missing": cwd "missing" is no folder
        "": out plain sub [exit code 0]
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn bad_input_is_told_and_nothing_runs() {
    let stage = stage();
    let app = stage.start().await;
    let mut told = String::new();
    for input in [
        json!({}),
        json!({ "command": "" }),
        json!({ "command": 7 }),
        json!("ls"),
        json!({ "command": "a\0b" }),
        json!({ "command": "ls", "timeout_s": -1 }),
        json!({ "command": "ls", "timeout_s": "soon" }),
    ] {
        told.push_str(&format!(
            "{input}: {}\n",
            read_of(&stage, &app, "shell", input.clone()).await
        ));
    }
    for id in [json!({ "id": "job-9" }), json!({ "id": 7 }), json!({})] {
        told.push_str(&format!(
            "stop {id}: {}\n",
            read_of(&stage, &app, "shell_stop", id.clone()).await
        ));
    }
    expect![[r#"
        {}: Error: tool "shell" was not run, because its arguments do not fit its schema; correct them and call it again:
        - "command" is a required property
        {"command":""}: there is no command; give one, such as {"command": "ls"}
        {"command":7}: Error: tool "shell" was not run, because its arguments do not fit its schema; correct them and call it again:
        - /command: 7 is not of type "string"
        "ls": Error: tool "shell" was not run, because its arguments do not fit its schema; correct them and call it again:
        - "ls" is not of type "object"
        {"command":"a\u0000b"}: the command has a zero byte in it; remove it
        {"command":"ls","timeout_s":-1}: timeout_s must be a number of seconds above 0
        {"command":"ls","timeout_s":"soon"}: Error: tool "shell" was not run, because its arguments do not fit its schema; correct them and call it again:
        - /timeout_s: "soon" is not of type "number"
        stop {"id":"job-9"}: there is no job "job-9" in this session; known: none
        stop {"id":7}: Error: tool "shell_stop" was not run, because its arguments do not fit its schema; correct them and call it again:
        - /id: 7 is not of type "string"
        stop {}: Error: tool "shell_stop" was not run, because its arguments do not fit its schema; correct them and call it again:
        - "id" is a required property
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn a_working_folder_that_is_gone_is_told() {
    let stage = stage();
    let app = stage.start().await;
    std::fs::remove_dir_all(stage.work()).unwrap();
    expect!["the working folder /stage/work cannot be used (No such file or directory (os error 2)); create it, or start elsewhere"].assert_eq(&read_of(&stage, &app, "shell", json!({ "command": "ls" })).await);
}

#[tokio::test]
async fn a_job_runs_on_is_asked_and_stopped() {
    let stage = stage();
    let app = stage.start().await;
    let job = "echo ready; sleep 1000";
    let started =
        read_of(&stage, &app, "shell", json!({ "command": job, "background": true })).await;
    assert!(started.starts_with("job-1 was started.\n"), "{started}");
    assert!(started.contains("[running]") && started.contains("shell_output"), "{started}");
    // Whether the start told of it or not: nobody waits for what was said.
    let asked = std::time::Instant::now();
    let ask = json!({ "id": "job-1", "wait_s": 600, "until": "ready" });
    read_of(&stage, &app, "shell_output", ask).await;
    assert!(asked.elapsed().as_secs() < 300);
    let other = "until [ -e go ]; do sleep 0.01; done; echo $((6 * 7)) is the answer; exit 4";
    read_of(&stage, &app, "shell", json!({ "command": other, "background": true })).await;
    expect!["[running]"]
        .assert_eq(&read_of(&stage, &app, "shell_output", json!({ "id": "job-2" })).await);
    std::fs::write(stage.work().join("go"), "").unwrap();
    let ask = json!({ "id": "job-2", "wait_s": 60, "until": "42 is" });
    assert!(read_of(&stage, &app, "shell_output", ask).await.starts_with("42 is the answer\n["));
    let ask = json!({ "id": "job-2", "wait_s": 60 });
    expect!["[exit code 4]"].assert_eq(&read_of(&stage, &app, "shell_output", ask).await);
    expect!["[ended by signal 15 (TERM)]"]
        .assert_eq(&read_of(&stage, &app, "shell_stop", json!({ "id": "job-1" })).await);
    expect![[r#"
        job-1: echo ready; sleep 1000 [ended by signal 15 (TERM)]
        job-2: until [ -e go ]; do sleep 0.01; done; echo $((6 * 7)) is the answer; exit 4 [exit code 4]"#]].assert_eq(&read_of(&stage, &app, "shell_output", json!({})).await);
}

#[tokio::test]
async fn a_job_belongs_to_its_session() {
    let stage = stage();
    let app = stage.start().await;
    let job = json!({ "command": "sleep 1000", "background": true });
    call(&stage, &app, "mine", "shell", job).await;
    let events = call(&stage, &app, "other", "shell_stop", json!({ "id": "job-1" })).await;
    expect![[r#"there is no job "job-1" in this session; known: none"#]]
        .assert_eq(&results(&events)[0]);
}

#[tokio::test]
async fn there_are_only_so_many_jobs() {
    let stage = stage().settings("shell.max_jobs = 2");
    let app = stage.start().await;
    let job = json!({ "command": "sleep 1000", "background": true });
    for _ in 0..2 {
        read_of(&stage, &app, "shell", job.clone()).await;
    }
    expect!["2 jobs run already (job-1, job-2), and no more may; stop one with shell_stop"]
        .assert_eq(&read_of(&stage, &app, "shell", job.clone()).await);
    read_of(&stage, &app, "shell_stop", json!({ "id": "job-1" })).await;
    let third = read_of(&stage, &app, "shell", job).await;
    assert!(third.starts_with("job-3 was started."), "{third}");
}

#[tokio::test]
async fn jobs_end_with_their_session_and_with_the_application() {
    let shell = Shell::default();
    let stage = Stage::default().application(shell.cleanup()).tool(shell);
    let app = stage.start().await;
    let mut pipes = Vec::new();
    for (session, pipe) in [("deleted", "a"), ("kept", "b")] {
        let (has_begun, reading) = watch(&stage.work().join(pipe));
        let command = format!("exec > {pipe}; echo begun; sleep 1000 & sleep 1000");
        let job = json!({ "command": command, "background": true });
        call(&stage, &app, session, "shell", job).await;
        assert_eq!(has_begun.await.unwrap(), "begun\n");
        pipes.push(reading);
    }
    assert_eq!(std::fs::read_dir(stage.home().join("tmp")).unwrap().count(), 2);
    app.delete_session("deleted", None).await.unwrap();
    assert_eq!(pipes.remove(0).await.unwrap(), 0);
    assert_eq!(std::fs::read_dir(stage.home().join("tmp")).unwrap().count(), 1);
    let stage = stage.with(|_| Default::default());
    drop(app);
    assert_eq!(pipes.remove(0).await.unwrap(), 0);
    drop(stage);
}

/// The answer to a message in session `s`, and its status; none if the model answered.
async fn typed(host: &Host, text: &str) -> Option<(u16, String)> {
    let chat = host.chat(chat("s", text)).await.unwrap();
    let handled = chat.handled.clone();
    chat.ended().await;
    handled.map(|handled| (handled.status, handled.text))
}

#[tokio::test]
async fn a_command_that_the_user_types_becomes_part_of_the_conversation() {
    let stage = Stage::says(&["I see"]).tool(Shell::default()).feature(Permissions);
    let stage = stage.host(ShellByHand).file("a.txt", "hello");
    let host = stage.open().await;
    let ran = typed(&host, "!cat a.txt").await.unwrap();
    assert_eq!(ran, (200, "hello\n[exit code 0]".to_owned()), "it would ask, and its user said so");
    assert!(stage.model.requests().is_empty(), "the model is not asked");
    chat_to_end(&host, chat("s", "what is in it?")).await;
    assert_eq!(
        stage.model.last_request(),
        "$ cat a.txt\nhello\n[exit code 0]\n[I ran this command myself.]|what is in it?"
    );
    let head = host.app().store().head(host.app().scope(), "s").await.unwrap().unwrap();
    assert!(head.title.unwrap().starts_with("$ cat a.txt"));
    // A command that fails is told as one.
    let (status, text) = typed(&host, "!exit 3").await.unwrap();
    assert!(status == 200 && text.contains("[exit code 3]"), "{text}");
}

#[tokio::test]
async fn what_is_denied_is_denied_to_users_too() {
    let stage = Stage::says(&["ok", "ok"]).tool(Shell::default()).feature(Permissions);
    let stage = stage.host(ShellByHand).settings("permissions.deny = [\"shell(rm *)\"]");
    let stage = stage.more("[agents.bare]\nextends = \"default\"\ntools = []").file("a.txt", "x");
    let host = stage.open().await;
    let (status, text) = typed(&host, "!ls && rm a.txt").await.unwrap();
    assert_eq!(status, 403);
    assert!(text.starts_with("the command was not run: it is denied: "), "{text}");
    assert_eq!(stage.read("a.txt"), "x");
    assert!(host.app().load_session("s").await.unwrap().is_none(), "nothing is stored");
    // Where what asks does not run, text from anywhere must not run either.
    let request = ChatRequest { approval: Approval::Deny, ..chat("s", "!touch b.txt") };
    let refused = host.chat(request).await.unwrap().handled.unwrap();
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert!(!stage.work().join("b.txt").exists());
    let request = ChatRequest { approval: Approval::Deny, ..chat("s", "!cat a.txt") };
    let read = host.chat(request).await.unwrap().handled.unwrap();
    assert_eq!((read.status, &*read.text), (200, "x\n[exit code 0]"), "reading asks nobody");
    // An agent without the tool gives nobody a shell.
    let request = ChatRequest { agent_id: Some("bare".to_owned()), ..chat("t", "!ls") };
    let refused = host.chat(request).await.unwrap().handled.unwrap();
    assert_eq!(refused.status, 404);
    assert_eq!(
        refused.text,
        "the command was not run: the agent \"bare\" has no tool \"shell\"; add it to its `tools`; a space in front sends the text to the model"
    );
    assert_eq!(typed(&host, " !ls").await, None);
    assert_eq!(typed(&host, "!= means not equal").await, None);
}
