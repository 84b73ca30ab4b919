//! What the chat looks like on terminals of all kinds: sizes, colours, wide characters, folds, tmux.

use super::{CONTROL_C, CONTROL_D, ENTER};
use crate::common::Place;
use crate::common::pty::{Terminal, open, open_command};
use orlop_testkit::Gate;
use orlop_testkit::mock_model::Reply;
use portable_pty::CommandBuilder;
use std::process::Command;

/// The parameters of all codes that colour or style, each once.
fn styles(terminal: &Terminal) -> Vec<u32> {
    let bytes = terminal.bytes();
    let text = String::from_utf8_lossy(&bytes);
    let mut codes: Vec<u32> = Vec::new();
    for part in text.split("\x1b[").skip(1) {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(part.len());
        if part[end..].starts_with('m') {
            codes.extend(part[..end].split(';').map(|code| code.parse::<u32>().unwrap_or(0)));
        }
    }
    codes.sort_unstable();
    codes.dedup();
    codes
}

const COLOURFUL: &str = "# Head\n\n**bold** `code` [link](https://example.test)\n\n```rust\nfn main() { let x = \"s\"; }\n```\n";

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_colours_are_enough_and_none_are_needed() {
    let place = Place::new("chat-sixteen").await;
    for (variables, coloured) in
        [(&[("TERM", "xterm-16color")], true), (&[("NO_COLOR", "1")], false)]
    {
        place.model.reply(Reply::text([COLOURFUL]));
        let mut terminal = open(&place, &["go"], variables);
        terminal.shows("fn main()");
        terminal.hides("Esc stops");
        let codes = styles(&terminal);
        let is_colour = |code: &u32| matches!(code, 30..=37 | 90..=97);
        assert_eq!(codes.iter().any(is_colour), coloured, "{codes:?}");
        // Weight, and colours of the sixteen in the foreground; no palette, no background.
        let is_known = |code: &u32| matches!(code, 0..=4 | 7 | 9) || is_colour(code);
        assert!(codes.iter().all(is_known), "{codes:?}");
        terminal.press(CONTROL_D);
        assert_eq!(terminal.ends(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_only_writes_lines_gets_lines() {
    let place = Place::new("chat-dumb").await;
    let mut terminal = open(&place, &["hello"], &[("TERM", "dumb")]);
    terminal.shows("You said: hello");
    terminal.press("/quit\n");
    let bytes = loop {
        let bytes = terminal.bytes();
        if String::from_utf8_lossy(&bytes).contains("/quit") {
            break bytes;
        }
        tokio::task::yield_now().await;
    };
    assert!(!bytes.contains(&0x1b), "{:?}", String::from_utf8_lossy(&bytes));
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_size_in_the_middle_of_an_answer_loses_nothing() {
    let place = Place::new("chat-resize-stream").await;
    let gate = Gate::new();
    let first: String = (1..=30).map(|number| format!("{number}. first part\n")).collect();
    let second: String = (31..=60).map(|number| format!("{number}. second part\n")).collect();
    place.model.reply(Reply::text([first]).wait(&gate).then_text([second]));
    let mut terminal = open(&place, &["go"], &[]);
    terminal.shows("30. first part");
    for (columns, rows) in [(50, 12), (100, 30), (60, 10)] {
        terminal.resize(columns, rows);
        terminal.until("drew anew", |screen| {
            let last = screen.lines().last().unwrap_or_default();
            last.starts_with("default") && screen.contains("answering")
        });
    }
    gate.open();
    terminal.hides("answering");
    terminal.shows("60. second part");
    let everything = terminal.everything();
    for number in [1, 30, 31, 60] {
        let part = if number <= 30 { "first" } else { "second" };
        let line = format!("{number}. {part} part");
        assert!(everything.lines().any(|it| it.trim() == line), "{line}:\n{everything}");
    }
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn wide_characters_take_the_room_they_take() {
    let place = Place::new("chat-wide").await;
    let table = "| 名 | n |\n| --- | --- |\n| 漢字 | 1 |\n| x | 2 |\n";
    place.model.reply(Reply::text([table]));
    let mut terminal = open(&place, &["go"], &[]);
    let screen = terminal.shows("tokens");
    // Columns stand below each other.
    assert!(screen.contains("名   │ n\n─────┼──\n漢字 │ 1\nx    │ 2"), "{screen}");
    let at = |terminal: &Terminal, text: &str| {
        terminal.until("showed it", |screen| screen.contains(text));
        terminal.cursor().1
    };
    terminal.press("漢字");
    assert_eq!(at(&terminal, "› 漢字"), 2 + 4);
    terminal.press("⛵a");
    assert_eq!(at(&terminal, "漢字⛵a"), 2 + 4 + 2 + 1);
    // One step back is one character, however wide.
    terminal.press("\x1b[D\x1b[D\x1b[Dé");
    assert_eq!(at(&terminal, "漢é字⛵a"), 2 + 2 + 1);
    terminal.press(CONTROL_C);
    terminal.hides("漢é字");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn reasoning_is_folded_until_somebody_looks() {
    let place = Place::new("chat-reasoning").await;
    let reply = Reply::text(["Seven."]).reasoning("Days of a week.\nNot eight.");
    place.model.reply(reply);
    let mut terminal = open(&place, &["How many?"], &[]);
    terminal.shows("Seven.");
    let screen = terminal.hides("Esc stops");
    assert!(screen.contains("∴ thought for"), "{screen}");
    assert!(!screen.contains("Not eight."), "{screen}");
    terminal.press("\x0f");
    let screen = terminal.shows("Not eight.");
    assert!(screen.contains("Days of a week."), "{screen}");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
    // The same in a session that is opened again.
    let mut terminal = open(&place, &["--continue"], &[]);
    let screen = terminal.shows("∴ thought, ^O shows it");
    assert!(!screen.contains("Not eight."), "{screen}");
    terminal.press("\x0f");
    terminal.shows("Not eight.");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_line_says_what_it_took() {
    let place = Place::new("chat-status").await;
    let config =
        place.config().replace("model = \"m\"", "model = \"gpt-5-mini\"\ncontext_window = 2000");
    place.write("orlop.toml", config);
    place.model.reply(Reply::text(["Yes."]).usage(1180, 20));
    let mut terminal = open(&place, &["go"], &[]);
    let screen = terminal.shows("60 % context");
    let status = screen.lines().last().unwrap();
    assert!(status.starts_with("default · gpt-5-mini · ~ · 1.2k tokens · $0.0"), "{status}");
    // Another mode of permissions is told, and a key goes through them.
    terminal.press("\x1b[Z");
    terminal.shows("~ · accept_edits · 1.2k tokens");
    terminal.press("\x1b[Z");
    terminal.shows("~ · read_only · 1.2k tokens");
    terminal.press("\x1b[Z");
    terminal.shows("~ · 1.2k tokens");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
    // A long folder gives way to what it took.
    let folder = "a-folder-with-a-name-that-is-rather-long/and-another-one-in-it/project";
    std::fs::create_dir_all(place.path().join(folder)).unwrap();
    place.model.reply(Reply::text(["Yes."]).usage(1180, 20));
    let mut terminal = open(&place, &["-C", folder, "go"], &[]);
    let screen = terminal.shows("60 % context");
    let status = screen.lines().last().unwrap();
    assert!(status.starts_with("default · gpt-5-mini · …"), "{status}");
    assert!(status.contains("/project · 1.2k tokens · $0.0"), "{status}");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
    // In a session that has not begun a mode holds from its first message on.
    place.model.reply(Reply::text(["Yes."]).usage(1180, 20));
    let mut terminal = open(&place, &[], &[]);
    terminal.shows("^K commands");
    terminal.press("\x1b[Z");
    terminal.shows("~ · accept_edits");
    terminal.press("go\r");
    terminal.until("showed both", |screen| {
        let status = screen.lines().last().unwrap_or_default();
        status.contains("~ · accept_edits · 1.2k tokens") && status.contains("60 % context")
    });
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_nobody_reads_does_not_hold_up_the_turn() {
    let place = Place::new("chat-slow").await;
    let gate = Gate::new();
    let long: Vec<String> = (0..4_000).map(|number| format!("{number}. some words\n")).collect();
    place.model.reply(Reply::text(["Now"]).wait(&gate).then_text(["\n\n"]).then_text(long));
    let mut terminal = open(&place, &["go"], &[]);
    terminal.shows("Now");
    terminal.hold(true);
    gate.open();
    // The whole answer is stored while the screen stands still.
    let stored = async || {
        let page = place.run(&["session", "list", "--json"]).await.json();
        page["sessions"][0]["message_count"] == 2
    };
    while !stored().await {}
    terminal.hold(false);
    terminal.shows("3999. some words");
    terminal.hides("Esc stops");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

/// Ends the server of tmux, whatever became of the test.
pub(super) struct Tmux<'a>(pub(super) &'a Place);

impl Tmux<'_> {
    pub(super) fn run(&self, arguments: &[&str]) -> Option<String> {
        let mut command = Command::new("tmux");
        command.args(arguments).env("TMUX_TMPDIR", self.0.path());
        let output = command.output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok()
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_tmux_it_is_the_same_chat() {
    let place = Place::new("chat-tmux").await;
    let tmux = Tmux(&place);
    if tmux.run(&["-V"]).is_none() {
        return orlop_testkit::skip("the chat in tmux", "there is no tmux on this machine");
    }
    let mut command = CommandBuilder::new("tmux");
    command.args(["-u", "-f", "/dev/null", "new-session"]);
    command.arg(env!("CARGO_BIN_EXE_orlop"));
    let directory = place.path().to_str().unwrap();
    let variables = [("TMUX_TMPDIR", directory), ("SHELL", "/bin/sh")];
    let mut terminal = open_command(&place, command, &variables, (80, 24));
    terminal.shows("^K commands");
    let list: String = (1..=40).map(|number| format!("{number}. 漢字 line\n")).collect();
    place.model.reply(Reply::text([list]));
    terminal.press("go");
    terminal.press(ENTER);
    terminal.shows("40. 漢字 line");
    terminal.hides("Esc stops");
    // What scrolled away is in the scrollback of tmux, once and in its order.
    let kept = tmux.run(&["capture-pane", "-p", "-S", "-"]).unwrap();
    let lines: Vec<&str> = kept.lines().filter(|line| line.contains("漢字 line")).collect();
    let expected: Vec<String> = (1..=40).map(|number| format!("{number}. 漢字 line")).collect();
    assert_eq!(lines.iter().map(|line| line.trim()).collect::<Vec<_>>(), expected);
    // A smaller window is followed, and what is pasted is taken as a whole.
    terminal.resize(60, 16);
    terminal.until("drew anew", |screen| {
        screen.lines().rev().any(|line| line.starts_with("default · m"))
    });
    terminal.paste("two\nlines");
    terminal.shows("› two");
    terminal.press(ENTER);
    terminal.shows("You said: two");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-03
async fn an_edit_is_shown_as_a_difference_and_allowed_for_the_session() {
    let place = Place::new("chat-diff").await;
    // Not in the folder that has Orlop's own data in it.
    let file = place.write("project/a.txt", "one\ntwo\n");
    place.model.otherwise(|request| {
        let body = request.json();
        let last = body["messages"].as_array().unwrap().last().unwrap().clone();
        let edit = |old: &str, new: &str| {
            let input =
                serde_json::json!({ "path": "a.txt", "old_string": old, "new_string": new });
            Reply::tool_call("c1", "edit_file", input.to_string()).any()
        };
        match (last["role"].as_str(), last["content"].as_str()) {
            (Some("tool"), _) => Reply::text(["That is done."]).any(),
            (_, Some("go")) => edit("two", "2"),
            (_, Some("again")) => edit("one", "1"),
            _ => Reply::text(["A title"]).any(),
        }
    });
    let mut terminal = open(&place, &["-C", "project", "go"], &[]);
    let screen = terminal.shows("allow once");
    assert!(screen.contains("-two") && screen.contains("+2"), "{screen}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n");
    terminal.press("s");
    terminal.shows("That is done.");
    terminal.hides("Esc stops");
    let everything = terminal.everything();
    assert!(everything.contains("● a.txt: changed (+1 -1)"), "{everything}");
    assert_eq!(everything.matches("+2").count(), 1, "shown twice:\n{everything}");
    // Not asked again.
    terminal.press("again\r");
    terminal.until("changed it", |screen| screen.contains("+1\n"));
    terminal.hides("Esc stops");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\n2\n");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
    // Who goes on with the session sees what was changed.
    let mut terminal = open(&place, &["-C", "project", "--continue"], &[]);
    terminal.shows("That is done.");
    let everything = terminal.everything();
    for words in ["● a.txt: changed (+1 -1)", "-two", "+2", "-one", "+1"] {
        assert!(everything.contains(words), "{words}:\n{everything}");
    }
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}
