//! Sessions that are left in the middle of an answer.

use super::common::{Chat, event, partial};
use orlop_app::EventKind;
use orlop_core::Map;
use orlop_terminal::model::{Ask, Block, Conversation, Deed, Effect, Told};

fn opened(chat: &mut Chat, session: Option<&str>, said: &str) {
    let conversation = Conversation {
        session: session.map(str::to_owned),
        title: session.map(|id| format!("Talk {id}")),
        agent: "default".into(),
        ..Conversation::default()
    };
    let history = vec![Block::Answer(said.to_owned())];
    chat.tell(Told::Opened { conversation: Box::new(conversation), history });
}

fn known(chat: &mut Chat, of: &str, tokens: u64) {
    let session = Some(of.to_owned());
    let conversation = Conversation { session: session.clone(), tokens, ..Conversation::default() };
    chat.tell(Told::Known { of: session, conversation: Box::new(conversation) });
}

/// A chat that left `s1` for `s2` while an answer is under way.
fn left() -> Chat {
    let mut chat = Chat::new();
    chat.type_("tell me\r");
    chat.started("r1", "s1");
    chat.event(partial("Once upon", ""));
    opened(&mut chat, Some("s2"), "about ships");
    chat
}

#[test]
fn an_answer_goes_on_in_the_session_that_was_left() {
    let mut chat = left();
    let history = chat.history();
    assert!(history.contains("Once upon\n"), "{history}");
    assert!(history.contains("The answer goes on in \"s1\"; /sessions leads back"), "{history}");
    // Nothing of it comes up here.
    chat.event(partial(" a time", ""));
    chat.event(event(EventKind::ToolCall {
        call_id: "c1".into(),
        name: "shell".into(),
        call: Map::new(),
        preview: "ls".into(),
    }));
    known(&mut chat, "s1", 77);
    assert_eq!(chat.model.conversation.session.as_deref(), Some("s2"));
    assert!(chat.model.turn.is_none() && chat.model.conversation.tokens == 0);
    assert_eq!(chat.history(), "");
    assert!(!chat.screen().contains("time") && !chat.screen().contains("Esc stops"));
    // What is known of this one counts.
    known(&mut chat, "s2", 5);
    assert_eq!(chat.model.conversation.tokens, 5);
    // Its end is told.
    let effects = chat.end("s1");
    assert!(matches!(&effects[..], [Effect::Terminal(Deed::Bell)]), "{effects:?}");
    assert!(chat.history().contains("\"s1\" is answered"));
}

#[test]
fn who_comes_back_sees_the_answer_go_on_and_what_it_waits_for() {
    let mut chat = left();
    chat.event(partial(" a time", ""));
    chat.ask_approval("c1");
    let history = chat.history();
    assert!(history.contains("waits for your decision"), "{history}");
    assert!(!chat.screen().contains("allow once"));
    opened(&mut chat, Some("s1"), "before");
    let screen = chat.screen();
    assert!(screen.contains("Once upon a time") && screen.contains("allow once"), "{screen}");
    chat.model.drawn();
    let effects = chat.type_("y");
    assert!(matches!(&effects[..], [Effect::App(Ask::Decide(..))]), "{effects:?}");
    chat.event(partial(" there was", ""));
    chat.end("s1");
    assert!(chat.history().contains("Once upon a time there was"));
    assert!(chat.model.turn.is_none());
}

#[test]
fn a_request_that_begins_late_does_not_take_the_session_back() {
    let mut chat = Chat::new();
    chat.type_("tell me\r");
    let number = chat.model.turn.as_ref().unwrap().number;
    opened(&mut chat, None, "");
    let told = Told::Started { number, request_id: "r1".into(), session_id: "s1".into() };
    chat.tell(told);
    assert_eq!(chat.model.conversation.session, None);
    // It is left to itself; a message from here is one of its own.
    let effects = chat.type_("hello\r");
    let [Effect::App(Ask::Send { number: other, .. })] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_ne!(*other, number);
    // Leaving the chat stops both.
    chat.started("r2", "s3");
    let cancelled = chat.control('c');
    assert!(matches!(&cancelled[..], [Effect::App(Ask::Cancel(id))] if id == "r2"));
    let left = chat.control('c');
    let ids: Vec<&str> = left
        .iter()
        .filter_map(|it| match it {
            Effect::App(Ask::Cancel(id)) => Some(id.as_str()),
            _ => None,
        })
        .collect();
    assert!(ids.contains(&"r1"), "{left:?}");
}

#[test]
fn what_waits_to_be_sent_is_not_sent_into_another_session() {
    let mut chat = Chat::new();
    chat.type_("one\r");
    chat.started("r1", "s1");
    chat.type_("two\r");
    opened(&mut chat, Some("s2"), "");
    assert!(chat.model.turn.is_none() && chat.model.queue.is_empty());
    assert!(chat.screen().contains("› two"), "{}", chat.screen());
}
