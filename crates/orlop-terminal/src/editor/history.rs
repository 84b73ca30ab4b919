//! What was sent before, newest last, and where one is in it.

/// How much is kept.
pub(crate) const MOST: usize = 1000;

/// What was sent before.
#[derive(Debug, Clone, Default)]
pub struct History {
    entries: Vec<String>,
    /// The entry that is shown.
    place: Option<usize>,
    /// What was being written before.
    draft: String,
    /// What was added and not taken yet.
    added: Vec<String>,
}

impl History {
    /// One that begins with these, the oldest first.
    pub fn new(entries: Vec<String>) -> Self {
        Self { entries, ..Self::default() }
    }

    /// Adds what was sent.
    pub fn add(&mut self, text: &str) {
        self.place = None;
        self.draft.clear();
        if !text.trim().is_empty() && self.entries.last().is_none_or(|last| last != text) {
            self.entries.push(text.to_owned());
            self.added.push(text.to_owned());
            if self.entries.len() > MOST {
                self.entries.remove(0);
            }
        }
    }

    /// What was added since the last time, for whoever keeps it.
    pub fn take_added(&mut self) -> Vec<String> {
        std::mem::take(&mut self.added)
    }

    /// The one before; what is being written waits behind the newest.
    pub(super) fn earlier(&mut self, writing: &str) -> Option<String> {
        let place = match self.place {
            Some(place) => place.checked_sub(1)?,
            None => {
                writing.clone_into(&mut self.draft);
                self.entries.len().checked_sub(1)?
            }
        };
        self.place = Some(place);
        self.entries.get(place).cloned()
    }

    /// The one after.
    pub(super) fn later(&mut self) -> Option<String> {
        let place = self.place? + 1;
        match self.entries.get(place) {
            Some(entry) => {
                self.place = Some(place);
                Some(entry.clone())
            }
            None => {
                self.place = None;
                Some(std::mem::take(&mut self.draft))
            }
        }
    }

    /// All, the newest first, each once.
    pub fn newest_first(&self) -> Vec<&str> {
        let mut seen = std::collections::HashSet::new();
        self.entries.iter().rev().map(String::as_str).filter(|entry| seen.insert(*entry)).collect()
    }
}
