//! A script: replies, and which of them is next. That follows from the conversation alone, so a
//! script goes on in another process where it was.

use super::fields::{Fields, wrong};
use super::reply::Reply;
use super::shape::Shape;
use orlop_types::{Error, Map, Message, Result, Role, Value};
use std::path::Path;

/// Replies and how they are given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    /// The replies.
    pub replies: Vec<Reply>,
    /// What follows the last one.
    pub at_end: AtEnd,
    /// How history is held.
    pub native: Shape,
    /// Which forms of model I/O there are.
    pub io: Io,
    /// The models on offer.
    pub models: Vec<Map>,
    /// What the model can do.
    pub tags: Option<Vec<String>>,
}

/// What follows the last reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AtEnd {
    /// An error that says how many replies there are.
    #[default]
    Error,
    /// The last reply again.
    Repeat,
    /// The first reply.
    Loop,
}

/// Which forms of model I/O there are; the core derives the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Io {
    /// Both.
    #[default]
    Both,
    /// One call with a whole answer.
    Call,
    /// A stream.
    Stream,
}

/// A script is written by hand; a larger file is something else.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

const AT_END: [(&str, AtEnd); 3] =
    [("error", AtEnd::Error), ("repeat", AtEnd::Repeat), ("loop", AtEnd::Loop)];
const IO: [(&str, Io); 3] = [("both", Io::Both), ("call", Io::Call), ("stream", Io::Stream)];

impl Script {
    /// What the configuration has under `script`: the path of a file, a list of replies, or a
    /// whole script.
    pub fn of(value: Option<&Value>) -> Result<Self> {
        match value {
            None | Some(Value::Null) => Err(Error::bad_argument(
                "the configuration has no script; set script to a TOML or JSON file, or to a list of replies",
            )),
            Some(Value::String(path)) => Self::load(Path::new(path)),
            Some(script) => Self::read("script", script.clone()),
        }
    }

    /// The script in a file: JSON if its name ends so, else TOML.
    pub fn load(path: &Path) -> Result<Self> {
        let shown = path.display();
        let unreadable = |error: std::io::Error| {
            Error::bad_argument(format!(
                "{shown}: the script cannot be read: {error}; set script to a file that can"
            ))
        };
        let kind = std::fs::metadata(path).map_err(unreadable)?;
        if !kind.is_file() || kind.len() > MAX_BYTES {
            return Err(Error::bad_argument(format!(
                "{shown}: a script is a file of at most {} MiB",
                MAX_BYTES / 1024 / 1024
            )));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let is_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        let parsed: Result<Value, String> = match is_json {
            true => serde_json::from_str(&text).map_err(|error| error.to_string()),
            false => toml::from_str(&text).map_err(|error| error.to_string().trim().to_owned()),
        };
        let form = if is_json { "JSON" } else { "TOML" };
        let value = parsed
            .map_err(|problem| Error::bad_argument(format!("{shown}: no {form}: {problem}")))?;
        Self::read(&format!("{shown}: "), value)
    }

    /// Reads a script: a list of replies, or a table. `path` begins what complaints are about.
    pub fn read(path: &str, value: Value) -> Result<Self> {
        let value = match value {
            Value::Array(_) => Value::Object(Map::from_iter([("replies".to_owned(), value)])),
            Value::Object(_) => value,
            other => return Err(wrong(path, "a list of replies or a table", &other)),
        };
        let mut fields = Fields::of(path, value)?;
        let replies = fields.list("replies")?;
        let script = Self {
            replies: replies
                .into_iter()
                .map(|(path, reply)| Reply::read(&path, reply))
                .collect::<Result<_>>()?,
            at_end: fields.word("at_end", &AT_END)?.unwrap_or_default(),
            native: fields.word("native", &Shape::WORDS)?.unwrap_or_default(),
            io: fields.word("io", &IO)?.unwrap_or_default(),
            models: fields
                .list("models")?
                .into_iter()
                .map(|(path, entry)| model(&path, entry))
                .collect::<Result<_>>()?,
            tags: match fields.take("tags") {
                None => None,
                Some(Value::Array(tags)) => Some(
                    tags.iter()
                        .map(|tag| {
                            let text = tag.as_str().map(str::to_owned);
                            text.ok_or_else(|| wrong(&fields.path("tags"), "a list of texts", tag))
                        })
                        .collect::<Result<_>>()?,
                ),
                Some(other) => return Err(wrong(&fields.path("tags"), "a list of texts", &other)),
            },
        };
        if script.replies.is_empty() {
            return Err(Error::bad_argument(format!(
                "{}: the script has no replies; write at least one",
                fields.path("replies")
            )));
        }
        fields.end()?;
        Ok(script)
    }

    /// The reply that is next after these messages, and its position among all: the first whose
    /// conditions hold, else the one among those without conditions whose turn it is.
    pub fn next(&self, messages: &[Message]) -> Result<(usize, &Reply)> {
        let turn = turn(messages);
        let mut all = self.replies.iter().enumerate();
        let holds =
            |reply: &Reply| reply.when.as_ref().is_some_and(|when| when.holds(turn, messages));
        if let Some(chosen) = all.find(|(_, reply)| holds(reply)) {
            return Ok(chosen);
        }
        let all = self.replies.iter().enumerate();
        let plain: Vec<(usize, &Reply)> = all.filter(|(_, reply)| reply.when.is_none()).collect();
        let place = usize::try_from(turn - 1).unwrap_or(usize::MAX);
        let place = match self.at_end {
            AtEnd::Error => place,
            AtEnd::Repeat => place.min(plain.len().saturating_sub(1)),
            AtEnd::Loop => place.checked_rem(plain.len()).unwrap_or_default(),
        };
        plain.get(place).copied().ok_or_else(|| {
            let (total, plain) = (self.replies.len(), plain.len());
            let replies = if plain == 1 { "1 reply" } else { &*format!("{plain} replies") };
            let others = match total - plain {
                0 => String::new(),
                others => format!(" (and {others} with conditions, none of which holds)"),
            };
            Error::provider(format!(
                "the script has {replies}{others}, and this is turn {turn}; add a reply, or set at_end to \"repeat\" or \"loop\""
            ))
        })
    }
}

fn model(path: &str, entry: Value) -> Result<Map> {
    match entry {
        Value::String(id) => Ok(Map::from_iter([("id".to_owned(), id.into())])),
        Value::Object(fields) if fields.get("id").is_some_and(Value::is_string) => Ok(fields),
        other => Err(wrong(path, "the id of a model, or a table with an id,", &other)),
    }
}

/// The turn that comes after these messages, counted from 1. An answer may be two messages, text
/// and then calls; it is one turn all the same.
pub(super) fn turn(messages: &[Message]) -> u64 {
    let calls = |message: &Message| message.tool_calls().next().is_some();
    let mut before: Option<&Message> = None;
    let mut answers = 0;
    for message in messages {
        let goes_on = message.text().is_empty()
            && calls(message)
            && before.is_some_and(|before| before.role() == Role::Assistant && !calls(before));
        if message.role() == Role::Assistant && !goes_on {
            answers += 1;
        }
        before = Some(message);
    }
    answers + 1
}
