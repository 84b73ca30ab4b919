//! What is written: nothing of it is lost on its way, nor sent in place of another message.

use super::common::Chat;
use crossterm::event::KeyCode;
use orlop_terminal::editor::{Draft, Sent};
use orlop_terminal::model::{Ask, Deed, Effect, Told};

fn sent(effects: &[Effect]) -> Draft {
    let mut drafts = effects.iter().filter_map(|effect| match effect {
        Effect::App(Ask::Send { draft, .. }) => Some((**draft).clone()),
        _ => None,
    });
    drafts.next().unwrap_or_else(|| panic!("not sent: {effects:?}"))
}

fn attach(chat: &mut Chat, path: &str) {
    chat.tell(Told::Pasted { text: path.to_owned(), files: vec![path.to_owned()] });
}

#[test]
fn editing_is_of_the_message_that_is_edited_and_of_no_other() {
    let mut chat = Chat::new();
    chat.type_("one\r");
    chat.started("r1", "s1");
    // This one waits; then an older message is edited and waits as well.
    chat.type_("two\r");
    let old = Sent { session: "s1".into(), index: 0 };
    chat.tell(Told::Message { sent: old.clone(), text: "one".into() });
    chat.type_(" more\r");
    let first = sent(&chat.end("s1"));
    assert_eq!((first.text.as_str(), first.instead_of), ("two", None));
    chat.started("r1", "s1");
    let second = sent(&chat.end("s1"));
    assert_eq!((second.text.as_str(), second.instead_of.as_ref()), ("one more", Some(&old)));
    chat.started("r1", "s2");
    chat.end("s2");
    assert_eq!(sent(&chat.type_("three\r")).instead_of, None);
    chat.started("r1", "s2");
    chat.end("s2");
    // A command ends it, too.
    chat.tell(Told::Message { sent: old, text: "one".into() });
    chat.control('u');
    chat.type_("/keys\r");
    assert_eq!(sent(&chat.type_("four\r")).instead_of, None);
}

#[test]
fn files_come_back_with_what_waits() {
    let mut chat = Chat::new();
    chat.type_("one\r");
    chat.started("r1", "s1");
    attach(&mut chat, "/tmp/a.png");
    chat.type_("look\r");
    chat.key(KeyCode::Up);
    assert!(chat.screen().contains("› [File a.png] look"), "{}", chat.screen());
    chat.type_(" here\r");
    let draft = sent(&chat.end("s1"));
    assert_eq!(
        (draft.text.as_str(), &draft.files[..]),
        ("look here", &["/tmp/a.png".to_owned()][..])
    );
}

#[test]
fn files_survive_the_editor_of_the_user() {
    let mut chat = Chat::new();
    attach(&mut chat, "/tmp/a.png");
    chat.type_("look");
    let long: String = (1..=20).map(|number| format!("line {number}\n")).collect();
    chat.paste(&long);
    let effects = chat.control('g');
    let [Effect::Terminal(Deed::Edit(text))] = &effects[..] else { panic!("{effects:?}") };
    assert!(text.starts_with("[File a.png] lookline 1\nline 2\n"), "{text}");
    chat.tell(Told::Edited("[File a.png] look again\n".into()));
    let draft = sent(&chat.type_("\r"));
    assert_eq!(
        (draft.text.as_str(), &draft.files[..]),
        ("look again", &["/tmp/a.png".to_owned()][..])
    );
}

#[test]
fn what_could_not_be_sent_stands_in_the_line_again() {
    let mut chat = Chat::new();
    let old = Sent { session: "s1".into(), index: 4 };
    chat.tell(Told::Message { sent: old.clone(), text: String::new() });
    attach(&mut chat, "/tmp/gone.png");
    let draft = sent(&chat.type_("look\r"));
    chat.type_("and this\r");
    chat.type_("half");
    let number = chat.model.turn.as_ref().unwrap().number;
    let error = "gone.png cannot be attached".to_owned();
    chat.tell(Told::NotSent { number, draft: Box::new(draft), error });
    assert!(chat.model.turn.is_none(), "nothing is sent behind what failed");
    assert!(
        chat.screen().contains("✎ [File gone.png] look\n  and this\n  half"),
        "{}",
        chat.screen()
    );
    let again = sent(&chat.type_("\r"));
    assert_eq!(again.files, ["/tmp/gone.png"]);
    assert_eq!(again.instead_of, Some(old));
}

#[test]
fn what_waits_stands_in_the_line_again_when_the_answer_is_stopped() {
    for stop in [KeyCode::Esc, KeyCode::Null] {
        let mut chat = Chat::new();
        chat.type_("one\r");
        chat.started("r1", "s1");
        chat.type_("two\r");
        chat.type_("three\r");
        let effects = match stop {
            KeyCode::Esc => chat.key(stop),
            _ => chat.control('c'),
        };
        assert!(matches!(effects.first(), Some(Effect::App(Ask::Cancel(id))) if id == "r1"));
        assert!(chat.screen().contains("› two\n  three"), "{}", chat.screen());
        assert!(chat.model.queue.is_empty());
    }
}
