//! A chat that is driven by hand, and looked at as text.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use expect_test::Expect;
use orlop_app::ui::ActionElement;
use orlop_app::{Event, EventKind, Remember, RememberOffer, SessionState};
use orlop_core::Map;
use orlop_core::types::event::Partial;
use orlop_terminal::editor::Keys;
use orlop_terminal::model::{Choice, Conversation, Effect, Input, Item, Model, Pick, Told};
use orlop_terminal::view::{self, History};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

pub struct Chat {
    pub model: Model,
    pub size: (usize, usize),
    history: History,
    now: Duration,
}

/// An event of the request `r1`.
pub fn event(kind: EventKind) -> Event {
    let (at, session_id) = ("2026-01-01T00:00:00Z".to_owned(), Some("s1".to_owned()));
    Event { seq: 1, at, session_id, request_id: Some("r1".to_owned()), kind }
}

pub fn partial(text: &str, reasoning: &str) -> Event {
    let message =
        Partial { content: text.into(), reasoning: reasoning.into(), ..Partial::default() };
    event(EventKind::Partial { message })
}

pub fn element(value: Value) -> Item {
    let element = ActionElement::read(value.as_object().unwrap()).unwrap();
    Item {
        label: element.label.clone(),
        detail: element.plugin.clone(),
        choice: Choice::Element(Box::new(element)),
    }
}

impl Chat {
    pub fn new() -> Self {
        Self::with_keys(Keys::Emacs)
    }

    pub fn with_keys(keys: Keys) -> Self {
        let conversation = Conversation {
            agent: "default".into(),
            model: "m".into(),
            folder: "~/project".into(),
            ..Conversation::default()
        };
        let model = Model::new(keys, conversation);
        Self { model, size: (80, 24), history: History::default(), now: Duration::ZERO }
    }

    pub fn input(&mut self, input: Input) -> Vec<Effect> {
        self.model.update(self.now, input)
    }

    pub fn later(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    /// Types, and gives what the last key brought about.
    pub fn type_(&mut self, text: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        for c in text.chars() {
            let code = if c == '\r' { KeyCode::Enter } else { KeyCode::Char(c) };
            effects = self.key(code);
        }
        effects
    }

    pub fn key(&mut self, code: KeyCode) -> Vec<Effect> {
        self.input(Input::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    pub fn control(&mut self, c: char) -> Vec<Effect> {
        self.input(Input::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)))
    }

    pub fn alt(&mut self, c: char) -> Vec<Effect> {
        self.input(Input::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::ALT)))
    }

    pub fn paste(&mut self, text: &str) -> Vec<Effect> {
        self.input(Input::Paste(text.to_owned()))
    }

    pub fn event(&mut self, event: Event) -> Vec<Effect> {
        self.input(Input::Event(Arc::new(event)))
    }

    pub fn tell(&mut self, told: Told) -> Vec<Effect> {
        self.input(Input::Told(Box::new(told)))
    }

    pub fn started(&mut self, request: &str, session: &str) {
        let number = self.model.turn.as_ref().map_or(0, |turn| turn.number);
        let (request_id, session_id) = (request.to_owned(), session.to_owned());
        self.tell(Told::Started { number, request_id, session_id });
    }

    pub fn end(&mut self, _session: &str) -> Vec<Effect> {
        let messages = Vec::new();
        let session = SessionState::default();
        self.event(event(EventKind::Final {
            messages,
            session,
            usage: None,
            model: None,
            caller_calls: Vec::new(),
        }))
    }

    pub fn ask_approval(&mut self, call: &str) {
        let remember = vec![RememberOffer { scope: Remember::Session, rule: "rm".into() }];
        self.event(event(EventKind::ApprovalRequested {
            call_id: call.to_owned(),
            name: "shell".into(),
            call: Map::new(),
            input: json!({ "command": "rm x" }),
            reason: "it removes files".into(),
            choices: vec!["allow".into(), "deny".into()],
            form: None,
            remember,
        }));
    }

    /// The same, and somebody saw it.
    pub fn ask_and_see(&mut self, call: &str) {
        self.ask_approval(call);
        self.model.drawn();
    }

    /// Opens the palette with these beside what the chat itself can do.
    pub fn palette(&mut self, items: Vec<Item>) {
        self.control('k');
        self.tell(Told::Listed { pick: Pick::Palette, items });
    }

    /// What was written above the live rows since the last time.
    pub fn history(&mut self) -> String {
        let lines = self.history.take(&mut self.model, self.size.0);
        lines.iter().map(|line| line.text().trim_end().to_owned() + "\n").collect()
    }

    pub fn check_history(&mut self, expected: Expect) {
        expected.assert_eq(&self.history());
    }

    /// The live rows.
    pub fn screen(&self) -> String {
        let rows = view::frame(&self.model, self.size).rows;
        rows.iter().map(|row| row.text().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    pub fn check_screen(&self, expected: Expect) {
        expected.assert_eq(&self.screen());
    }
}
