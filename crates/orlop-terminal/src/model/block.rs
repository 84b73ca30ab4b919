//! What stands in the history: each block is written once and then scrolls away as text does.

use orlop_app::ui::Display;
use orlop_core::{Map, Message, Role, Value};
use std::time::Duration;

/// The tone of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Neutral.
    Info,
    /// Something worked.
    Success,
    /// Something needs attention.
    Warning,
    /// Something failed.
    Failure,
}

/// Something in the history.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// What the user wrote.
    User {
        /// The text.
        text: String,
        /// Files that went with it.
        files: Vec<String>,
    },
    /// What the model said, in markdown.
    Answer(String),
    /// What it thought before.
    Thought {
        /// The text.
        text: String,
        /// How long it took, if that is known.
        took: Option<Duration>,
    },
    /// A tool call that is over.
    Tool(Card),
    /// What an action wanted people to see.
    Display(Display),
    /// A line.
    Notice(Tone, String),
    /// A text that was shortened before.
    Whole {
        /// What it is.
        title: String,
        /// All of it.
        text: String,
    },
}

/// A tool call that is over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Card {
    /// The tool.
    pub name: String,
    /// What it was about to do.
    pub preview: String,
    /// What came of it, for people.
    pub result: String,
    /// Whether the result is one line and wants no more room.
    pub single_line: bool,
    /// Whether it failed.
    pub failed: bool,
    /// How long it took, if that is known.
    pub took: Option<Duration>,
}

impl Card {
    /// The card of a call from its tool message.
    pub fn of(name: String, preview: String, message: &Message, took: Option<Duration>) -> Self {
        let display = message.metadata().get("display").and_then(Value::as_object);
        let (result, single_line) = match display {
            Some(display) => shown(display, message.text()),
            None => (message.text().to_owned(), false),
        };
        // A change that was shown before it was made is not shown again.
        let is_told = preview.trim_end().ends_with(result.trim());
        let result = if is_told { String::new() } else { result };
        // A tool that answered leaves its schema beside its name.
        let has = |key: &str| message.metadata().contains_key(key);
        let failed = has("tool_error") || (has("tool_plugin") && !has("tool_schema"));
        Self { name, preview, result, single_line, failed, took }
    }
}

/// The text of a tool's display, whichever form it has.
fn shown(display: &Map, text: &str) -> (String, bool) {
    let word = |key: &str| display.get(key).and_then(Value::as_str);
    let found = ["output", "content", "diff", "text", "body"].into_iter().find_map(word);
    let single = display.get("single_line").and_then(Value::as_bool) == Some(true);
    let mut shown = found.unwrap_or(text).to_owned();
    match display.get("exit_code").and_then(Value::as_i64) {
        None | Some(0) => {}
        Some(code) => shown.push_str(&format!("\nexit code {code}")),
    }
    (shown, single)
}

/// What was said in a session, as blocks.
pub(crate) fn of_messages<'a>(messages: impl Iterator<Item = &'a Message>) -> Vec<Block> {
    let mut blocks = Vec::new();
    for message in messages {
        let text = message.text();
        let word = |key: &str| message.metadata().get(key).and_then(Value::as_str);
        match message.role() {
            Role::User => {
                let text = word("command").unwrap_or(text).to_owned();
                blocks.push(Block::User { text, files: Vec::new() });
            }
            Role::Assistant => {
                if let Some(text) = word("reasoning").filter(|text| !text.trim().is_empty()) {
                    blocks.push(Block::Thought { text: text.to_owned(), took: None });
                }
                if !text.trim().is_empty() {
                    blocks.push(Block::Answer(text.to_owned()));
                }
            }
            Role::Tool => {
                let name = word("tool_name").unwrap_or("tool").to_owned();
                blocks.push(Block::Tool(Card::of(name, String::new(), message, None)));
            }
            Role::System => {}
        }
    }
    blocks
}
