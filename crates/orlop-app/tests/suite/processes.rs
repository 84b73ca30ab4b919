//! Tools that run processes: a cancelled request ends all of them.

use crate::common::*;
use orlop_app::config::Vars;
use orlop_app::*;
use orlop_core::hooks::{ToolInput, ToolSchemasInput};
use orlop_core::types::ToolReport;
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;

/// A tool that runs a shell, which runs another process that holds a pipe open.
struct Shell(PathBuf);

impl Plugin for Shell {
    fn manifest(&self) -> Manifest {
        Manifest::new("shell", "1.0.0").without_models()
    }
}

impl Tool for Shell {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        let schema = json!({"name": "shell", "parameters": {"type": "object"}});
        Answer::ok(vec![schema.as_object().cloned().unwrap()])
    }
    fn execute_tool<'a>(&'a self, _: &'a ToolInput, _: &'a Context) -> Answer<'a, ToolReport> {
        Answer::later(async {
            let mut command = tokio::process::Command::new("sh");
            command.arg("-c").arg("(echo begun; exec sleep 1000) > \"$0\" & wait").arg(&self.0);
            let path = std::env::var("PATH").unwrap();
            let env = Vars::from([("PATH".to_owned(), path)]);
            let output = ProcessGroup::spawn(command, &env)?.output().await?;
            Ok(ToolReport::ok(String::from_utf8_lossy(&output.stdout).into_owned()))
        })
    }
}

#[tokio::test] // I-21
async fn a_cancelled_tool_takes_its_processes_with_it() {
    let pipe = std::env::temp_dir().join(format!("orlop-pipe-{}", std::process::id()));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success() && std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
    let mut scene = Scene::default();
    scene.plugins = scene.plugins.tool(Arc::new(Shell(pipe.clone())));
    scene.provider.reply(ScriptedReply::calls(&[("c1", "shell", json!({}))]));
    scene.provider.reply(ScriptedReply::text(&["still here"]));
    let app = scene.start().await;
    let mut handle = app.send_request(ask("s", "go")).await.unwrap();
    // The pipe gives a line once the grandchild runs, and ends when nobody holds it any more.
    let held = pipe.clone();
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let reading = tokio::task::spawn_blocking(move || {
        use std::io::{BufRead, BufReader, Read};
        let mut lines = BufReader::new(std::fs::File::open(held).unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        begun.send(line).unwrap();
        lines.read_to_end(&mut Vec::new()).unwrap()
    });
    assert_eq!(has_begun.await.unwrap(), "begun\n");
    handle.cancel("enough").await.unwrap();
    while handle.next().await.is_some() {}
    assert_eq!(reading.await.unwrap(), 0);
    assert!(talk(&app, "s", "and now?").await.ends_with("and now?|still here"));
    std::fs::remove_file(&pipe).unwrap();
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let command = tokio::process::Command::new("no-such-program");
    let error = ProcessGroup::spawn(command, &Vars::new()).err().unwrap();
    assert!(error.message().contains("no-such-program cannot be started"), "{error}");
}

/// Starts a script that leaves somebody behind who holds a pipe open, and drops the group then.
/// The pipe ends when all are gone.
async fn check_all_end(name: &str, script: &str) {
    let pipe = std::env::temp_dir().join(format!("orlop-{name}-{}", std::process::id()));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = tokio::process::Command::new("sh");
    command.arg("-c").arg(script).arg(&pipe);
    let env = Vars::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
    let group = ProcessGroup::spawn(command, &env).unwrap();
    let held = pipe.clone();
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let reading = tokio::task::spawn_blocking(move || {
        use std::io::{BufRead, BufReader, Read};
        let mut lines = BufReader::new(std::fs::File::open(held).unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        begun.send(line).unwrap();
        lines.read_to_end(&mut Vec::new()).unwrap()
    });
    assert_eq!(has_begun.await.unwrap(), "begun\n", "{name}");
    drop(group);
    assert_eq!(reading.await.unwrap(), 0, "{name}");
    std::fs::remove_file(&pipe).unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test] // I-21
async fn processes_that_leave_the_group_end_as_well() {
    let stays = "echo begun; exec sleep 1000";
    for (name, script) in [
        ("session", format!("setsid sh -c '{stays}' > \"$0\" & wait")),
        ("orphan", format!("(sh -c '{stays}' > \"$0\" &) ; sleep 1000")),
        (
            "daemon",
            format!("setsid sh -c '(setsid sh -c \"{stays}\" > \"$0\" &)' \"$0\"; sleep 1000"),
        ),
        ("unmarked", format!("setsid env -i PATH=\"$PATH\" sh -c '{stays}' > \"$0\" & wait")),
    ] {
        check_all_end(name, &script).await;
    }
}

#[tokio::test]
async fn output_and_errors_come_in_the_order_they_were_printed() {
    let mut command = tokio::process::Command::new("sh");
    command.arg("-c").arg("echo a; echo b >&2; echo c; sleep 1000 & exit 3");
    let env = Vars::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
    let (mut group, mut printed) = ProcessGroup::spawn_printing(command, &env).unwrap();
    assert_eq!(group.wait().await.unwrap().code(), Some(3));
    // What was left running would hold the pipe open.
    let left = group.kill();
    assert!(!cfg!(target_os = "linux") || left == 1, "{left}");
    let mut text = Vec::new();
    let mut buffer = [0; 4];
    loop {
        match printed.read(&mut buffer).await {
            0 => break,
            count => text.extend_from_slice(&buffer[..count]),
        }
    }
    assert_eq!(String::from_utf8(text).unwrap(), "a\nb\nc\n");
    assert_eq!(group.kill(), 0);
}

#[tokio::test]
async fn a_process_can_be_talked_to() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut command = tokio::process::Command::new("sh");
    command.arg("-c").arg("read line; echo \"heard $line\"; echo why >&2");
    let env = Vars::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
    let (mut group, mut pipes) = ProcessGroup::spawn_talking(command, &env).unwrap();
    pipes.input.write_all(b"this\n").await.unwrap();
    let (mut printed, mut errors) = (String::new(), String::new());
    pipes.output.read_to_string(&mut printed).await.unwrap();
    pipes.errors.read_to_string(&mut errors).await.unwrap();
    assert_eq!((&*printed, &*errors), ("heard this\n", "why\n"));
    assert!(group.wait().await.unwrap().success());
}
