//! Pickers: a list, narrowed down by what is typed.

use super::choosing::Choice;
use orlop_app::ui::ActionElement;
use orlop_core::Value;

/// What is chosen from.
#[derive(Debug, Clone, PartialEq)]
pub enum Pick {
    /// Everything that can be done.
    Palette,
    /// Sessions.
    Sessions(SessionUse),
    /// Agents.
    Agents,
    /// Models of the agent.
    Models,
    /// Messages of the session.
    Messages(MessageUse),
    /// Settings of the session.
    Settings,
    /// Changes that can be taken back.
    Changes,
    /// What was sent before.
    History,
    /// Texts to begin with.
    Templates,
}

/// What a session is chosen for.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionUse {
    /// To go on with it.
    Open,
    /// For the action of a button.
    Run(Box<ActionElement>),
}

/// What a message is chosen for.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageUse {
    /// To go on from it in a copy of the session.
    Fork,
    /// To be written anew.
    Edit,
    /// For the action of a button.
    Run(Box<ActionElement>),
}

/// Something to choose.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What it is called.
    pub label: String,
    /// More about it.
    pub detail: String,
    /// What it stands for.
    pub choice: Choice,
}

/// A setting of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Its key.
    pub key: String,
    /// What it is called.
    pub label: String,
    /// Its element, as the plugin wrote it.
    pub element: orlop_core::Map,
    /// Its value now.
    pub value: Value,
}

/// A list to choose from.
#[derive(Debug, Clone)]
pub struct Picker {
    /// For what.
    pub pick: Pick,
    /// All there is.
    pub items: Vec<Item>,
    /// What was typed.
    pub query: String,
    /// The place of the item that is chosen among those that fit.
    pub selected: usize,
    /// Whether the list is still on its way.
    pub loading: bool,
    /// Whether somebody was quicker than the list, and wants the first that fits.
    pub(super) eager: bool,
    /// What the chosen session is about.
    pub preview: Vec<String>,
    previewed: Option<String>,
}

impl Picker {
    /// A list that is on its way.
    pub fn new(pick: Pick) -> Self {
        Self {
            pick,
            items: Vec::new(),
            query: String::new(),
            selected: 0,
            loading: true,
            eager: false,
            preview: Vec::new(),
            previewed: None,
        }
    }

    /// What it says above.
    pub fn title(&self) -> &'static str {
        match &self.pick {
            Pick::Palette => "Commands",
            Pick::Sessions(_) => "Sessions",
            Pick::Agents => "Agents",
            Pick::Models => "Models",
            Pick::Messages(MessageUse::Fork) => "Fork from which message?",
            Pick::Messages(MessageUse::Edit) => "Edit which message?",
            Pick::Messages(MessageUse::Run(_)) => "Which message?",
            Pick::Settings => "Settings of this session",
            Pick::Changes => "Take back which change?",
            Pick::History => "Sent before",
            Pick::Templates => "Templates",
        }
    }

    /// The keys it has beside the usual ones.
    pub fn keys(&self) -> &'static str {
        match &self.pick {
            Pick::Sessions(SessionUse::Open) => {
                "Enter opens · ^F forks · ^R renames · ^E exports · ^D deletes"
            }
            _ => "Enter chooses · Esc closes",
        }
    }

    /// The items that fit what was typed, the best first.
    pub fn fitting(&self) -> Vec<&Item> {
        let query = self.query.trim().to_lowercase();
        if query.is_empty() {
            return self.items.iter().collect();
        }
        let mut found: Vec<(usize, &Item)> = self
            .items
            .iter()
            .filter_map(|item| {
                let text = format!("{} {}", item.label, item.detail).to_lowercase();
                rank(&query, &text).map(|rank| (rank, item))
            })
            .collect();
        found.sort_by_key(|(rank, _)| *rank);
        found.into_iter().map(|(_, item)| item).collect()
    }

    /// The item that is chosen.
    pub fn chosen(&self) -> Option<&Item> {
        self.fitting().get(self.selected).copied()
    }

    /// Moves the choice.
    pub(super) fn step(&mut self, by: isize) {
        let count = self.fitting().len();
        if count > 0 {
            let count = isize::try_from(count).unwrap_or(isize::MAX);
            let now = isize::try_from(self.selected).unwrap_or(0);
            let next = match by {
                -1 | 1 => (now + by).rem_euclid(count),
                by => (now + by).clamp(0, count - 1),
            };
            self.selected = usize::try_from(next).unwrap_or(0);
        }
    }

    /// The session whose preview is wanted and not there.
    pub(super) fn wants_preview(&mut self) -> Option<String> {
        let Some(Choice::Session(session)) = self.chosen().map(|item| item.choice.clone()) else {
            self.preview.clear();
            self.previewed = None;
            return None;
        };
        if self.previewed.as_ref() == Some(&session) {
            return None;
        }
        self.preview.clear();
        self.previewed = Some(session.clone());
        Some(session)
    }

    pub(super) fn previewed(&mut self, session: &str, lines: Vec<String>) {
        if self.previewed.as_deref() == Some(session) {
            self.preview = lines;
        }
    }
}

/// How well a text fits: words in it as they are come before letters in their order.
fn rank(query: &str, text: &str) -> Option<usize> {
    if let Some(place) = text.find(query) {
        return Some(place);
    }
    if query.split_whitespace().all(|word| text.contains(word)) {
        return Some(1_000);
    }
    let mut letters = text.chars();
    let in_order = query.chars().filter(|c| !c.is_whitespace()).all(|c| letters.any(|it| it == c));
    in_order.then_some(2_000)
}
