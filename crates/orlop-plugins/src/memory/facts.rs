//! The facts themselves: adding, changing, forgetting, and choosing those that matter.

use super::secret::looks_secret;
use crate::arguments::shortened;
use orlop_core::{Error, Result, Value};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// How many facts are kept.
pub(super) const MAX_FACTS: usize = 200;
/// How long one may be, in characters.
pub(super) const MAX_TEXT: usize = 500;

/// Who a fact is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Source {
    User,
    Agent,
    Learned,
}

/// Something to remember.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Fact {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) source: Source,
    /// When it was last said, RFC 3339.
    pub(super) at: String,
}

/// The facts of one user, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Facts {
    #[serde(default)]
    last_id: u64,
    #[serde(default)]
    facts: Vec<Fact>,
}

impl Facts {
    /// Reads what is stored; what cannot be read counts as nothing.
    pub(super) fn read(value: &Value) -> Self {
        serde_json::from_value(value.clone()).unwrap_or_default()
    }

    pub(super) fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    pub(super) fn all(&self) -> &[Fact] {
        &self.facts
    }

    /// Adds a fact and gives its id. One that is there already is only said again. Where there is
    /// no room, the oldest that was learned makes some.
    pub(super) fn add(&mut self, text: &str, source: Source, at: &str) -> Result<String> {
        let text = checked(text)?;
        let same = |fact: &Fact| fact.text.to_lowercase() == text.to_lowercase();
        if let Some(place) = self.facts.iter().position(same) {
            let mut fact = self.facts.remove(place);
            at.clone_into(&mut fact.at);
            let id = fact.id.clone();
            self.facts.push(fact);
            return Ok(id);
        }
        if self.facts.len() >= MAX_FACTS {
            let oldest = self.facts.iter().position(|fact| fact.source == Source::Learned);
            let Some(oldest) = oldest else {
                return Err(Error::bad_argument(format!(
                    "{MAX_FACTS} facts are remembered, and that is the most; forget one first"
                )));
            };
            self.facts.remove(oldest);
        }
        self.last_id += 1;
        let id = format!("m{}", self.last_id);
        self.facts.push(Fact { id: id.clone(), text, source, at: at.to_owned() });
        Ok(id)
    }

    /// Puts another text in place of a fact's. It counts as the user's own from then on.
    pub(super) fn edit(&mut self, id: &str, text: &str, at: &str) -> Result<()> {
        let text = checked(text)?;
        let fact = self.facts.iter_mut().find(|fact| fact.id == id).ok_or_else(|| unknown(id))?;
        *fact = Fact { text, source: Source::User, at: at.to_owned(), id: fact.id.clone() };
        Ok(())
    }

    /// Forgets a fact and gives its text.
    pub(super) fn forget(&mut self, id: &str) -> Result<String> {
        let place = self.facts.iter().position(|fact| fact.id == id).ok_or_else(|| unknown(id))?;
        Ok(self.facts.remove(place).text)
    }

    /// Forgets everything and gives how much it was.
    pub(super) fn forget_all(&mut self) -> usize {
        std::mem::take(&mut self.facts).len()
    }

    /// The facts that have most to do with a text, newer ones first where it is the same. Those
    /// that have nothing to do with it come last.
    pub(super) fn by_relevance(&self, text: &str) -> Vec<(&Fact, usize)> {
        let wanted = words(text);
        let mut ranked: Vec<(&Fact, usize)> = self
            .facts
            .iter()
            .rev()
            .map(|fact| (fact, words(&fact.text).intersection(&wanted).count()))
            .collect();
        ranked.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
        ranked
    }

    /// As many facts as fit into so many characters, the relevant ones first chosen, told in the
    /// order they were learned; and how many did not fit.
    pub(super) fn within(&self, text: &str, mut room: usize) -> (Vec<&Fact>, usize) {
        let mut chosen: HashSet<&str> = HashSet::new();
        for (fact, _) in self.by_relevance(text) {
            let length = fact.text.chars().count() + 3;
            if length <= room {
                room -= length;
                chosen.insert(&fact.id);
            }
        }
        let told = self.facts.iter().filter(|fact| chosen.contains(fact.id.as_str())).collect();
        (told, self.facts.len() - chosen.len())
    }
}

fn checked(text: &str) -> Result<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        return Err(Error::bad_argument("there is nothing to remember; say it in a sentence"));
    }
    if text.chars().count() > MAX_TEXT {
        return Err(Error::bad_argument(format!(
            "that is longer than {MAX_TEXT} characters; remember what matters of it"
        )));
    }
    if looks_secret(&text) {
        return Err(Error::bad_argument(
            "that looks like a password, a key or a number of a card; such things are not remembered",
        ));
    }
    Ok(text)
}

fn unknown(id: &str) -> Error {
    let id = shortened(id, 40);
    Error::not_found(format!(
        "nothing is remembered under \"{id}\"; list the facts to see their ids"
    ))
}

/// The words of a text that say something.
fn words(text: &str) -> HashSet<String> {
    const EMPTY: &[&str] = &["the", "and", "for", "user", "with", "that", "this", "you", "are"];
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| word.chars().count() > 2 && !EMPTY.contains(&word.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn some(texts: &[&str]) -> Facts {
        let mut facts = Facts::default();
        for text in texts {
            facts.add(text, Source::Agent, "then").unwrap();
        }
        facts
    }

    #[test]
    fn what_matters_is_chosen_first_and_the_rest_is_counted() {
        let facts = some(&["Likes short answers.", "Writes Rust at work.", "Has a cat, Minka."]);
        let chosen = |text: &str, room: usize| {
            let (told, left) = facts.within(text, room);
            let told: Vec<&str> = told.iter().map(|fact| fact.id.as_str()).collect();
            format!("{told:?} and {left} more")
        };
        expect![[r#"["m1", "m2", "m3"] and 0 more"#]].assert_eq(&chosen("hi", 1_000));
        expect![[r#"["m2"] and 2 more"#]].assert_eq(&chosen("my rust program", 25));
        expect![[r#"["m3"] and 2 more"#]].assert_eq(&chosen("hi", 25));
        expect!["[] and 3 more"].assert_eq(&chosen("hi", 3));
    }

    #[test]
    fn facts_are_said_once_and_there_is_an_end_to_them() {
        let mut facts = some(&["Likes tea."]);
        assert_eq!(facts.add("likes  TEA.", Source::User, "now").unwrap(), "m1");
        assert_eq!((facts.all().len(), facts.all()[0].at.as_str()), (1, "now"));
        facts.add("Was learned.", Source::Learned, "now").unwrap();
        for index in 2..MAX_FACTS {
            facts.add(&format!("fact {index}"), Source::Agent, "now").unwrap();
        }
        facts.add("one more", Source::User, "now").unwrap();
        assert!(facts.all().iter().all(|fact| fact.source != Source::Learned));
        let full = facts.add("and another", Source::Learned, "now").unwrap_err();
        expect!["200 facts are remembered, and that is the most; forget one first"]
            .assert_eq(full.message());
        assert_eq!(Facts::read(&facts.to_json()), facts);
        assert_eq!((facts.forget_all(), facts.is_empty()), (MAX_FACTS, true));
        assert_eq!(facts.add("anew", Source::User, "now").unwrap(), format!("m{}", MAX_FACTS + 2));
    }
}
