//! What the chat gives to its user: texts to the clipboard, also in tmux, and files, none of which
//! takes the place of another unasked.

use super::screen::Tmux;
use super::{CONTROL_D, ENTER, ESCAPE};
use crate::common::Place;
use crate::common::pty::{open, open_command};
use orlop_testkit::mock_model::Reply;
use portable_pty::CommandBuilder;

const ANSWER: &str = "Look:\n\n```sh\norlop run\n```\n\nThat is all.";

#[tokio::test(flavor = "multi_thread")]
async fn answers_and_code_are_copied_and_sessions_exported_by_commands() {
    let place = Place::new("chat-copy").await;
    place.model.reply(Reply::text([ANSWER]));
    let mut terminal = open(&place, &["go"], &[]);
    terminal.shows("That is all.");
    terminal.hides("Esc stops");
    terminal.press("/copy code\r");
    terminal.until("copied it", |screen| screen.contains("1. Copy"));
    // "orlop run", with OSC 52.
    let copied = "\x1b]52;c;b3Jsb3AgcnVu";
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(bytes.contains(copied), "{bytes:?}");
    // Files are written into the working folder, under names that are free.
    for number in 1..=2 {
        terminal.press("/export json\r");
        let end = if number == 1 { ".json" } else { "-2.json" };
        terminal.until("wrote it", |screen| {
            let words = screen.replace('\n', "").replace("  ", "");
            words.contains("Written to") && words.contains(end)
        });
        terminal.hides("Esc stops");
    }
    let files = std::fs::read_dir(place.path()).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let files: Vec<_> = files.filter(|it| it.extension().is_some_and(|it| it == "json")).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        let session: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(session["messages"][1]["content"], ANSWER);
    }
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_replaces_no_file_unasked() {
    let place = Place::new("chat-export").await;
    let file = place.write("talk.md", "mine\n");
    let mut terminal = open(&place, &["hello"], &[]);
    terminal.shows("You said: hello");
    terminal.hides("Esc stops");
    for (key, expected) in [(ESCAPE, false), ("y", true)] {
        terminal.press("/export\r");
        terminal.shows("File (.md or .json)");
        terminal.press("\x15talk.md\r");
        terminal.shows("talk.md exists. Replace it?");
        terminal.press(key);
        terminal.hides("Replace it?");
        if expected {
            terminal.shows("Written to");
        }
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.contains("You said: hello"), expected, "{text}");
    }
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_tmux_what_is_copied_gets_through() {
    let place = Place::new("copy-tmux").await;
    let tmux = Tmux(&place);
    if tmux.run(&["-V"]).is_none() {
        return orlop_testkit::skip("copying in tmux", "there is no tmux on this machine");
    }
    // As tmux is by default: it takes OSC 52 from no program.
    let mut command = CommandBuilder::new("tmux");
    command.args(["-u", "-f", "/dev/null", "new-session"]);
    command.arg(env!("CARGO_BIN_EXE_orlop"));
    let directory = place.path().to_str().unwrap();
    let variables = [("TMUX_TMPDIR", directory), ("SHELL", "/bin/sh")];
    let mut terminal = open_command(&place, command, &variables, (80, 24));
    terminal.shows("^K commands");
    terminal.press("quay");
    terminal.press(ENTER);
    terminal.shows("You said: quay");
    terminal.hides("Esc stops");
    terminal.press("/copy");
    terminal.press(ENTER);
    terminal.shows("copied the last answer");
    assert_eq!(tmux.run(&["show-buffer"]).as_deref(), Some("You said: quay"));
    // And tmux hands it on to its terminal.
    let encoded = "WW91IHNhaWQ6IHF1YXk=";
    while !String::from_utf8_lossy(&terminal.bytes()).contains(encoded) {
        tokio::task::yield_now().await;
    }
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}
