//! The chat as a value: what comes in changes it and says what is to be done. It knows no terminal
//! and no application, and so can be tested without either.

mod acting;
mod approval;
mod away;
mod block;
mod choosing;
mod command;
mod completing;
mod effect;
mod form;
mod keys;
mod lines;
mod pasted;
mod picker;
mod sessions;
mod turn;

pub use approval::Asked;
pub use block::{Block, Card, Tone};
pub(crate) use block::{Previews, of_messages};
pub use choosing::Choice;
pub use command::Command;
pub use completing::{Completion, Completions};
pub use effect::{Ask, Conversation, Deed, Effect, Operation, Run, Told, What};
pub use form::{Field, Form, Purpose};
pub use picker::{Item, MessageUse, Pick, Picker, SessionUse, Setting};
pub(crate) use turn::PREVIEW_LINES;
pub use turn::{CardUnderWay, Turn};

use crate::editor::{Draft, Editor, Keys, Sent};
use crossterm::event::KeyEvent;
use orlop_app::Event;
use orlop_app::ui::{Display, Displays, Surface, plain_line};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// What happens to the chat.
#[derive(Debug, Clone)]
pub enum Input {
    /// A key.
    Key(KeyEvent),
    /// Text that was pasted.
    Paste(String),
    /// An event of a request.
    Event(Arc<Event>),
    /// What came of something that was asked for.
    Told(Box<Told>),
    /// Time passed.
    Tick,
}

/// What stands in front of the editor.
#[derive(Debug, Clone)]
pub enum Overlay {
    /// Something to choose from.
    Picker(Picker),
    /// Something to fill in.
    Form(Form),
}

/// Where a display came from, so that its follow-ups know what they are about.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) surface: Surface,
    pub(crate) session: Option<String>,
}

/// The chat.
pub struct Model {
    /// What is being written.
    pub editor: Editor,
    /// The session and what is known of it.
    pub conversation: Conversation,
    /// The request under way.
    pub turn: Option<Turn>,
    /// What is to be sent when it is over.
    pub queue: VecDeque<Draft>,
    /// What an agent waits for.
    pub asked: VecDeque<Asked>,
    /// What actions want people to see.
    pub displays: Displays,
    pub(crate) origins: HashMap<u64, Origin>,
    /// What stands in front of the editor.
    pub overlay: Option<Overlay>,
    /// What could be meant by what is written.
    pub completions: Option<Completions>,
    /// A word about the last key.
    pub hint: Option<String>,
    /// What is being edited, if it was sent before.
    pub editing: Option<Sent>,
    /// How long the chat has been open.
    pub now: Duration,
    /// Whether a request failed.
    pub failed: bool,
    /// How many messages were sent.
    sent: u64,
    /// What goes on in sessions that were left.
    away: Vec<away::Away>,
    history: Vec<Block>,
    /// The last things that were shortened, the newest last.
    folded: VecDeque<(String, String)>,
    /// The last answer, for copying.
    answer: String,
    /// When Ctrl-C was last pressed with nothing to interrupt.
    leaving: Option<Duration>,
    completing: Option<String>,
    /// Displays that were written already.
    printed: Vec<Display>,
}

/// How long a second Ctrl-C means the same as the first.
const TWICE: Duration = Duration::from_secs(2);

/// How many shortened texts can be looked at.
const MOST_FOLDED: usize = 20;

impl Model {
    /// A chat in which nothing has been said.
    pub fn new(keys: Keys, conversation: Conversation) -> Self {
        Self {
            editor: Editor::new(keys),
            conversation,
            turn: None,
            queue: VecDeque::new(),
            asked: VecDeque::new(),
            displays: Displays::default(),
            origins: HashMap::new(),
            overlay: None,
            completions: None,
            hint: None,
            editing: None,
            now: Duration::ZERO,
            failed: false,
            sent: 0,
            away: Vec::new(),
            history: Vec::new(),
            folded: VecDeque::new(),
            answer: String::new(),
            leaving: None,
            completing: None,
            printed: Vec::new(),
        }
    }

    /// Takes what happened at a time, and says what is to be done.
    pub fn update(&mut self, now: Duration, input: Input) -> Vec<Effect> {
        self.now = now;
        let mut effects = match input {
            Input::Key(key) => self.key(key),
            Input::Paste(text) => self.paste(&text),
            Input::Event(event) => self.event(&event),
            Input::Told(told) => self.told(*told),
            Input::Tick => Vec::new(),
        };
        self.show_asked();
        effects.extend(self.complete());
        effects.extend(self.send_queued());
        effects
    }

    /// Sends what is written, as Enter does.
    pub fn send_now(&mut self, now: Duration) -> Vec<Effect> {
        self.now = now;
        self.submit()
    }

    /// Does what a command of the chat does.
    pub fn start(&mut self, command: Command) -> Vec<Effect> {
        self.command(command)
    }

    /// What is to be written above the live rows, in its order. What is still being written stays
    /// until it is finished.
    pub fn take_history(&mut self) -> Vec<Block> {
        self.settle_text();
        std::mem::take(&mut self.history)
    }

