//! Runs the example programs as a person would and looks at what they print.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;
use std::process::{Command, Stdio};

fn run(program: &str, input: &str) -> String {
    let mut child = Command::new(program)
        .env_remove("OPENAI_API_KEY")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let (text, errors) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{text}{errors}");
    assert_eq!(errors, "");
    text
}

#[test]
fn the_tour_creates_adds_sends_streams_and_runs_tools() {
    expect_test::expect![[r#"
        == without streaming
        Hello to you, too.
        == streaming, and tools
        tool on offer: "shout"

        [shout "all hands"]
        They heard it: ALL HANDS.
        == the session now has 6 messages
    "#]]
    .assert_eq(&run(env!("CARGO_BIN_EXE_core_tour"), ""));
}

#[test]
fn the_first_chat_answers_without_a_key_and_uses_its_tool() {
    let text = run(env!("CARGO_BIN_EXE_first_chat"), "hello\ncall aye\n");
    assert!(text.contains("You said: hello"), "{text}");
    assert!(text.contains("[shout \"aye\"]"), "{text}");
    assert!(text.contains("AYE"), "{text}");
}
