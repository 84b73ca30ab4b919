//! What stands in the history: each block is written once and then scrolls away as text does.

use orlop_app::ui::{Display, plain_line, plain_text};
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
        /// Whether it was written in another chat, or before the session was left.
        earlier: bool,
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
        let result = if is_told(&preview, &result) { String::new() } else { result };
        // A tool that answered leaves its schema beside its name.
        let has = |key: &str| message.metadata().contains_key(key);
        let failed = has("tool_error") || (has("tool_plugin") && !has("tool_schema"));
        Self { name, preview, result, single_line, failed, took }
    }
}

/// Whether a result is a change that was shown before it was made, which is not shown again.
fn is_told(preview: &str, result: &str) -> bool {
    let is_change = result.lines().any(|line| line.starts_with(['+', '-', '@']));
    let before = preview.trim_end().strip_suffix(result.trim());
    is_change && before.is_some_and(|before| before.is_empty() || before.ends_with('\n'))
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

/// The names of the files that went with a message.
fn files_of(message: &Message) -> Vec<String> {
    let files = message.metadata().get("attachments").and_then(Value::as_array);
    let name = |file: &Value| file.get("name").and_then(Value::as_str).map(str::to_owned);
    files.into_iter().flatten().filter_map(name).collect()
}

/// What calls were about to do, in the words of their tools: the id of each and its words, the oldest
/// first. Servers may give an id twice.
pub(crate) type Previews = Vec<(String, String)>;

/// The words of the call that a message is the result of, each used once, the newest first.
fn preview_of(message: &Message, previews: &mut Previews) -> String {
    let call = message.metadata().get("tool_call_id").and_then(Value::as_str);
    let place = previews.iter().rposition(|(id, _)| Some(id.as_str()) == call);
    place.map(|place| plain_text(&previews.remove(place).1)).unwrap_or_default()
}

/// What was said in a session, as blocks.
pub(crate) fn of_messages(messages: &[&Message], mut previews: Previews) -> Vec<Block> {
    let mut blocks = Vec::new();
    let tools = messages.iter().rev().filter(|message| message.role() == Role::Tool);
    let mut told: Vec<String> = tools.map(|tool| preview_of(tool, &mut previews)).collect();
    for message in messages {
        let text = message.text();
        let word = |key: &str| message.metadata().get(key).and_then(Value::as_str);
        match message.role() {
            Role::User => {
                let text = word("command").unwrap_or(text).to_owned();
                let files = files_of(message);
                blocks.push(Block::User { text, files, earlier: true });
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
                let name = plain_line(word("tool_name").unwrap_or("tool"));
                let took = message.metadata().get("duration_ms").and_then(Value::as_u64);
                let took = took.map(Duration::from_millis);
                let preview = told.pop().unwrap_or_default();
                blocks.push(Block::Tool(Card::of(name, preview, message, took)));
            }
            Role::System => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_change_that_was_shown_is_left_out() {
        let change = "a.txt: changed\n@@ -1 +1 @@\n-two\n+2\n";
        assert!(is_told(change, "@@ -1 +1 @@\n-two\n+2"));
        for (preview, result) in [("ls -l", "-l"), ("rm x", "x"), ("ls", "ls"), ("cat a\n+b", "b")]
        {
            assert!(!is_told(preview, result), "{preview}: {result}");
        }
    }

    #[test]
    fn files_that_went_with_a_message_are_named_again() {
        let metadata = json!({ "attachments": [{ "name": "boat.png", "asset_id": "a1" }] });
        let message = Message::user("look").with_metadata(metadata.as_object().cloned().unwrap());
        let blocks = of_messages(&[&message], Vec::new());
        let files = vec!["boat.png".to_owned()];
        assert_eq!(blocks, [Block::User { text: "look".into(), files, earlier: true }]);
    }

    #[test]
    fn calls_of_earlier_have_their_words_and_how_long_they_took() {
        let result = |id: &str| {
            let metadata = json!({ "tool_name": "shell", "tool_call_id": id, "duration_ms": 1500 });
            Message::tool("ok").with_metadata(metadata.as_object().cloned().unwrap())
        };
        let (first, second, third) = (result("c1"), result("c2"), result("c1"));
        // The oldest words are of a call whose message is not shown.
        let previews = [("c1", "cd"), ("c1", "ls"), ("c2", "rm"), ("c1", "cat")];
        let previews = previews.map(|(id, words)| (id.to_owned(), words.to_owned())).to_vec();
        let blocks = of_messages(&[&first, &second, &third], previews);
        let told = blocks.iter().map(|block| match block {
            Block::Tool(card) => (card.preview.as_str(), card.took),
            other => panic!("{other:?}"),
        });
        let took = Some(Duration::from_millis(1500));
        assert_eq!(told.collect::<Vec<_>>(), [("ls", took), ("rm", took), ("cat", took)]);
    }
}