    /// Whether something moves by itself.
    pub fn is_moving(&self) -> bool {
        self.turn.is_some()
    }

    pub(crate) fn say(&mut self, block: Block) {
        self.history.push(block);
    }

    pub(crate) fn notice(&mut self, tone: Tone, text: impl Into<String>) {
        self.say(Block::Notice(tone, text.into()));
    }

    /// Keeps what had to be written shortened, so that the whole can be shown.
    pub fn fold(&mut self, title: String, text: String) {
        self.folded.push_back((title, text));
        if self.folded.len() > MOST_FOLDED {
            self.folded.pop_front();
        }
    }

    /// Shows all of what waits for a decision, of what runs, of what was shortened last, then of
    /// what before.
    fn unfold(&mut self) {
        if let Some((title, text)) = self.open_asked().or_else(|| self.open_running()) {
            self.say(Block::Whole { title, text });
            return;
        }
        if let Some(display) = self.open_display() {
            self.say(Block::Display(display));
            return;
        }
        match self.folded.pop_back() {
            Some((title, text)) => self.say(Block::Whole { title, text }),
            None => self.hint = Some("nothing was shortened".to_owned()),
        }
    }

    /// Sends what is written, or keeps it for later.
    pub(crate) fn submit(&mut self) -> Vec<Effect> {
        let mut draft = self.editor.take();
        self.completions = None;
        if draft.text.trim().is_empty() && draft.files.is_empty() {
            return Vec::new();
        }
        draft.instead_of = self.editing.take();
        if let Some(command) = Command::typed(&draft.text) {
            return self.command(command);
        }
        if self.turn.is_some() {
            self.queue.push_back(draft);
            return Vec::new();
        }
        self.send(draft)
    }

    fn send(&mut self, draft: Draft) -> Vec<Effect> {
        self.settle_displays();
        let (text, files) = (draft.text.clone(), draft.files.clone());
        self.say(Block::User { text, files, earlier: false });
        self.sent += 1;
        self.turn = Some(Turn::new(self.sent, self.now));
        vec![Effect::App(Ask::Send { number: self.sent, draft: Box::new(draft) })]
    }

    /// What was kept for later, as soon as nothing is under way.
    fn send_queued(&mut self) -> Vec<Effect> {
        if self.turn.is_some() {
            return Vec::new();
        }
        match self.queue.pop_front() {
            Some(draft) => self.send(draft),
            None => Vec::new(),
        }
    }

    fn paste(&mut self, text: &str) -> Vec<Effect> {
        if let Some(Overlay::Form(form)) = &mut self.overlay {
            form.paste(text);
            return Vec::new();
        }
        if let Some(Overlay::Picker(picker)) = &mut self.overlay {
            picker.query.push_str(&plain_line(text));
            return Vec::new();
        }
        let paths = pasted::paths(text);
        if !paths.is_empty() {
            return vec![Effect::App(Ask::Inspect { paths, text: text.to_owned() })];
        }
        self.editor.paste(text);
        Vec::new()
    }

    fn told(&mut self, told: Told) -> Vec<Effect> {
        match told {
            Told::Started { number, request_id, session_id } => {
                self.started(number, request_id, session_id)
            }
            Told::NotSent { number, draft, error } => self.not_sent(number, *draft, error),
            Told::Completions { text, items } => {
                self.offered(&text, items);
                Vec::new()
            }
            Told::Applied { text, inserted, snippet } => {
                if self.editor.text() == text && !snippet.is_empty() {
                    self.editor.exchange(&inserted, &snippet);
                }
                Vec::new()
            }
            Told::Listed { pick, items } => self.listed(pick, items),
            Told::Preview { session, lines } => {
                if let Some(Overlay::Picker(picker)) = &mut self.overlay {
                    picker.previewed(&session, lines);
                }
                Vec::new()
            }
            Told::Opened { conversation, history } => self.opened(*conversation, history),
            Told::Known { of, conversation } => {
                // It may be about a session that was left meanwhile.
                if of == self.conversation.session {
                    self.conversation = *conversation;
                }
                Vec::new()
            }
            Told::Said(tone, text) => {
                self.notice(tone, text);
                Vec::new()
            }
            Told::Decided { asked, problem } => {
                self.undecided(*asked, problem);
                Vec::new()
            }
            Told::Acted { run, outcome } => self.acted(&run, *outcome),
            Told::Taken { session, path } => {
                let title = format!("{} exists. Replace it?", plain_line(&path));
                let purpose = Purpose::Export { session, path: Some(path) };
                self.ask(Form::confirm(title, purpose))
            }
            Told::Edited(text) => {
                self.editor.set(text.trim_end_matches('\n'));
                Vec::new()
            }
            Told::Pasted { text, files } => {
                if files.is_empty() {
                    self.editor.paste(&text);
                }
                files.iter().for_each(|path| self.editor.attach(path));
                Vec::new()
            }
            Told::Message { sent, text } => {
                self.editing = Some(sent);
                self.editor.set(text);
                Vec::new()
            }
        }
    }
}
