//! Decisions about tool calls: nobody allows what they cannot see, and nothing that is shown acts on
//! the terminal.

use super::common::{Chat, event, partial};
use super::map;
use orlop_app::{EventKind, Remember, RememberOffer};
use orlop_core::{Map, Message};
use orlop_terminal::model::{Ask, Effect, Pick, Told};
use orlop_terminal::screen::Screen;
use orlop_terminal::text::Reader;
use orlop_terminal::view::{self, History};
use serde_json::{Value, json};
use std::time::Duration;

fn call(chat: &mut Chat, preview: &str) {
    chat.event(event(EventKind::ToolCall {
        call_id: "c1".into(),
        name: "shell".into(),
        call: Map::new(),
        preview: preview.into(),
    }));
}

fn ask(chat: &mut Chat, input: Value, form: Option<Value>) {
    chat.event(event(EventKind::ApprovalRequested {
        call_id: "c1".into(),
        name: "shell".into(),
        call: Map::new(),
        input,
        reason: "it changes files".into(),
        choices: vec!["allow".into(), "deny".into()],
        form: form.map(map),
        remember: vec![RememberOffer { scope: Remember::Always, rule: "shell".into() }],
    }));
}

fn begun() -> Chat {
    let mut chat = Chat::new();
    chat.type_("go\r");
    chat.started("r1", "s1");
    chat.history();
    chat
}

#[test]
fn what_does_not_fit_is_said_and_a_key_shows_all_of_it() {
    let mut chat = begun();
    let diff: String = (1..=60).map(|number| format!("+line {number}\n")).collect();
    call(&mut chat, &format!("a.txt: change\n{diff}"));
    ask(&mut chat, json!({ "path": "a.txt", "text": "x".repeat(500) }), None);
    chat.model.drawn();
    let screen = chat.screen();
    assert!(screen.lines().count() <= chat.size.1, "{screen}");
    assert!(screen.contains("  a.txt: change\n  +line 1\n  +line 2\n"), "{screen}");
    assert!(screen.contains("more rows, ^O shows all") && screen.contains("y  allow once"));
    chat.control('o');
    let history = chat.history();
    assert!(history.contains("shell\na.txt: change\n+line 1\n"), "{history}");
    assert!(history.contains("+line 60\n") && history.contains("\"path\": \"a.txt\""), "{history}");
    assert!(chat.screen().contains("more rows, all of it stands above"), "{}", chat.screen());
    // Once; behind it is what was shortened before, which is nothing.
    chat.control('o');
    assert_eq!(chat.history(), "");
    assert!(chat.screen().contains("nothing was shortened"));
    let effects = chat.type_("a");
    let [Effect::App(Ask::Decide(_, decision))] = &effects[..] else { panic!("{effects:?}") };
    assert!(decision.allow && decision.remember == Some(Remember::Always));
}

#[test]
fn a_long_command_is_shown_as_a_whole() {
    let mut chat = begun();
    let command = format!("echo {} && rm -rf everything", "harmless ".repeat(20));
    call(&mut chat, &command);
    ask(&mut chat, Value::Null, None);
    let words = chat.screen().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("&& rm -rf everything") && !words.contains("more rows"), "{words}");
}

#[test]
fn what_a_running_tool_is_about_to_do_opens_with_a_key() {
    let mut chat = begun();
    let diff: String = (1..=30).map(|number| format!("-line {number}\n")).collect();
    call(&mut chat, &format!("a.txt: change\n{diff}"));
    let screen = chat.screen();
    assert!(screen.contains("… 18 more lines, ^O shows all"), "{screen}");
    chat.control('o');
    assert!(chat.history().ends_with("-line 30\n"));
    // In the history it is short enough to be there as a whole.
    let message = Message::tool("done").with_metadata(map(json!({ "tool_name": "shell" })));
    chat.event(event(EventKind::ToolResult { call_id: "c1".into(), message }));
    assert!(chat.history().contains("  -line 30\n  done\n"));
    chat.control('o');
    assert!(chat.screen().contains("nothing was shortened"));
}

#[test]
fn only_what_was_shortened_is_offered() {
    let mut chat = begun();
    let result = |chat: &mut Chat, text: &str| {
        let message = Message::tool(text).with_metadata(map(json!({ "tool_name": "shell" })));
        chat.event(event(EventKind::ToolResult { call_id: "c".into(), message }));
        chat.history()
    };
    let wide = "wide ".repeat(40);
    let shown = result(&mut chat, &wide);
    assert!(shown.contains("… cut off, ^O shows all"), "{shown}");
    result(&mut chat, "short");
    chat.control('o');
    let words = chat.history().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words, format!("shell {}", wide.trim_end()));
}

