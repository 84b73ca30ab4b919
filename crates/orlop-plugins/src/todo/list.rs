//! The list itself: reading, checking and telling it.

use crate::arguments::shortened;
use orlop_core::{Error, Result, Value};
use serde_json::json;

/// How many items there may be.
pub(super) const MAX_ITEMS: usize = 50;
/// How long an item may be, in characters.
const MAX_TEXT: usize = 300;

/// How far an item can be, and the mark it has in a text.
pub(super) const STATES: [&str; 3] = ["pending", "in_progress", "completed"];
const MARKS: [&str; 3] = ["[ ]", "[>]", "[x]"];

/// A plan.
pub(super) struct List(Vec<Item>);

struct Item {
    text: String,
    /// Which of the states.
    state: usize,
}

impl List {
    /// Reads what a model sent, or what a session holds.
    pub(super) fn read(items: Option<&Value>) -> Result<Self> {
        let items = items.and_then(Value::as_array).ok_or_else(|| {
            Error::bad_argument(
                "\"items\" must be the whole list: [{\"text\": .., \"status\": ..}]",
            )
        })?;
        if items.len() > MAX_ITEMS {
            return Err(Error::bad_argument(format!(
                "there are {} items; {MAX_ITEMS} is the most, so plan in larger steps",
                items.len()
            )));
        }
        let list = items.iter().enumerate().map(|(index, item)| Item::read(index + 1, item));
        let list: Vec<Item> = list.collect::<Result<_>>()?;
        let under_way = list.iter().filter(|item| item.state == 1).count();
        if under_way > 1 {
            return Err(Error::bad_argument(format!(
                "{under_way} items are in_progress; one at most may be, the others are pending or completed"
            )));
        }
        Ok(Self(list))
    }

    pub(super) fn to_json(&self) -> Value {
        let item = |item: &Item| json!({ "text": item.text, "status": STATES[item.state] });
        self.0.iter().map(item).collect()
    }

    /// Whether something is left to do.
    pub(super) fn is_open(&self) -> bool {
        self.0.iter().any(|item| item.state != 2)
    }

    fn completed(&self) -> usize {
        self.0.iter().filter(|item| item.state == 2).count()
    }

    /// One line an item.
    pub(super) fn lines(&self) -> String {
        let line = |item: &Item| format!("{} {}", MARKS[item.state], item.text);
        self.0.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// What the model reads.
    pub(super) fn told(&self) -> String {
        match self.0.len() {
            0 => "The plan is empty now.".to_owned(),
            all => format!("{} of {all} completed:\n{}", self.completed(), self.lines()),
        }
    }

    /// The list in a line.
    pub(super) fn preview(&self) -> String {
        let now = self.0.iter().find(|item| item.state == 1);
        let now = now.map(|item| format!(": {}", shortened(&item.text, 60))).unwrap_or_default();
        format!("plan {}/{}{now}", self.completed(), self.0.len())
    }
}

impl Item {
    fn read(number: usize, value: &Value) -> Result<Self> {
        let field = |key: &str| value.get(key).and_then(Value::as_str).map(str::trim);
        let text = field("text").filter(|text| !text.is_empty()).ok_or_else(|| {
            Error::bad_argument(format!("item {number} has no text; say what is to be done"))
        })?;
        let said = field("status").unwrap_or_default();
        let state = STATES.iter().position(|state| *state == said).ok_or_else(|| {
            Error::bad_argument(format!(
                "the status of item {number} is \"{}\"; it must be one of {}",
                shortened(said, 40),
                STATES.join(", ")
            ))
        })?;
        if text.chars().count() > MAX_TEXT {
            return Err(Error::bad_argument(format!(
                "item {number} is longer than {MAX_TEXT} characters; say it in a few words"
            )));
        }
        Ok(Self { text: text.split_whitespace().collect::<Vec<_>>().join(" "), state })
    }
}
