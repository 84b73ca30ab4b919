//! What people mention in a message: `@file` and `@folder` of the workspace, and `/command` at its
//! beginning.
//!
//! One value is two plugins. As a feature it completes what is typed; an accepted file becomes its
//! content, a folder the list of it. As a host plugin it tells the model what is behind mentions that
//! were sent as they are.

mod commands;
mod fuzzy;
mod insert;
mod listing;

use crate::workspace::Workspace;
use listing::Listings;
use orlop_core::hooks::{ApplyCompletionInput, CompletionsInput, ContextInput, Hook, HookSet};
use orlop_core::{Answer, Context, Feature, HostPlugin, Manifest, Map, Plugin, Result, Value};
use serde_json::json;

/// How many completions are offered.
const MAX_OFFERED: usize = 50;

/// How many mentions of a message are followed, and how much they add to it, in bytes.
const MAX_MENTIONS: usize = 20;
const MAX_ADDED: usize = 256 * 1024;

/// Mentions. It remembers the files of the workspaces it was asked about; register it as a feature
/// and as a host plugin.
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

impl HostPlugin for Mentions {
    fn manifest(&self) -> Manifest {
        Manifest::host("mentions", "1.0.0").only(HookSet::of(&[Hook::ContextProviders]))
    }

    fn context_providers<'a>(
        &'a self,
        input: &'a ContextInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<String>> {
        if !input.text.contains('@') {
            return Answer::default();
        }
        // Without a working folder there is nothing to mention.
        let Ok(workspace) = Workspace::of(cx) else { return Answer::default() };
        let mut told: Vec<String> = Vec::new();
        let mut room = MAX_ADDED;
        for path in mentioned(&input.text) {
            let snippets = path.iter().filter_map(|path| insert::snippet(&workspace, path).ok());
            let Some(snippet) = snippets.take(1).next() else { continue };
            if snippet.len() > room {
                told.push("[further files that the message mentions do not fit]".to_owned());
                break;
            }
            room -= snippet.len();
            if !told.contains(&snippet) {
                told.push(snippet);
            }
        }
        Answer::ok(told)
    }
}

/// The paths that a text mentions: each as it stands there, then without what ends a sentence.
fn mentioned(text: &str) -> Vec<Vec<&str>> {
    let marks = text.match_indices('@').filter(|(at, _)| starts_word(text, *at));
    let paths = marks.filter_map(|(at, _)| {
        let word = &text[at + 1..];
        if let Some(quoted) = word.strip_prefix('"') {
            return quoted.split_once('"').map(|(path, _)| vec![path]);
        }
        let end = word.find(char::is_whitespace).unwrap_or(word.len());
        let whole = &word[..end];
        let bare =
            whole.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"', '`']);
        Some(vec![whole, bare])
    });
    paths.filter(|path| path.iter().any(|path| !path.is_empty())).take(MAX_MENTIONS).collect()
}

/// Whether the `@` at this place begins a word; that of an address such as a@b does not.
fn starts_word(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "([{,;\"'`".contains(c))
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
    let at = text.rmatch_indices('@').map(|(at, _)| at).find(|at| starts_word(text, *at))?;
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
    fn mentions_in_a_sentence_are_found() {
        let found = mentioned("@a.rs, see (@b/c.md). Mail x@y.z, @\"my file.md\" and @");
        assert_eq!(found, [vec!["a.rs,", "a.rs"], vec!["b/c.md).", "b/c.md"], vec!["my file.md"]]);
    }

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
