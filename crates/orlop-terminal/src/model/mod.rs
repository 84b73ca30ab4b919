//! The chat as a value: what comes in changes it and says what is to be done. It knows no terminal
//! and no application, and so can be tested without either.

mod acting;
mod approval;
mod block;
mod choosing;
mod command;
mod completing;
mod effect;
mod form;
mod keys;
mod lines;
mod picker;
mod sessions;
mod turn;

pub use approval::Asked;
pub(crate) use block::of_messages;
pub use block::{Block, Card, Tone};
pub use choosing::Choice;
pub use command::Command;
pub use completing::{Completion, Completions};
pub use effect::{Ask, Conversation, Deed, Effect, Operation, Run, Told, What};
pub use form::{Field, Form, Purpose};
pub use picker::{Item, MessageUse, Pick, Picker, SessionUse, Setting};
pub use turn::{CardUnderWay, Turn};

use crate::editor::{Draft, Editor, Keys};
use crossterm::event::KeyEvent;
use orlop_app::Event;
use orlop_app::ui::{Display, Displays, Surface};
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
    /// What is being edited, if it was sent before: the position of the message.
    pub editing: Option<usize>,
    /// How long the chat has been open.
    pub now: Duration,
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
        match &block {
            Block::Thought { text, .. } => self.fold("Thought".to_owned(), text.clone()),
            Block::Tool(card) => self.fold(card.name.clone(), card.result.clone()),
            _ => {}
        }
        self.history.push(block);
    }

    pub(crate) fn notice(&mut self, tone: Tone, text: impl Into<String>) {
        self.say(Block::Notice(tone, text.into()));
    }

    /// Keeps what is written shortened, so that the whole can be shown.
    fn fold(&mut self, title: String, text: String) {
        if !text.trim().is_empty() {
            self.folded.push_back((title, text));
        }
        if self.folded.len() > MOST_FOLDED {
            self.folded.pop_front();
        }
    }

    /// Shows what was shortened last, then what before.
    fn unfold(&mut self) {
        match self.folded.pop_back() {
            Some((title, text)) => self.say(Block::Whole { title, text }),
            None => self.hint = Some("nothing was shortened".to_owned()),
        }
    }

    /// Sends what is written, or keeps it for later.
    pub(crate) fn submit(&mut self) -> Vec<Effect> {
        let draft = self.editor.take();
        self.completions = None;
        if draft.text.trim().is_empty() && draft.files.is_empty() {
            return Vec::new();
        }
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
        self.say(Block::User { text: draft.text.clone(), files: draft.files.clone() });
        self.turn = Some(Turn::new(self.now));
        let instead_of = self.editing.take();
        let conversation = self.conversation.clone();
        vec![Effect::App(Ask::Send { draft, instead_of, conversation: Box::new(conversation) })]
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
            picker.query.push_str(&orlop_app::ui::plain_line(text));
            return Vec::new();
        }
        match pasted_path(text) {
            Some(path) => vec![Effect::App(Ask::Inspect { path, text: text.to_owned() })],
            None => {
                self.editor.paste(text);
                Vec::new()
            }
        }
    }

    fn told(&mut self, told: Told) -> Vec<Effect> {
        match told {
            Told::Started { request_id, session_id } => self.started(request_id, session_id),
            Told::NotSent(error) => {
                self.turn = None;
                self.notice(Tone::Failure, error);
                Vec::new()
            }
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
            Told::Known(conversation) => {
                self.conversation = *conversation;
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
            Told::Edited(text) => {
                self.editor.set(text.trim_end_matches('\n'));
                Vec::new()
            }
            Told::File { path, text, is_file } => {
                match is_file {
                    true => self.editor.attach(&path),
                    false => self.editor.paste(&text),
                }
                Vec::new()
            }
            Told::Message { index, text } => {
                self.editing = Some(index);
                self.editor.set(text);
                Vec::new()
            }
        }
    }
}

/// The path of a file that was dragged into the terminal, which pastes it quoted or escaped.
fn pasted_path(text: &str) -> Option<String> {
    let text = text.trim();
    if text.contains('\n') || text.len() > 4096 {
        return None;
    }
    let quoted = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark).map(str::to_owned);
    let path = quoted('\'').or_else(|| quoted('"')).unwrap_or_else(|| text.replace("\\ ", " "));
    let path = path.strip_prefix("file://").map(str::to_owned).unwrap_or(path);
    let is_drive = path.as_bytes().get(1..3) == Some(b":\\");
    let looks_like_one = ["/", "~/", "./", "../"].iter().any(|start| path.starts_with(start));
    (looks_like_one || is_drive).then_some(path)
}
