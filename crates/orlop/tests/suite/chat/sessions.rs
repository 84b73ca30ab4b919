//! Sessions in the chat: going on, settings, models and agents, forks from any message, deleting.

use super::{CONTROL_D, ENTER};
use crate::common::Place;
use crate::common::pty::{Terminal, open};
use orlop_testkit::Gate;
use orlop_testkit::mock_model::Reply;

const CONTROL_K: &str = "\x0b";

/// Does what the palette calls this.
fn choose(terminal: &mut Terminal, command: &str) {
    terminal.press(CONTROL_K);
    terminal.shows("Commands:");
    terminal.press(command);
    terminal.until("found it", |screen| screen.contains(&format!("▸ {command}")));
    terminal.press(ENTER);
}

#[tokio::test(flavor = "multi_thread")] // K-08
async fn another_model_and_another_agent_answer() {
    let place = Place::new("chat-switch").await;
    place.model.models(["m", "larger"]);
    let mut terminal = open(&place, &["hello"], &[]);
    terminal.shows("You said: hello");
    terminal.hides("Esc stops");
    choose(&mut terminal, "Switch model");
    terminal.shows("m  (in use)");
    terminal.press("larger");
    terminal.shows("▸ larger");
    terminal.press(ENTER);
    terminal.shows("default · larger ·");
    terminal.press("again\r");
    terminal.shows("You said: again");
    terminal.hides("Esc stops");
    let asked = |words: &str| {
        let requests = place.model.requests();
        let chats = requests.iter().filter(|it| it.method == "POST").map(|it| it.json());
        let mut fitting = chats
            .filter(|it| it["messages"].as_array().unwrap().last().unwrap()["content"] == words);
        fitting.next().unwrap()["model"].as_str().unwrap().to_owned()
    };
    assert_eq!((asked("hello").as_str(), asked("again").as_str()), ("m", "larger"));
    choose(&mut terminal, "Switch agent");
    terminal.shows("other  openai_compatible o");
    terminal.press("other\r");
    terminal.shows("other answers from now on");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-08
async fn a_fork_begins_at_any_message() {
    let place = Place::new("chat-fork").await;
    for text in ["one", "two", "three"] {
        place.run(&["run", "--session", "s1", text]).await.ok();
    }
    let mut terminal = open(&place, &["--resume", "s1"], &[]);
    terminal.shows("You said: three");
    choose(&mut terminal, "Fork from a message");
    terminal.shows("Fork from which message?");
    terminal.press("You said: one");
    terminal.shows("▸ You said: one");
    terminal.press(ENTER);
    terminal.shows("Forked; the original is as it was");
    terminal.press("four\r");
    terminal.shows("You said: four");
    terminal.hides("Esc stops");
    let asked: Vec<String> = place.asked()["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(asked, ["one", "four"]);
    assert_eq!(place.messages("s1").await.len(), 6);
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-01, K-08
async fn the_last_session_of_the_folder_goes_on_and_can_be_deleted() {
    let place = Place::new("chat-continue").await;
    place.run(&["run", "--session", "s1", "the first thing"]).await.ok();
    let mut terminal = open(&place, &["--continue"], &[]);
    terminal.shows("› the first thing");
    terminal.press("and more\r");
    terminal.shows("You said: and more");
    terminal.hides("Esc stops");
    assert_eq!(place.messages("s1").await.len(), 4);
    terminal.press("/rename\r");
    terminal.shows("Rename the session");
    terminal.press("\x15Harbour\r");
    terminal.shows("The session is called \"Harbour\"");
    terminal.press("/export\r");
    terminal.shows("File (.md or .json)");
    terminal.press("\x15talk.json\r");
    terminal.shows("Written to");
    let text = std::fs::read_to_string(place.path().join("talk.json")).unwrap();
    let session: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(session["messages"].as_array().unwrap().len(), 4);
    terminal.press("/delete\r");
    terminal.shows("Delete this session for good?");
    terminal.press("y");
    terminal.shows("✓ Deleted");
    terminal.shows("── New session");
    place.run(&["session", "show", "s1"]).await.fails(4, &["s1"]);
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-08
async fn settings_hold_in_the_session_and_nowhere_else() {
    let place = Place::new("chat-settings").await;
    place.model.models(["m", "larger"]);
    let mut terminal = open(&place, &["hello"], &[]);
    terminal.shows("You said: hello");
    terminal.hides("Esc stops");
    terminal.press("/settings\r");
    terminal.shows("m · model");
    terminal.press("Model");
    terminal.shows("▸ Model");
    terminal.press(ENTER);
    terminal.shows("1. as the agent has it");
    terminal.press("3");
    terminal.press(ENTER);
    terminal.shows("default · larger ·");
    terminal.press("/settings\r");
    terminal.shows("larger · model");
    // And back to what the agent has.
    terminal.press("Model");
    terminal.shows("▸ Model");
    terminal.press(ENTER);
    terminal.shows("1. as the agent has it");
    terminal.press("1");
    terminal.press(ENTER);
    terminal.shows("✓ Model: as the agent has it");
    terminal.shows("default · m ·");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
    let mut terminal = open(&place, &[], &[]);
    terminal.shows("default · m ·");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-08
async fn an_answer_goes_on_where_it_was_asked_while_another_session_is_open() {
    let place = Place::new("chat-leave-session").await;
    place.run(&["run", "--session", "s2", "about lighthouses"]).await.ok();
    let gate = Gate::new();
    place.model.reply(Reply::text(["Once upon"]).wait(&gate).then_text([" a time"]));
    let mut terminal = open(&place, &["Tell me a story"], &[]);
    terminal.shows("Once upon");
    terminal.press("/sessions\r");
    terminal.shows("Sessions:");
    terminal.press("lighthouses");
    terminal.shows("▸ about lighthouses");
    terminal.press(ENTER);
    terminal.shows("The answer goes on in");
    terminal.shows("You said: about lighthouses");
    terminal.hides("Esc stops");
    // This session is spoken to meanwhile.
    terminal.press("and now?\r");
    terminal.shows("You said: and now?");
    terminal.hides("Esc stops");
    gate.open();
    terminal.shows("is answered;");
    assert!(!terminal.everything().contains("a time"), "{}", terminal.everything());
    terminal.press("still here?\r");
    terminal.shows("You said: still here?");
    terminal.hides("Esc stops");
    assert_eq!(place.messages("s2").await.len(), 6);
    // Back there the answer is whole.
    terminal.press("/sessions\r");
    terminal.shows("Sessions:");
    terminal.press("story");
    // The list may have begun with it; what counts is that it is chosen for what was typed.
    terminal.until("found it", |screen| {
        let mut lines = screen.lines();
        screen.contains("Sessions: story")
            && lines.any(|line| line.starts_with("▸") && !line.contains("lighthouses"))
    });
    terminal.press(ENTER);
    terminal.hides("Sessions:");
    terminal.shows("Once upon a time");
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")] // K-08
async fn keys_of_the_list_fork_rename_and_export() {
    let place = Place::new("chat-list-keys").await;
    place.run(&["run", "--session", "s1", "the first thing"]).await.ok();
    let mut terminal = open(&place, &["--resume"], &[]);
    terminal.shows("│ You said: the first thing");
    terminal.press("\x12");
    terminal.shows("Rename the session");
    terminal.press("\x15Harbour\r");
    terminal.shows("The session is called \"Harbour\"");
    terminal.press("/sessions\r");
    terminal.shows("▸ Harbour");
    terminal.press("\x05");
    terminal.shows("File (.md or .json)");
    terminal.press("\x15talk.md\r");
    terminal.shows("Written to");
    let text = std::fs::read_to_string(place.path().join("talk.md")).unwrap();
    assert!(text.contains("## user\n\nthe first thing"), "{text}");
    terminal.press("/sessions\r");
    terminal.shows("▸ Harbour");
    terminal.press("\x06");
    terminal.shows("Forked; the original is as it was");
    terminal.press("more\r");
    terminal.shows("You said: more");
    terminal.hides("Esc stops");
    assert_eq!(place.messages("s1").await.len(), 2);
    terminal.press(CONTROL_D);
    assert_eq!(terminal.ends(), 0);
}
