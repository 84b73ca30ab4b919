//! Completions for what people mention in a message: `@file` and `@folder` of the workspace, and
//! `/command` at its beginning. An accepted file becomes its content, a folder the list of it.

mod commands;
mod fuzzy;
mod insert;
mod listing;

use crate::workspace::Workspace;
use listing::Listings;
use orlop_core::hooks::{ApplyCompletionInput, CompletionsInput, Hook, HookSet};
use orlop_core::{Answer, Context, Feature, Manifest, Map, Plugin, Result, Value};
use serde_json::json;

/// How many completions are offered.
const MAX_OFFERED: usize = 50;

/// The feature. It remembers the files of the workspaces it was asked about.
#[derive(Default)]
pub struct Mentions {
    listings: Listings,
}

impl Plugin for Mentions {
    fn manifest(&self) -> Manifest {
        Manifest::new("mentions", "1.0.0")
            .without_models()
            .only(HookSet::of(&[Hook::GetCompletions, Hook::ApplyCompletion]))
    }
}

impl Feature for Mentions {
    fn get_completions<'a>(
        &'a self,
        input: &'a CompletionsInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<Value>> {
        match typed(&input.text) {
            Some(Typed::Path(word)) => Answer::later(self.paths(word, cx)),
            Some(Typed::Command(word)) => Answer::later(commands::offered(word, cx)),
            None => Answer::default(),
        }
    }

    fn apply_completion<'a>(
        &'a self,
        input: &'a ApplyCompletionInput,
        cx: &'a Context,
    ) -> Answer<'a, String> {
        let text = |key: &str| input.completion.get(key).and_then(Value::as_str);
        let path = match (text("plugin"), text("path")) {
            (Some("mentions"), Some(path)) => path,
            _ => return Answer::default(),
        };
        Answer::Ready(Workspace::of(cx).and_then(|workspace| insert::snippet(&workspace, path)))
    }
}

impl Mentions {
    /// Files and folders that a word after `@` may mean, the best first.
    async fn paths(&self, word: &str, cx: &Context) -> Result<Vec<Value>> {
        let root = Workspace::of(cx)?.root().to_owned();
        let listing = self.listings.of(&root).await;
        let wanted = word.trim_start_matches('"');
        let best = fuzzy::best(wanted, listing.paths(), MAX_OFFERED);
        let length = word.chars().count() + 1;
        Ok(best.into_iter().map(|path| Value::Object(offer(path, length))).collect())
    }
}

/// A completion that takes the place of the `length` characters before the cursor.
fn offer(path: &str, length: usize) -> Map {
    let is_folder = path.ends_with('/');
    let quoted = path.contains(char::is_whitespace);
    let replacement = if quoted { format!("@\"{path}\"") } else { format!("@{path}") };
    let fields = json!({
        "plugin": "mentions",
        "replacement": replacement,
        "start": -i64::try_from(length).unwrap_or(i64::MAX),
        "display": path,
        "display_meta": if is_folder { "folder" } else { "file" },
        "path": path,
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// What stands before the cursor.
#[derive(Debug, PartialEq)]
enum Typed<'a> {
    /// The word after `@`, perhaps with a quotation mark in front.
    Path(&'a str),
    /// The word after `/` at the beginning of the message.
    Command(&'a str),
}

fn typed(text: &str) -> Option<Typed<'_>> {
    if let Some(word) = text.strip_prefix('/')
        && !word.contains(char::is_whitespace)
    {
        return Some(Typed::Command(word));
    }
    // The last @ that begins a word; an address such as a@b has none.
    let starts_word = |at: usize| {
        text[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "([{,;\"'`".contains(c))
    };
    let at = text.rmatch_indices('@').map(|(at, _)| at).find(|at| starts_word(*at))?;
    let word = &text[at + 1..];
    let is_one = match word.strip_prefix('"') {
        Some(quoted) => !quoted.contains(['"', '\n']),
        None => !word.contains(char::is_whitespace),
    };
    is_one.then_some(Typed::Path(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_with_a_mark_are_completed() {
        for (text, expected) in [
            ("see @src/ma", Some(Typed::Path("src/ma"))),
            ("@", Some(Typed::Path(""))),
            ("(@a", Some(Typed::Path("a"))),
            ("see @\"my fi", Some(Typed::Path("\"my fi"))),
            ("see @\"my file\" and", None),
            ("see @a.rs and", None),
            ("mail ana@example.org", None),
            ("@types/@scope", Some(Typed::Path("types/@scope"))),
            ("/he", Some(Typed::Command("he"))),
            ("/", Some(Typed::Command(""))),
            ("/help me", None),
            ("/fork @a", Some(Typed::Path("a"))),
            ("a /he", None),
            ("", None),
        ] {
            assert_eq!(typed(text), expected, "{text}");
        }
    }
}
