//! What could be meant by what is written: offers of features, and the commands of the chat.

use super::command::Command;
use super::{Ask, Effect, Model};
use orlop_app::ui::plain_line;
use orlop_core::{Map, Value};

/// Offers for the text before the cursor.
#[derive(Debug, Clone, Default)]
pub struct Completions {
    /// What could be meant.
    pub items: Vec<Completion>,
    /// The one that is chosen.
    pub selected: usize,
    /// Whether somebody looked through them.
    pub touched: bool,
}

/// Something that could be meant.
#[derive(Debug, Clone)]
pub struct Completion {
    /// What people read.
    pub label: String,
    /// More about it.
    pub detail: String,
    /// What is put in.
    pub replacement: String,
    /// Where it begins: characters from the cursor, not positive.
    pub start: i64,
    /// The offer as its feature made it.
    pub whole: Map,
}

impl Completion {
    /// Reads an offer; one that puts nothing in is none.
    pub fn read(whole: Map) -> Option<Self> {
        let word = |key: &str| whole.get(key).and_then(Value::as_str);
        let replacement = word("replacement").or_else(|| word("text"))?.to_owned();
        let label = word("display").map(plain_line).unwrap_or_else(|| plain_line(&replacement));
        let detail = word("display_meta").map(plain_line).unwrap_or_default();
        let start = whole.get("start").and_then(Value::as_i64).unwrap_or(0).min(0);
        Some(Self { label, detail, replacement, start, whole })
    }
}

impl Model {
    /// Asks for offers if the text before the cursor is another one than before.
    pub(super) fn complete(&mut self) -> Vec<Effect> {
        let text = self.editor.before();
        let wanted = self.overlay.is_none()
            && self.approving().is_none()
            && !self.editor.commands()
            && !text.is_empty();
        if !wanted {
            self.completions = None;
            self.completing = None;
            return Vec::new();
        }
        if self.completing.as_deref() == Some(text) {
            return Vec::new();
        }
        let text = text.to_owned();
        self.completing = Some(text.clone());
        vec![Effect::App(Ask::Complete(text))]
    }

    /// What is offered; too late for another text.
    pub(super) fn offered(&mut self, text: &str, items: Vec<Map>) {
        if self.editor.before() != text || self.completing.as_deref() != Some(text) {
            return;
        }
        let mut all = own_commands(text);
        all.extend(items.into_iter().filter_map(Completion::read));
        let items = all;
        self.completions =
            (!items.is_empty()).then(|| Completions { items, ..Completions::default() });
    }

    pub(super) fn step_completion(&mut self, back: bool) {
        if let Some(completions) = &mut self.completions {
            let count = completions.items.len();
            completions.selected = match back {
                true => (completions.selected + count - 1) % count,
                false => (completions.selected + 1) % count,
            };
            completions.touched = true;
        }
    }

    /// Takes the chosen offer.
    pub(super) fn accept(&mut self) -> Vec<Effect> {
        let Some(completions) = self.completions.take() else { return Vec::new() };
        let Some(item) = completions.items.into_iter().nth(completions.selected) else {
            return Vec::new();
        };
        self.editor.complete(item.start, &item.replacement);
        // What was just taken is not offered again.
        self.completing = Some(self.editor.before().to_owned());
        let text = self.editor.text().to_owned();
        let Completion { replacement, whole, .. } = item;
        match whole.is_empty() {
            true => Vec::new(),
            false => {
                vec![Effect::App(Ask::Apply { text, inserted: replacement, completion: whole })]
            }
        }
    }
}

fn own_commands(text: &str) -> Vec<Completion> {
    if !text.starts_with('/') || text.contains(char::is_whitespace) {
        return Vec::new();
    }
    let length = i64::try_from(text.chars().count()).unwrap_or(0);
    let fitting = Command::TYPED.iter().filter(|(name, _)| name.starts_with(text));
    let offer = |(name, command): &(&str, Command)| Completion {
        label: (*name).to_owned(),
        detail: command.label().to_owned(),
        replacement: (*name).to_owned(),
        start: -length,
        whole: Map::new(),
    };
    fitting.map(offer).collect()
}