#[test]
fn a_key_pressed_before_the_question_stood_there_decides_nothing() {
    let mut chat = begun();
    ask(&mut chat, json!({ "command": "rm x" }), None);
    // Nothing was drawn since it came.
    let effects = chat.type_("y");
    assert!(!effects.iter().any(|it| matches!(it, Effect::App(Ask::Decide(..)))), "{effects:?}");
    assert!(chat.screen().contains("› y") && chat.screen().contains("empty your line first"));
    chat.model.drawn();
    chat.control('u');
    let effects = chat.type_("y");
    assert!(matches!(&effects[..], [Effect::App(Ask::Decide(..))]), "{effects:?}");
}

#[test]
fn a_question_comes_up_as_soon_as_nothing_else_is_in_front() {
    let mut chat = begun();
    chat.control('r');
    assert!(chat.screen().contains("Sent before:"));
    let form = json!({ "title": "Which?", "inputs": [{ "name": "answer", "label": "Port" }] });
    ask(&mut chat, json!({}), Some(form));
    let screen = chat.screen();
    assert!(!screen.contains("Which?") && screen.contains("waiting for you"), "{screen}");
    chat.key(crossterm::event::KeyCode::Esc);
    assert!(chat.screen().contains("Which?"), "{}", chat.screen());
    // The same behind a form, and behind a list from which something was chosen.
    let mut chat = begun();
    chat.palette(Vec::new());
    let form = json!({ "title": "Which?", "inputs": [{ "name": "answer", "label": "Port" }] });
    ask(&mut chat, json!({}), Some(form));
    chat.type_("keys\r");
    assert!(chat.screen().contains("Which?"), "{}", chat.screen());
}

/// Clears the screen, sets the clipboard and the title, turns text round, in all the ways there are.
const HOSTILE: &str = "\u{1b}[2J\u{9b}2J\u{1b}]52;c;ZXZpbA==\u{7}\u{9d}0;owned\u{9c}\u{1b}]0;owned\u{1b}\\\u{202e}dlrow\u{2066}\r\u{8}\u{85}ok";

#[test]
fn nothing_that_others_wrote_acts_on_the_terminal() {
    for reader in [Reader::Eyes, Reader::Ears] {
        let mut chat = begun();
        chat.model.conversation.model = HOSTILE.into();
        chat.model.conversation.folder = HOSTILE.into();
        call(&mut chat, HOSTILE);
        ask(&mut chat, json!({ "command": HOSTILE }), None);
        chat.model.drawn();
        let mut history = History::new(reader);
        let mut written = Vec::new();
        let mut screen = Screen::new(&mut written, false, (80, 24));
        let asked = view::frame(&chat.model, (80, 24));
        let question = chat.model.question().unwrap_or_default();
        chat.control('o');
        chat.type_("y");
        chat.event(partial(HOSTILE, HOSTILE));
        let metadata = map(json!({ "tool_name": HOSTILE, "tool_plugin": "p" }));
        let message = Message::tool(HOSTILE.repeat(20)).with_metadata(metadata);
        chat.event(event(EventKind::ToolResult { call_id: "c2".into(), message }));
        chat.control('o');
        chat.control('o');
        let mut lines = history.take(&mut chat.model, 80);
        chat.control('o');
        lines.extend(history.take(&mut chat.model, 80));
        screen.draw(&lines, asked).unwrap();
        drop(screen);
        chat.model.update(Duration::ZERO, orlop_terminal::model::Input::Tick);
        let text: String = lines.iter().map(|line| line.text() + "\n").collect();
        for part in [text, orlop_app::ui::plain_text(&question)] {
            assert!(part.contains("ok"), "{part:?}");
            let acts = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{2066}".contains(c);
            assert!(!part.contains(acts), "{part:?}");
        }
        // What is written moves the cursor and styles, and does nothing of the above.
        let written = String::from_utf8(written).unwrap();
        for act in ["\u{1b}[2J", "\u{9b}", "\u{1b}]", "\u{9d}", "\u{202e}", "\u{8}", "\u{7}"] {
            assert!(!written.contains(act), "{act:?} in {written:?}");
        }
    }
    // Nor in lists.
    let mut chat = begun();
    chat.type_("/sessions\r");
    let item = orlop_terminal::model::Item {
        label: HOSTILE.into(),
        detail: HOSTILE.into(),
        choice: orlop_terminal::model::Choice::Session("s9".into()),
    };
    let pick = Pick::Sessions(orlop_terminal::model::SessionUse::Open);
    chat.tell(Told::Listed { pick, items: vec![item] });
    chat.tell(Told::Preview { session: "s9".into(), lines: vec![HOSTILE.into()] });
    assert!(!chat.screen().contains(|c: char| c.is_control() && c != '\n'), "{:?}", chat.screen());
}
