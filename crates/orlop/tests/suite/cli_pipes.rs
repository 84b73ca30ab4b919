//! `orlop` among other programs: pipes, exit codes, JSON, manual pages, completions in a shell.

#![cfg(unix)]
use crate::common;

use crate::common::{Done, Place, finish};
use orlop_testkit::mock_model::Reply;
use serde_json::Value;

/// A line of a shell, in which `orlop` is the program.
async fn shell(place: &Place, line: &str) -> Done {
    let mut sh = place.program("sh");
    let line = format!("orlop() {{ \"{}\" \"$@\"; }}; {line}", env!("CARGO_BIN_EXE_orlop"));
    sh.args(["-c", &line]);
    finish(sh.spawn().unwrap()).await
}

#[tokio::test] // K-01
async fn a_difference_is_piped_in_and_the_answer_is_plain_text() {
    let place = Place::new("pipe-diff").await;
    let git = "git -c user.name=x -c user.email=x@x -c init.defaultBranch=main";
    let line = format!(
        "mkdir r && cd r && {git} init -q && echo one > a.txt && git add a.txt && {git} commit -qm a && echo two > a.txt && git diff --color=never | orlop --config ../orlop.toml run 'review this'"
    );
    let done = shell(&place, &line).await;
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""), "{done:?}");
    assert!(
        done.out.starts_with("You said: review this\n\ndiff --git a/a.txt b/a.txt"),
        "{done:?}"
    );
    assert!(done.out.contains("\n-one\n+two") && done.out.ends_with('\n'), "{done:?}");
    assert!(!done.out.contains('\x1b'), "{done:?}");
    // Another program reads the answer.
    let counted = shell(&place, "orlop run hello | wc -l").await.ok();
    assert_eq!(counted.trim(), "1");
}

#[tokio::test] // K-01
async fn without_a_command_an_answer_is_printed_as_json_too() {
    let place = Place::new("pipe-json").await;
    let answer = place.run_with(&["--output", "json", "review this"], "+ a line\n").await.json();
    let said = answer["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(said["content"], "You said: review this\n\n+ a line");
    assert_eq!(answer["model"]["model"], "m");
    let lines = place.run(&["-o", "stream-json", "hello"]).await.ok();
    let events: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kind = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
    assert_eq!(kind(events.last().unwrap()), "final", "{lines}");
    // A failure has its exit code, and stands in the output.
    place.model.reply(Reply::status(401));
    let failed = place.run(&["-o", "json", "hello"]).await;
    assert_eq!((failed.code, failed.err.as_str()), (Some(1), ""), "{failed:?}");
    let told: Value = serde_json::from_str(&failed.out).unwrap();
    assert!(told["error"]["message"].as_str().unwrap().contains("401"), "{told}");
    place.run(&["--plain", "--output", "json", "x"]).await.fails_to_parse(&["--plain"]);
    place.run(&["--output", "xml", "x"]).await.fails_to_parse(&["stream-json"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_form_of_output_a_terminal_gets_one_answer() {
    let place = Place::new("pipe-terminal").await;
    let mut command = portable_pty::CommandBuilder::new(env!("CARGO_BIN_EXE_orlop"));
    command.args(["--output", "json", "hello"]);
    let terminal = common::pty::open_command(&place, command, &[], (100, 200));
    terminal.shows("\"You said: hello\"");
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_go_with_the_first_message() {
    let place = Place::new("pipe-attach").await;
    place.write("notes.txt", "the quay is closed\n");
    let sent = |asked: Value| asked["messages"].as_array().unwrap().last().unwrap().to_string();
    place.run(&["--attach", "notes.txt", "What is it about?"]).await.ok();
    assert!(sent(place.asked()).contains("the quay is closed"), "{}", place.asked());
    for arguments in
        [&["-f", "notes.txt", "And now?"][..], &["--plain", "-f", "notes.txt", "And now?"]]
    {
        place.model.reply(Reply::text(["About a quay."]));
        let before = place.times_asked();
        let mut terminal = common::pty::open(&place, arguments, &[]);
        terminal.shows("About a quay.");
        let requests = place.model.requests().into_iter().filter(|it| it.method == "POST");
        let asked = requests.skip(before).map(|it| it.json()).next().unwrap();
        assert!(sent(asked.clone()).contains("the quay is closed"), "{asked}");
        terminal.press("\x04");
        assert_eq!(terminal.ends(), 0);
    }
    // Without words the file waits in the line.
    let mut terminal = common::pty::open(&place, &["-f", "notes.txt"], &[]);
    terminal.shows("› [File notes.txt]");
    terminal.press("\x03\x03");
    assert_eq!(terminal.ends(), 0);
    place.run(&["-f", "nowhere.txt", "x"]).await.fails(2, &["nowhere.txt cannot be attached"]);
}

#[tokio::test]
async fn every_command_has_a_manual_page() {
    let place = Place::new("pipe-man").await;
    let page = place.run(&["man", "session", "export"]).await.ok();
    assert!(page.contains("orlop\\-session\\-export") && page.contains("markdown"), "{page}");
    assert!(place.run(&["man", "session"]).await.ok().contains("orlop\\-session"));
    let unknown = place.run(&["man", "session", "lunch"]).await;
    unknown.fails(2, &["`orlop session` has no command \"lunch\"", "export"]);
    place.run(&["man", "run", "x"]).await.fails(2, &["`orlop run` has no commands of its own"]);
}

/// Whether a shell is there. One that is not is said to be skipped.
fn has(shell: &str) -> bool {
    let found = std::process::Command::new(shell).arg("--version").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        orlop_testkit::skip("completions", &format!("{shell} is not installed"));
    }
    found
}

#[tokio::test]
async fn bash_completes_commands_and_flags() {
    let place = Place::new("complete-bash").await;
    let line = "orlop completions bash > c.bash && bash -n c.bash && bash -c 'source ./c.bash && complete -p orlop && \
        COMP_WORDS=(orlop ses); COMP_CWORD=1; _orlop orlop ses orlop; echo \"${COMPREPLY[@]}\"; \
        COMP_WORDS=(orlop run --outp); COMP_CWORD=2; _orlop orlop --outp run; echo \"${COMPREPLY[@]}\"'";
    let done = shell(&place, line).await.ok();
    let lines: Vec<&str> = done.lines().collect();
    assert!(lines[0].contains("_orlop") && lines[0].ends_with(" orlop"), "{done}");
    assert_eq!(lines[1], "session", "{done}");
    assert!(lines[2].contains("--output-schema"), "{done}");
}

#[tokio::test]
async fn zsh_loads_its_completions() {
    if !has("zsh") {
        return;
    }
    let place = Place::new("complete-zsh").await;
    let line = "orlop completions zsh > _orlop && zsh -n _orlop && zsh -fc 'autoload -U compinit && compinit -u && source ./_orlop && print $_comps[orlop]'";
    assert_eq!(shell(&place, line).await.ok(), "_orlop\n");
}

#[tokio::test]
async fn fish_loads_its_completions() {
    if !has("fish") {
        return;
    }
    let place = Place::new("complete-fish").await;
    let line = "orlop completions fish > c.fish && fish --no-execute c.fish && fish -c 'source c.fish; complete -C \"orlop ses\"'";
    let done = shell(&place, line).await.ok();
    assert!(done.lines().any(|line| line.starts_with("session")), "{done}");
}
