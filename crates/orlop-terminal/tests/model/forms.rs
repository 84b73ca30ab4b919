//! Forms: what may be answered, settings that are taken back, and forms that are taller than the
//! screen.

use super::common::Chat;
use super::{map, shown};
use crossterm::event::KeyCode;
use orlop_app::ui::Surface;
use orlop_terminal::model::{Ask, Choice, Effect, Item, Operation, Pick, Setting, Told, What};
use serde_json::{Value, json};

/// Opens the dialog of a button.
fn dialog(inputs: Value) -> Chat {
    let mut chat = Chat::new();
    chat.palette(vec![super::element(json!({
        "ui_type": "session_action", "plugin": "p", "action_id": "a", "label": "Zebra",
        "action_owner": "application", "dialog": { "title": "Zebra", "inputs": inputs },
    }))]);
    chat.type_("zebra\r");
    chat
}

fn answers(effects: &[Effect]) -> Value {
    let [Effect::App(Ask::Run(run))] = effects else { panic!("{effects:?}") };
    let What::Element(_, answers) = &run.what else { panic!() };
    Value::Object(answers.clone())
}

#[test] // J-23
fn what_is_enumerated_is_all_there_is_unless_words_are_welcome() {
    let field = |other: bool| json!([{ "name": "speed", "label": "Speed", "enum": ["Slow", "fast"], "other": other }]);
    let mut chat = dialog(field(false));
    assert!(chat.screen().contains("↑ ↓ choose · Enter"), "{}", chat.screen());
    chat.type_("warp\r");
    let screen = chat.screen();
    assert!(screen.contains("✗ \"Speed\" must be one of: Slow, fast"), "{screen}");
    chat.control('u');
    // Written out it is as good as chosen.
    assert_eq!(answers(&chat.type_("slow\r")), json!({ "speed": "Slow" }));
    let mut chat = dialog(field(true));
    assert!(chat.screen().contains("↑ ↓ choose, or write"), "{}", chat.screen());
    assert_eq!(answers(&chat.type_("warp\r")), json!({ "speed": "warp" }));
}

#[test] // J-23
fn answers_keep_within_their_bounds() {
    let mut chat = dialog(json!([
        { "name": "n", "label": "Depth", "type": "integer", "minimum": 2, "maximum": 9 },
        { "name": "t", "label": "Name", "minLength": 3, "maxLength": 5 },
    ]));
    let mut check = |depth: &str, name: &str, problem: &str| {
        chat.control('u');
        chat.type_(depth);
        chat.key(KeyCode::Tab);
        chat.control('u');
        let effects = chat.type_(&format!("{name}\r"));
        if problem.is_empty() {
            return Some(answers(&effects));
        }
        assert!(chat.screen().contains(problem), "{problem}:\n{}", chat.screen());
        chat.key(KeyCode::BackTab);
        None
    };
    check("1", "quay", "✗ \"Depth\" must be at least 2");
    check("10", "quay", "✗ \"Depth\" must be at most 9");
    check("5", "qu", "✗ \"Name\" must have at least 3 characters");
    check("5", "quayside", "✗ \"Name\" must have at most 5 characters");
    assert_eq!(check("5", "quay", ""), Some(json!({ "n": 5, "t": "quay" })));
}

fn setting(element: Value, value: Value) -> Chat {
    let mut chat = Chat::new();
    chat.type_("/settings\r");
    let setting =
        Setting { key: "p.k".into(), label: "Knots".into(), element: map(element), value };
    let choice = Choice::Setting(Box::new(setting));
    let item = Item { label: "Knots".into(), detail: String::new(), choice };
    chat.tell(Told::Listed { pick: Pick::Settings, items: vec![item] });
    chat.key(KeyCode::Enter);
    chat
}

fn set(effects: &[Effect]) -> Value {
    let [Effect::App(Ask::Do(Operation::Set { key, value }))] = effects else {
        panic!("{effects:?}")
    };
    assert_eq!(key, "p.k");
    value.clone()
}

#[test] // J-14
fn a_setting_can_be_taken_back_whatever_its_form() {
    for (element, value) in [
        (json!({ "type": "boolean" }), json!(true)),
        (json!({ "type": "string", "enum": ["a", "b"] }), json!("b")),
        (json!({ "type": "string", "options": ["a", "b"] }), json!("b")),
    ] {
        let mut chat = setting(element.clone(), value.clone());
        // What holds now is chosen.
        assert_eq!(set(&chat.key(KeyCode::Enter)), value);
        let mut chat = setting(element, value);
        assert!(chat.screen().contains("1. as the agent has it"), "{}", chat.screen());
        chat.type_("1");
        assert_eq!(set(&chat.key(KeyCode::Enter)), Value::Null);
    }
    let mut chat = setting(json!({ "type": "integer" }), json!(7));
    chat.control('u');
    assert_eq!(set(&chat.key(KeyCode::Enter)), Value::Null);
}

#[test]
fn a_list_begins_with_what_is_in_it() {
    let element = json!({ "type": "array", "choices": ["a", "b", "c"] });
    let mut chat = setting(element, json!(["a", "c"]));
    let screen = chat.screen();
    assert!(screen.contains("[x] 1. a") && screen.contains("[ ] 2. b"), "{screen}");
    chat.type_("2");
    assert_eq!(set(&chat.key(KeyCode::Enter)), json!(["a", "b", "c"]));
    let mut chat = setting(json!({ "type": "array", "choices": ["a"] }), json!(["a"]));
    chat.type_("1");
    assert_eq!(set(&chat.key(KeyCode::Enter)), Value::Null);
}

#[test]
fn a_form_that_is_taller_than_the_screen_shows_where_one_is() {
    let choices: Vec<String> = (1..=40).map(|number| format!("berth {number}")).collect();
    let mut chat = dialog(json!([
        { "name": "b", "label": "Berth", "choices": choices },
        { "name": "n", "label": "Name", "required": true },
    ]));
    let fits = |chat: &Chat| {
        let screen = chat.screen();
        assert!(screen.lines().count() <= chat.size.1, "{screen}");
        screen
    };
    let screen = fits(&chat);
    assert!(screen.contains("▸ 1. berth 1") && screen.contains("↓ "), "{screen}");
    (1..40).for_each(|_| drop(chat.key(KeyCode::Down)));
    let screen = fits(&chat);
    assert!(screen.contains("▸ 40. berth 40") && screen.contains("↑ "), "{screen}");
    chat.key(KeyCode::Tab);
    chat.key(KeyCode::Enter);
    let screen = fits(&chat);
    assert!(screen.contains("Name *:") && screen.contains("must be filled in"), "{screen}");
}

#[test] // K-06
fn a_display_that_is_taller_than_the_screen_says_so_and_opens() {
    let mut chat = Chat::new();
    let body: String = (1..=40).map(|number| format!("ship {number}\n")).collect();
    shown(
        &mut chat,
        Surface::SessionAction,
        json!({ "display": { "title": "Fleet", "body": body } }),
    );
    let screen = chat.screen();
    assert!(screen.contains("more rows, ^O shows all") && screen.contains("ship 40"), "{screen}");
    assert!(screen.lines().count() <= chat.size.1, "{screen}");
    chat.control('o');
    let history = chat.history();
    assert!(
        history.starts_with("▌ Fleet\n▌ ship 1\n") && history.contains("▌ ship 40\n"),
        "{history}"
    );
    chat.control('o');
    assert!(chat.screen().contains("nothing was shortened"));
}
