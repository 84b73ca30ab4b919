//! The chat line by line: on a terminal, in a pipe, and what is read out of it.

use super::{CONTROL_C, CONTROL_D};
use crate::common::Place;
use crate::common::pty::open;
use orlop_testkit::Gate;
use orlop_testkit::mock_model::Reply;

#[tokio::test(flavor = "multi_thread")] // K-01
async fn line_by_line_on_a_terminal_nothing_is_redrawn() {
    let place = Place::new("plain-terminal").await;
    let table = "| berth | depth |\n| --- | ---: |\n| 2 | 3.5 m |\n\n- dry\n";
    place.model.reply(Reply::text([table]));
    let mut terminal = open(&place, &["--plain"], &[]);
    terminal.until("asked", |screen| screen == ">");
    terminal.press("Which are free?\n");
    let screen = terminal.shows("- dry");
    assert!(screen.contains("berth: 2; depth: 3.5 m"), "{screen}");
    // Typed once, and not said again.
    assert_eq!(screen.matches("Which are free?").count(), 1, "{screen}");
    terminal.press("/copy\n");
    terminal.shows("Nothing can be copied from here. The text is:");
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
async fn control_c_stops_an_answer_line_by_line_and_twice_leaves() {
    let place = Place::new("plain-stop").await;
    let gate = Gate::new();
    place.model.reply(Reply::text(["Once\n\nupon"]).wait(&gate).then_text(["never"]));
    let mut terminal = open(&place, &["--plain", "go"], &[]);
    terminal.shows("Once");
    terminal.press(CONTROL_C);
    terminal.shows("Warning: Stopped");
    terminal.shows("Ctrl-C again leaves");
    terminal.press("hello\n");
    terminal.shows("You said: hello");
    terminal.press(CONTROL_C);
    terminal.press(CONTROL_C);
    assert_eq!(terminal.ends(), 0);
    gate.open();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_goes_on_is_read_out_with_what_was_asked() {
    let place = Place::new("plain-resume").await;
    place.run(&["run", "--session", "s1", "the first thing"]).await.ok();
    let lines = "/edit\n1\n\n/edit\n1\nthe second thing\n";
    let done = place.run_with(&["--plain", "--resume", "s1"], lines).await.ok();
    let mut rest = done.as_str();
    for words in [
        "You: the first thing",
        "You said: the first thing",
        // An old message is read out before it is written anew, and can be sent as it was.
        "the first thing\nWhat to say in its place, or an empty line to say it again: ",
        "You said: the first thing",
        "What to say in its place",
        "You said: the second thing",
    ] {
        let place = rest.find(words).unwrap_or_else(|| panic!("{words}:\n{done}"));
        rest = &rest[place + words.len()..];
    }
    assert_eq!(place.messages("s1").await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_hears_of_failures_by_the_exit_code() {
    let place = Place::new("plain-fails").await;
    place.model.reply(Reply::status(400).saying("no such berth"));
    let done = place.run_with(&["--plain"], "go\n").await;
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.out.contains("Failed: ") && done.out.contains("no such berth"), "{done:?}");
    let done = place.run_with(&["--plain"], "hello\n").await;
    assert_eq!(done.code, Some(0), "{done:?}");
    // Who sits at a terminal has read it.
    place.model.reply(Reply::status(400).saying("no such berth"));
    let mut terminal = open(&place, &["--plain", "go"], &[]);
    terminal.shows("no such berth");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}
