//! The chat on a real terminal: what is typed, what is shown, and how it ends.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::Place;
use common::pty::open;
use expect_test::expect;
use orlop_testkit::Gate;
use orlop_testkit::mock_model::Reply;
use std::time::{Duration, Instant};

const ENTER: &str = "\r";
const ESCAPE: &str = "\x1b";
const CONTROL_C: &str = "\x03";
const CONTROL_D: &str = "\x04";

#[tokio::test(flavor = "multi_thread")] // K-01, K-02
async fn an_answer_streams_in_as_markdown() {
    let place = Place::new("chat").await;
    let gate = Gate::new();
    let reply = Reply::text(["# Berths\n\nBerth **two", "** is"]).wait(&gate);
    place
        .model
        .reply(reply.then_text([" free:\n\n- small\n", "- dry\n\n```rust\nlet x = 1;\n```\n"]));
    let mut terminal = open(&place, &[], &[]);
    terminal.shows("default · m · ~");
    terminal.press("Is a berth free?");
    terminal.shows("› Is a berth free?");
    terminal.press(ENTER);
    gate.reached().await;
    // What has come so far, before the rest is there.
    terminal.shows("Berth two is");
    terminal.shows("answering");
    gate.open();
    terminal.hides("answering");
    terminal.shows("let x = 1;");
    let screen = terminal.shows("tokens");
    let (said, live) = screen.rsplit_once("\n\n›").unwrap();
    expect![[r#"
        › Is a berth free?

        Berths

        Berth two is free:

        • small
        • dry

        ```rust
        let x = 1;
        ```"#]]
    .assert_eq(said.trim_start());
    assert!(live.contains("tokens"), "{screen}");
    // The next request goes on in the same session.
    terminal.press("and now?\r");
    terminal.shows("You said: and now?");
    let requests = place.model.requests();
    let said = |request: &serde_json::Value| -> Vec<String> {
        let messages = request["messages"].as_array().unwrap().iter();
        let users = messages.filter(|message| message["role"] == "user");
        users.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    };
    let chats: Vec<_> = requests.iter().map(|request| said(&request.json())).collect();
    assert!(
        chats.contains(&vec!["Is a berth free?".to_owned(), "and now?".to_owned()]),
        "{chats:?}"
    );
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-07
async fn escape_stops_an_answer_and_the_chat_goes_on() {
    let place = Place::new("chat-stop").await;
    for key in [ESCAPE, CONTROL_C] {
        let gate = Gate::new();
        place.model.reply(Reply::text(["Once upon a time"]).wait(&gate).then_text(["never"]));
        let mut terminal = open(&place, &["Tell me a story"], &[]);
        terminal.shows("Once upon a time");
        let pressed = Instant::now();
        terminal.press(key);
        let screen = terminal.shows("! Stopped");
        assert!(pressed.elapsed() < Duration::from_secs(1), "{:?}", pressed.elapsed());
        assert!(screen.contains("Once upon a time"), "{screen}");
        terminal.press("hello\r");
        terminal.shows("You said: hello");
        gate.open();
        terminal.press(CONTROL_D);
        assert_eq!(terminal.ends(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn control_c_twice_leaves_at_once() {
    let place = Place::new("chat-leave").await;
    let gate = Gate::new();
    place.model.reply(Reply::text(["Once"]).wait(&gate));
    let mut terminal = open(&place, &["go"], &[]);
    terminal.shows("Once");
    let pressed = Instant::now();
    terminal.press(CONTROL_C);
    terminal.press(CONTROL_C);
    assert_eq!(terminal.ends(), 0);
    assert!(pressed.elapsed() < Duration::from_secs(2), "{:?}", pressed.elapsed());
    gate.open();
    // What is typed goes first, then the chat.
    let mut terminal = open(&place, &[], &[]);
    terminal.shows("^K commands");
    terminal.press("half a thought");
    terminal.shows("half a thought");
    terminal.press(CONTROL_C);
    terminal.hides("half a thought");
    terminal.shows("Ctrl-C again leaves");
    terminal.press(CONTROL_C);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_is_as_it_was_afterwards() {
    let place = Place::new("chat-restored").await;
    let mut terminal = open(&place, &["hello"], &[]);
    terminal.shows("You said: hello");
    terminal.hides("Esc stops");
    terminal.press(CONTROL_D);
    let seen = loop {
        let bytes = terminal.bytes();
        if String::from_utf8_lossy(&bytes).contains("\x1b[?2004l") {
            break String::from_utf8_lossy(&bytes).into_owned();
        }
        tokio::task::yield_now().await;
    };
    // Bracketed paste and key reports are off again, and the cursor is visible.
    assert!(seen.contains("\x1b[?2004h") && seen.contains("\x1b[<1u"), "{seen:?}");
    assert!(seen.rfind("\x1b[?25h") > seen.rfind("\x1b[?25l"));
    // The live rows are gone, what was said stays.
    assert_eq!(terminal.screen().trim_start(), "› hello\n\nYou said: hello");
    assert_eq!(terminal.ends(), 0);
}
