//! Writing in the chat: keys of emacs and vi, what was sent before, files that are pasted.

use super::{CONTROL_C, CONTROL_D, ENTER, ESCAPE};
use crate::common::Place;
use crate::common::pty::open;
use orlop_testkit::Gate;
use orlop_testkit::mock_model::Reply;

const UP: &str = "\x1b[A";
const CONTROL_R: &str = "\x12";

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_are_those_of_emacs_or_of_vi() {
    let place = Place::new("chat-keys").await;
    let mut terminal = open(&place, &[], &[]);
    terminal.shows("^K commands");
    // Beginning of the line, end of a word, cut it, end of the line, put it in.
    terminal.press("one two\x01\x1bd\x05 \x19");
    terminal.shows("›  two one");
    // Another line, and back to the first.
    terminal.press("\x1b\rbelow\x10\x01>");
    terminal.shows("› > two one\n  below");
    terminal.press(CONTROL_C);
    terminal.hides("below");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
    // The same by flag and by the configuration; a flag goes before it.
    place.write("orlop.toml", place.config() + "[terminal]\nkeys = \"vi\"\n");
    let mut terminal = open(&place, &[], &[]);
    terminal.shows("^K commands");
    terminal.press("one two");
    terminal.shows("› one two");
    terminal.press(ESCAPE);
    terminal.shows(": one two");
    terminal.press("bcwTWO");
    terminal.shows("› one TWO");
    terminal.press(ESCAPE);
    terminal.shows(": one TWO");
    terminal.press("dd");
    terminal.hides("one TWO");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
    let mut terminal = open(&place, &["--keys", "emacs"], &[]);
    terminal.shows("^K commands");
    terminal.press("one\x01>");
    terminal.shows("› >one");
    terminal.press(CONTROL_C);
    terminal.hides("one");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
    let wrong = place.run(&["--set", "terminal.keys=ed", "config", "check"]).await;
    assert!(wrong.out.contains("terminal.keys"), "{wrong:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_vi_keys_a_second_escape_stops_the_answer() {
    let place = Place::new("chat-vi-stop").await;
    let gate = Gate::new();
    place.model.reply(Reply::text(["Once"]).wait(&gate).then_text(["never"]));
    let mut terminal = open(&place, &["--keys", "vi", "go"], &[]);
    terminal.shows("Once");
    terminal.press(ESCAPE);
    terminal.until("left insertion", |screen| screen.lines().any(|line| line.trim_end() == ":"));
    terminal.press(ESCAPE);
    terminal.shows("! Stopped");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
    gate.open();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_is_remembered_in_the_next_chat() {
    let place = Place::new("chat-history").await;
    let mut terminal = open(&place, &[], &[]);
    terminal.shows("^K commands");
    for (text, answer) in [
        ("the first thing", "You said: the first thing"),
        ("two\x1b\rlines", "You said: two"),
        (" not for the file", "You said:  not"),
    ] {
        terminal.press(text);
        terminal.press(ENTER);
        terminal.shows(answer);
        terminal.hides("Esc stops");
    }
    // Within the chat all of it comes back.
    terminal.press(UP);
    terminal.shows("›  not for the file\ndefault");
    terminal.press(CONTROL_C);
    terminal.until("emptied the line", |screen| !screen.contains("›  not for the file\ndefault"));
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
    let file = place.home().join("history.jsonl");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "\"the first thing\"\n\"two\\nlines\"\n");
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // In another folder's chat, too.
    let mut terminal = open(&place, &["-C", "home"], &[]);
    terminal.shows("^K commands");
    terminal.press(UP);
    terminal.shows("› two\n  lines");
    terminal.press("\x1b[A\x1b[A");
    terminal.shows("› the first thing");
    terminal.press(CONTROL_C);
    terminal.hides("› the first");
    terminal.press(CONTROL_R);
    terminal.press("first");
    terminal.shows("▸ the first thing");
    terminal.press(ENTER);
    terminal.shows("› the first thing");
    terminal.press(CONTROL_C);
    terminal.hides("› the first");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
    // Who does not want it has it nowhere.
    std::fs::remove_file(&file).unwrap();
    let mut terminal = open(&place, &["--set", "terminal.history=false", "hello"], &[]);
    terminal.shows("You said: hello");
    terminal.hides("Esc stops");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
    assert!(!file.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_whose_paths_are_pasted_go_along() {
    let place = Place::new("chat-files").await;
    let notes = place.write("my notes.txt", "quay 7 is dry\n");
    let picture = place.write("boat.png", b"\x89PNG\r\n\x1a\nnot much of a picture");
    let mut terminal = open(&place, &[], &[]);
    terminal.shows("^K commands");
    // As terminals paste what is dragged into them: quoted, or with spaces escaped.
    terminal.paste(&format!("'{}'", notes.display()));
    terminal.shows("[File my notes.txt]");
    terminal.paste(&picture.display().to_string());
    terminal.shows("[File boat.png]");
    terminal.press("what is it?");
    terminal.press(ENTER);
    terminal.hides("Esc stops");
    let screen = terminal.shows("tokens");
    assert!(screen.contains("› what is it?") && screen.contains("/boat.png"), "{screen}");
    let requests = place.model.requests();
    let asked: Vec<String> = requests.iter().map(|request| request.json().to_string()).collect();
    let asked = asked.iter().find(|body| body.contains("what is it?")).unwrap();
    assert!(asked.contains("quay 7 is dry") && asked.contains("boat.png"), "{asked}");
    // What is no file is text.
    terminal.paste("/no/such/file");
    terminal.shows("› /no/such/file");
    terminal.press(CONTROL_C);
    terminal.hides("› /no");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}
