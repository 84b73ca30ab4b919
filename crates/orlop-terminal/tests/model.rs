//! The chat as a value: what keys and events make of it, without a terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "model/away.rs"]
mod away;
mod common;
#[path = "model/deciding.rs"]
mod deciding;
#[path = "model/drafts.rs"]
mod drafts;
#[path = "model/forms.rs"]
mod forms;

use common::{Chat, element, event, partial};
use expect_test::expect;
use orlop_app::EventKind;
use orlop_app::ui::{Outcome, Surface};
use orlop_core::{Map, Message};
use orlop_terminal::editor::Sent;
use orlop_terminal::model::{
    Ask, Choice, Deed, Effect, Item, Operation, Pick, Run, SessionUse, Told, What,
};
use serde_json::{Value, json};

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

#[test] // K-02, K-03
fn a_turn_is_written_block_by_block() {
    let mut chat = Chat::new();
    chat.type_("list it\r");
    chat.started("r1", "s1");
    chat.event(partial("First.\n\nSecond, not", ""));
    chat.check_history(expect![[r#"
        › list it

        First.
    "#]]);
    chat.event(partial(" finished", ""));
    chat.event(event(EventKind::ToolCall {
        call_id: "c1".into(),
        name: "shell".into(),
        call: Map::new(),
        preview: "ls -l".into(),
    }));
    chat.event(event(EventKind::ToolPartial {
        call_id: "c1".into(),
        part: json!({"text": "a.txt\n"}),
    }));
    // The preview and the output stand there before the result does.
    chat.check_screen(expect![[r#"

        ○ ls -l
          a.txt
        ⠋ working 0 s · Esc stops

        ›
        default · m · ~/project                                             ^K commands"#]]);
    let message = Message::tool("a.txt\nb.txt").with_metadata(map(json!({ "tool_name": "shell" })));
    chat.event(event(EventKind::ToolResult { call_id: "c1".into(), message }));
    let one_line = map(json!({
        "tool_name": "read", "display": { "type": "text", "content": "12 lines", "single_line": true },
    }));
    let message = Message::tool("long").with_metadata(one_line);
    chat.event(event(EventKind::ToolResult { call_id: "c2".into(), message }));
    chat.end("s1");
    chat.check_history(expect![[r#"

        Second, not finished

        ● ls -l
          a.txt
          b.txt
        ● read  12 lines
    "#]]);
}

#[test]
fn an_answer_that_is_asked_for_again_is_written_once() {
    let anew = [
        EventKind::AnswerRestarted {},
        EventKind::OutputRejected { problems: vec!["no JSON".to_owned()] },
    ];
    let told = ["the answer was cut off and is", "the answer does not fit,"];
    for (anew, told) in anew.into_iter().zip(told) {
        let mut chat = Chat::new();
        chat.type_("count\r");
        chat.started("r1", "s1");
        chat.event(partial("", "Hm"));
        chat.event(partial("one tw", ""));
        chat.event(event(anew));
        chat.event(partial("one two", ""));
        chat.end("s1");
        let history = chat.history();
        assert!(history.contains(told), "{history}");
        assert_eq!(history.matches("one tw").count(), 1, "{history}");
    }
}

#[test]
fn thoughts_are_folded_and_long_results_too() {
    let mut chat = Chat::new();
    chat.type_("think\r");
    chat.started("r1", "s1");
    chat.event(partial("", "Let me see.\nYes."));
    chat.later(3);
    chat.event(partial("Done", ""));
    let text: String = (1..=20).map(|number| format!("line {number}\n")).collect();
    let message = Message::tool(text).with_metadata(map(json!({ "tool_name": "shell" })));
    chat.event(event(EventKind::ToolResult { call_id: "c".into(), message }));
    chat.check_history(expect![[r#"
        › think

        ∴ thought for 3 s, ^O shows it

        Done

        ● shell
          line 1
          line 2
          line 3
          line 4
          line 5
          line 6
          line 7
          line 8
          … 12 more lines, ^O shows all
    "#]]);
    chat.control('o');
    assert!(chat.history().ends_with("line 20\n"));
    chat.control('o');
    chat.check_history(expect![[r#"

        Thought
        Let me see.
        Yes.
    "#]]);
}

#[test]
fn what_is_sent_meanwhile_waits_and_can_be_taken_back() {
    let mut chat = Chat::new();
    chat.type_("one\r");
    chat.started("r1", "s1");
    assert!(chat.type_("two\r").is_empty());
    assert!(chat.type_("three\r").is_empty());
    assert!(chat.screen().contains("waits: two") && chat.screen().contains("2 waiting"));
    chat.key(crossterm::event::KeyCode::Up);
    assert!(chat.screen().contains("› three"), "{}", chat.screen());
    chat.control('u');
    let effects = chat.end("s1");
    let sent: Vec<String> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::App(Ask::Send { draft, .. }) => Some(draft.text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(sent, ["two"]);
}

#[test] // J-27, K-04
fn a_completion_takes_the_place_of_what_was_typed() {
    let mut chat = Chat::new();
    let effects = chat.type_("see @ma");
    let asked = effects
        .iter()
        .any(|it| matches!(it, Effect::App(Ask::Complete(text)) if text == "see @ma"));
    assert!(asked, "{effects:?}");
    let item = map(
        json!({ "replacement": "@main.rs", "start": -3, "display": "main.rs", "display_meta": "file" }),
    );
    let tell = Told::Completions { text: "see @ma".into(), items: vec![item.clone()] };
    chat.tell(tell);
    chat.check_screen(expect![[r#"

        › see @ma
          main.rs  file
        default · m · ~/project                                             ^K commands"#]]);
    let effects = chat.key(crossterm::event::KeyCode::Tab);
    let Some(Effect::App(Ask::Apply { text, completion, inserted })) = effects.first().cloned()
    else {
        panic!("{effects:?}")
    };
    assert_eq!(
        (text.as_str(), inserted.as_str(), &completion),
        ("see @main.rs", "@main.rs", &item)
    );
    // What the feature makes of it stands in its place, folded if it is long.
    let snippet: String = (0..20).map(|number| format!("line {number}\n")).collect();
    chat.tell(Told::Applied { text, inserted, snippet });
    assert!(chat.screen().contains("› see [Pasted text #1, 20 lines]"), "{}", chat.screen());
    let Some(Effect::App(Ask::Send { draft, .. })) = chat.type_("\r").first().cloned() else {
        panic!("not sent")
    };
    assert!(draft.text.starts_with("see line 0\nline 1\n"), "{}", draft.text);
}

#[test] // J-16, J-23, K-05
fn a_button_asks_its_dialog_and_runs_with_the_answers() {
    let mut chat = Chat::new();
    chat.palette(vec![element(json!({
        "ui_type": "session_action", "plugin": "compaction", "action_id": "compact_range",
        "label": "Compact range", "action_owner": "application",
        "dialog": { "title": "Compact range", "inputs": [
            { "name": "start", "type": "integer", "label": "Start", "required": true },
            { "name": "deep", "type": "boolean", "label": "Deep" },
        ] },
    }))]);
    chat.type_("compact");
    chat.key(crossterm::event::KeyCode::Enter);
    chat.type_("five");
    chat.key(crossterm::event::KeyCode::Tab);
    chat.key(crossterm::event::KeyCode::Enter);
    chat.check_screen(expect![[r#"

        Compact range
          Start *: five
          Deep:
            ▸ 1. no
              2. yes
          ✗ the field "Start" must be a whole number such as 5, but is "five"
        Tab: next field · Enter on the last goes on · Esc closes
        default · m · ~/project                                             ^K commands"#]]);
    chat.control('u');
    chat.type_("5");
    chat.key(crossterm::event::KeyCode::Tab);
    chat.type_("2");
    let effects = chat.key(crossterm::event::KeyCode::Enter);
    let [Effect::App(Ask::Run(run))] = &effects[..] else { panic!("{effects:?}") };
    let What::Element(_, answers) = &run.what else { panic!() };
    assert_eq!(Value::Object(answers.clone()), json!({ "start": 5, "deep": true }));
}

/// A display with all kinds of follow-ups, as the result of an action.
fn shown(chat: &mut Chat, surface: Surface, result: Value) -> Vec<Effect> {
    let what = What::Action { plugin: "p".into(), action: "a".into(), params: Map::new() };
    let session = Some("s1".to_owned());
    let run = Run { what, surface, session, message: None, follows: None };
    let outcome = Outcome::from_result(map(result));
    chat.tell(Told::Acted { run: Box::new(run), outcome: Box::new(outcome) })
}

fn login() -> Value {
    json!({ "display": {
        "title": "Login", "format": "markdown", "body": "Enter `ABCD`.", "variant": "warning",
        "display_id": "login", "actions": [
            { "id": "o", "label": "Open", "kind": "open_url", "url": "https://example.test/device" },
            { "id": "c", "label": "Copy the code", "kind": "copy_text", "text": "ABCD" },
            { "id": "r", "label": "Check", "kind": "run_action", "plugin": "p", "action_id": "check",
              "params": { "n": 1 }, "preserve_display": true },
        ],
    } })
}

#[test] // K-06, K-14, K-15, K-16, K-17, G-27, G-28
fn displays_stay_with_their_follow_ups_until_they_are_taken_away() {
    let mut chat = Chat::new();
    shown(&mut chat, Surface::SessionAction, login());
    chat.check_screen(expect![[r#"

        ▌ Login
        ▌ Enter ABCD.
        ▌ 1. Open (https://example.test/device)
        ▌ 2. Copy the code
        ▌ 3. Check

        ›
        default · m · ~/project                                             ^K commands"#]]);
    let open = chat.alt('1');
    assert!(
        matches!(&open[..], [Effect::Terminal(Deed::Open(url))] if url == "https://example.test/device")
    );
    let copy = chat.alt('2');
    assert!(matches!(&copy[..], [Effect::Terminal(Deed::Copy(text))] if text == "ABCD"));
    let run = chat.alt('3');
    let [Effect::App(Ask::Run(run))] = &run[..] else { panic!("{run:?}") };
    assert!(
        matches!(&run.what, What::Action { action, params, .. } if action == "check" && params["n"] == 1)
    );
    // The follow-up preserves it; a display with the same id takes its place.
    let outcome = Outcome::from_result(map(json!({ "message": "not yet" })));
    chat.tell(Told::Acted { run: run.clone(), outcome: Box::new(outcome) });
    assert!(chat.screen().contains("Enter ABCD."));
    shown(
        &mut chat,
        Surface::SessionAction,
        json!({ "display": {
        "body": "Logged in", "display_id": "login", "presentation": "modal", "dismissible": false,
    } }),
    );
    assert!(!chat.screen().contains("ABCD") && chat.screen().contains("▌ Logged in"));
    chat.key(crossterm::event::KeyCode::Esc);
    assert!(chat.screen().contains("▌ Logged in"), "it must stay");
    shown(&mut chat, Surface::SessionAction, json!({ "display": { "body": "Other" } }));
    chat.key(crossterm::event::KeyCode::Esc);
    assert!(!chat.screen().contains("▌ Other"));
}

#[test] // K-05, K-13
fn an_action_shows_its_display_else_its_message_else_that_it_worked() {
    let mut chat = Chat::new();
    shown(&mut chat, Surface::SessionAction, json!({ "message": "Moved 3" }));
    shown(&mut chat, Surface::SessionAction, json!({}));
    shown(&mut chat, Surface::SessionAction, json!({ "status": "error", "message": "no luck" }));
    shown(
        &mut chat,
        Surface::SessionList,
        json!({ "display": { "body": "not here" }, "message": "Pinned" }),
    );
    chat.check_history(expect![[r#"
        ✓ Moved 3
        ✓ Done
        ✗ no luck
        ✓ Pinned
    "#]]);
    assert!(!chat.screen().contains("not here"));
}

#[test] // K-18, K-19
fn what_an_action_did_to_sessions_is_followed() {
    let mut chat = Chat::new();
    chat.type_("x\r");
    chat.started("r1", "s1");
    chat.end("s1");
    let operations = |effects: Vec<Effect>| -> Vec<Operation> {
        let operation = |effect| match effect {
            Effect::App(Ask::Do(operation)) => Some(operation),
            _ => None,
        };
        effects.into_iter().filter_map(operation).collect()
    };
    let acts =
        |chat: &mut Chat, result: Value| operations(shown(chat, Surface::SessionAction, result));
    let reload = json!({ "ui_effects": { "reload_session_ids": ["s1"], "confetti": true } });
    assert_eq!(acts(&mut chat, reload), [Operation::Open("s1".into())]);
    let other = json!({ "mutations": { "updated_session_ids": ["s9"] } });
    assert_eq!(acts(&mut chat, other), []);
    let updated = json!({ "mutations": { "updated_session_ids": ["s1"] } });
    assert_eq!(acts(&mut chat, updated), [Operation::Reload]);
    let go = json!({ "ui_effects": { "navigate": { "screen": "session", "session_id": "s2" } } });
    assert_eq!(acts(&mut chat, go), [Operation::Open("s2".into())]);
    let deleted = json!({ "mutations": { "deleted_session_ids": ["s1"] } });
    assert_eq!(acts(&mut chat, deleted), [Operation::New]);
    assert!(chat.screen().contains("Sessions:"), "{}", chat.screen());
}

#[test] // K-18
fn what_an_action_gives_is_copied_and_written() {
    let mut chat = Chat::new();
    let effects = json!({ "ui_effects": {
        "copy_text": "ABCD", "download": { "asset_id": "a1", "name": "talk.md" },
    } });
    let effects = shown(&mut chat, Surface::SessionAction, effects);
    let [
        Effect::Terminal(Deed::Copy(text)),
        Effect::App(Ask::Do(Operation::Download { asset, name })),
    ] = &effects[..]
    else {
        panic!("{effects:?}")
    };
    assert_eq!((text.as_str(), asset.as_str(), name.as_str()), ("ABCD", "a1", "talk.md"));
    assert!(chat.screen().contains("copied"), "{}", chat.screen());
}

#[test] // K-03
fn a_card_says_how_long_its_call_took() {
    let mut chat = Chat::new();
    chat.type_("go\r");
    chat.started("r1", "s1");
    chat.history();
    for (seconds, shown) in [(0, "● ls\n"), (3, "● ls  3.0 s\n"), (75, "● ls  75 s\n")] {
        chat.event(event(EventKind::ToolCall {
            call_id: "c1".into(),
            name: "shell".into(),
            call: Map::new(),
            preview: "ls".into(),
        }));
        chat.later(seconds);
        let running =
            if seconds > 0 { format!("○ ls  {seconds} s") } else { "○ ls".to_owned() };
        chat.input(orlop_terminal::model::Input::Tick);
        assert!(chat.screen().contains(&running), "{}", chat.screen());
        let message = Message::tool("").with_metadata(map(json!({ "tool_name": "shell" })));
        chat.event(event(EventKind::ToolResult { call_id: "c1".into(), message }));
        assert!(chat.history().ends_with(shown));
    }
}

#[test]
fn an_agent_waits_for_a_key() {
    let mut chat = Chat::new();
    chat.type_("go\r");
    chat.started("r1", "s1");
    chat.ask_and_see("c1");
    chat.check_screen(expect![[r#"

        ⠋ waiting for you 0 s · Esc stops

        ? it removes files (shell)
          {"command":"rm x"}
          y  allow once
          s  allow rm in this session
          n  deny
          r  deny, and say why
        default · m · ~/project                                             ^K commands"#]]);
    // A key that means nothing decides nothing.
    assert!(chat.type_("qa").is_empty());
    assert!(chat.key(crossterm::event::KeyCode::Enter).is_empty());
    chat.type_("r");
    let effects = chat.type_("too risky\r");
    let [Effect::App(Ask::Decide(asked, decision))] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(
        (asked.call.as_str(), decision.allow, decision.reason.as_deref()),
        ("c1", false, Some("too risky"))
    );
    // Who is in the middle of a sentence answers nothing with it.
    chat.type_("wh");
    chat.ask_and_see("c2");
    assert!(!chat.type_("y").iter().any(|it| matches!(it, Effect::App(Ask::Decide(..)))));
    assert!(
        chat.screen().contains("Send or empty your line first.") && chat.screen().contains("› why")
    );
    chat.control('u');
    let effects = chat.type_("s");
    let [Effect::App(Ask::Decide(_, decision))] = &effects[..] else { panic!("{effects:?}") };
    assert!(decision.allow && decision.remember == Some(orlop_app::Remember::Session));
    // Somebody else may decide, too.
    chat.ask_approval("c3");
    chat.event(event(EventKind::ApprovalResolved {
        call_id: "c3".into(),
        decision: "deny".into(),
        by: "web".into(),
        remember: None,
    }));
    assert!(!chat.screen().contains("allow once"));
}

#[test]
fn editing_a_message_sends_it_in_its_place() {
    let mut chat = Chat::new();
    let sent = Sent { session: "s1".into(), index: 2 };
    chat.tell(Told::Message { sent: sent.clone(), text: "old words".into() });
    assert!(chat.screen().contains("✎ old words"));
    let effects = chat.type_(" and new\r");
    let is_sent = effects.iter().any(|effect| {
        matches!(effect, Effect::App(Ask::Send { draft, .. })
            if draft.text == "old words and new" && draft.instead_of.as_ref() == Some(&sent))
    });
    assert!(is_sent, "{effects:?}");
}

#[test]
fn commands_of_plugins_are_sent_and_those_of_the_chat_are_not() {
    let is_sent = |text: &str| {
        let effects = Chat::new().type_(&format!("{text}\r"));
        effects.iter().any(|effect| matches!(effect, Effect::App(Ask::Send { .. })))
    };
    for text in ["/new", "/clear", "/config", "/copy code", "/export json", "/compact"] {
        assert!(is_sent(text), "{text}");
    }
    for text in ["/sessions", "/settings", "/copy", "/export", "/more", "/keys", "/quit"] {
        assert!(!is_sent(text), "{text}");
    }
}

#[test]
fn who_is_quicker_than_a_list_gets_the_first_that_fits() {
    let mut chat = Chat::new();
    chat.type_("/sessions\r");
    chat.type_("two\r");
    let item = |name: &str| Item {
        label: format!("session {name}"),
        detail: String::new(),
        choice: Choice::Session(name.to_owned()),
    };
    let pick = Pick::Sessions(SessionUse::Open);
    let effects = chat.tell(Told::Listed { pick, items: vec![item("one"), item("two")] });
    let opened = matches!(&effects[..], [Effect::App(Ask::Do(Operation::Open(id)))] if id == "two");
    assert!(opened, "{effects:?}");
}

#[test]
fn files_that_are_pasted_go_along() {
    let mut chat = Chat::new();
    let effects = chat.paste("'/tmp/a b.png'");
    assert!(
        matches!(&effects[..], [Effect::App(Ask::Inspect { paths, .. })] if paths[..] == ["/tmp/a b.png"])
    );
    chat.tell(Told::Pasted { text: String::new(), files: vec!["/tmp/a b.png".into()] });
    chat.type_("what is it?");
    assert!(chat.screen().contains("› [File a b.png] what is it?"));
    let effects = chat.type_("\r");
    let Some(Effect::App(Ask::Send { draft, .. })) = effects.first() else { panic!() };
    assert_eq!(
        (draft.text.as_str(), &draft.files[..]),
        ("what is it?", &["/tmp/a b.png".to_owned()][..])
    );
    chat.paste("/not/a/file");
    chat.tell(Told::Pasted { text: "/not/a/file".into(), files: Vec::new() });
    assert!(chat.screen().contains("› /not/a/file"));
}

#[test]
fn small_screens_show_the_end_of_what_is_long() {
    let mut chat = Chat::new();
    chat.size = (20, 8);
    chat.type_("go\r");
    chat.started("r1", "s1");
    let list: String = (1..=30).map(|number| format!("- item {number}\n")).collect();
    chat.event(partial(&list, ""));
    chat.history();
    chat.check_screen(expect![[r#"

        • item 28
        • item 29
        • item 30
        ⠋ answering 0 s · E…

        ›
        default · m · …oject"#]]);
}
