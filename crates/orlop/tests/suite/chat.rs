//! The chat on a real terminal: what is typed, what is shown, and how it ends.

#![cfg(unix)]
use crate::common;
mod copying;
mod editor;
mod first_run;
mod plain;
mod screen;
mod sessions;
mod walk;

use crate::common::Place;
use crate::common::pty::open;
use expect_test::expect;
use orlop_testkit::Gate;
use orlop_testkit::mock_model::Reply;

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
        terminal.press(key);
        // The model has not said another word, and nobody waits for it.
        let screen = terminal.shows("! Stopped");
        assert!(screen.contains("Once upon a time"), "{screen}");
        terminal.press("hello\r");
        terminal.shows("You said: hello");
        terminal.press(CONTROL_D);
        assert_eq!(terminal.ends(), 0);
        gate.open();
    }
}

#[tokio::test(flavor = "multi_thread")] // K-07
async fn escape_stops_a_command_that_would_run_for_ever() {
    let place = Place::new("chat-stop-tool").await;
    let call = r#"{"command":"echo it runs; exec sleep 100000"}"#;
    place.model.reply(Reply::tool_call("c1", "shell", call));
    let mut terminal = open(&place, &["go"], &[]);
    terminal.until("ran it", |screen| screen.lines().any(|line| line.trim() == "it runs"));
    terminal.press(ESCAPE);
    terminal.shows("! Stopped");
    terminal.press("hello\r");
    terminal.shows("You said: hello");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_stops_an_answer_that_is_under_way() {
    let place = Place::new("chat-leave-stops").await;
    let gate = Gate::new();
    place.model.reply(Reply::text(["Once"]).wait(&gate).then_text(["never"]));
    let mut terminal = open(&place, &["go"], &[]);
    terminal.shows("Once");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
    gate.open();
    // What came so far is kept, whether the goodbye was in time or the next start settled it.
    let sessions = place.run(&["session", "list", "--json"]).await.json();
    let id = sessions["sessions"][0]["session_id"].as_str().unwrap().to_owned();
    place.run(&["run", "--session", &id, "and now?"]).await.ok();
    let messages = place.messages(&id).await;
    assert_eq!(messages.first().map(String::as_str), Some("user: go"), "{messages:?}");
    assert_eq!(messages.last().map(String::as_str), Some("assistant: You said: and now?"));
}

#[tokio::test(flavor = "multi_thread")]
async fn control_c_twice_leaves_at_once() {
    let place = Place::new("chat-leave").await;
    let gate = Gate::new();
    place.model.reply(Reply::text(["Once"]).wait(&gate));
    let mut terminal = open(&place, &["go"], &[]);
    terminal.shows("Once");
    terminal.press(CONTROL_C);
    terminal.press(CONTROL_C);
    // It ends while the model still holds its answer back.
    assert_eq!(terminal.ends(), 0);
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

#[tokio::test(flavor = "multi_thread")]
async fn another_size_of_the_terminal_is_followed() {
    let place = Place::new("chat-resize").await;
    let mut terminal =
        open(&place, &["漢字 👩‍👩‍👧‍👦 and words that go on for longer than forty columns"], &[]);
    terminal.shows("You said: 漢字");
    terminal.hides("Esc stops");
    terminal.press("some text");
    terminal.shows("› some text");
    let before = terminal.bytes().len();
    terminal.resize(40, 12);
    // What was there looks as what is drawn anew does: the live rows are taken away in between.
    let is_drawn = |bytes: &[u8]| {
        let written = String::from_utf8_lossy(bytes).into_owned();
        written.split_once("\x1b[2K\x1b[B\x1b[J").is_some_and(|(_, then)| then.contains("default"))
    };
    while !is_drawn(&terminal.bytes()[before..]) {
        tokio::task::yield_now().await;
    }
    terminal.press(" and more of it than fits on one row");
    let screen = terminal.shows("row");
    assert!(screen.lines().all(|line| line.chars().count() <= 40), "{screen}");
    assert_eq!(screen.matches("› some text").count(), 1, "{screen}");
    terminal.press(CONTROL_C);
    terminal.hides("› some text");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_colours_nothing_is_coloured() {
    let place = Place::new("chat-plain-colours").await;
    let coloured = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let codes = text.split("\x1b[").skip(1).filter_map(|it| it.split_once('m')).map(|it| it.0);
        codes
            .flat_map(|codes| codes.split(';'))
            .any(|code| matches!(code.parse(), Ok(30..=37 | 90..=97)))
    };
    for (variables, expected) in [(&[][..], true), (&[("NO_COLOR", "1")], false)] {
        let mut terminal = open(&place, &["## hello"], variables);
        terminal.shows("You said: ## hello");
        terminal.hides("Esc stops");
        assert_eq!(coloured(&terminal.bytes()), expected);
        terminal.press(CONTROL_D);
        assert_eq!(terminal.ends(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_written_in_the_editor_of_the_user() {
    let place = Place::new("chat-editor").await;
    let editor = place.write("editor.sh", "#!/bin/sh\nprintf '%s\\nfrom the editor\\n' \"$(cat \"$1\")\" > \"$1.x\" && mv \"$1.x\" \"$1\"\n");
    std::fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut terminal = open(&place, &[], &[("EDITOR", editor.to_str().unwrap())]);
    terminal.shows("^K commands");
    terminal.press("a draft");
    terminal.shows("a draft");
    terminal.press("\x07");
    terminal.shows("from the editor");
    // Keys are read again, and the text is sent as a whole.
    terminal.press(ENTER);
    terminal.shows("You said: a draft");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pasted_or_sent_meanwhile_is_kept() {
    let place = Place::new("chat-paste").await;
    let gate = Gate::new();
    place.model.reply(Reply::text(["Once"]).wait(&gate).then_text([" more"]));
    let mut terminal = open(&place, &["go"], &[]);
    terminal.shows("Once");
    terminal.paste(&(1..=12).map(|number| format!("line {number}\n")).collect::<String>());
    terminal.shows("[Pasted text #1, 12 lines]");
    terminal.press(ENTER);
    terminal.shows("waits: line 1");
    gate.open();
    terminal.shows("You said: line 1");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test]
async fn in_a_pipe_a_prompt_is_answered_once() {
    let place = Place::new("chat-pipe").await;
    let done = place.run_with(&["review this"], "+ a line\n").await;
    assert_eq!(done.ok(), "You said: review this\n\n+ a line\n");
    assert_eq!(
        place.run_with(&["--plain"], "hello\n/quit\nnever\n").await.ok(),
        "> You said: hello\n> "
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_the_embedded_model_is_offered_in_one_line() {
    let place = Place::new("chat-first").await;
    std::fs::remove_file(place.path().join("orlop.toml")).unwrap();
    let mut terminal = open(&place, &[], &[]);
    let screen = terminal.shows("Bring it now? [Y/n]");
    let words = screen.replace('\n', "");
    // Why, what, how large, under which licence, and from where.
    assert!(words.contains("no key of a provider is set and no agent configured"), "{screen}");
    assert!(words.contains("MB, Apache-2.0, with pip or from huggingface.co)"), "{screen}");
    terminal.press("n\n");
    // The chat opens all the same.
    terminal.shows("default · smollm2");
    terminal.press("hello\r");
    terminal.shows("orlop model pull smollm2");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_cannot_be_brought_does_not_end_the_chat() {
    let place = Place::new("chat-no-model").await;
    std::fs::remove_file(place.path().join("orlop.toml")).unwrap();
    // Where its folder would be is a file.
    place.write("home/models", "");
    let mut terminal = open(&place, &[], &[]);
    terminal.shows("Bring it now? [Y/n]");
    terminal.press("y\n");
    terminal.shows("^K commands");
    terminal.shows("The model could not be brought: ");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_background_the_terminal_belongs_to_others() {
    let place = Place::new("chat-background").await;
    // Only a shell with jobs has a background.
    let mut command = portable_pty::CommandBuilder::new("sh");
    command.args(["-c", "set -m; \"$0\"; echo it is stopped; fg > /dev/null"]);
    command.arg(env!("CARGO_BIN_EXE_orlop"));
    let mut terminal = common::pty::open_command(&place, command, &[], (80, 24));
    terminal.shows("^K commands");
    terminal.press("half");
    terminal.shows("› half");
    terminal.press("\x1a");
    terminal.shows("it is stopped");
    terminal.shows("› half");
    terminal.press(" a line\r");
    terminal.shows("You said: half a line");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}
