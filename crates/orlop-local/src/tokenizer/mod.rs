//! Text to tokens and back, as the model file says: byte-level BPE or SentencePiece.
//!
//! Tokens that steer the model (`<|im_end|>`) are found in the text of a template. Text that comes
//! from outside is passed through [`Tokenizer::guard`] first and cannot forge them.

mod load;
mod merge;
mod split;
mod stream;

use std::collections::{HashMap, HashSet};

use regex::Regex;
use split::Splitter;
pub(crate) use stream::TextStream;

/// Stands inside what looks like a steering token and is none. It is no character, so text that
/// people write does not have it.
const GUARD: char = '\u{10ffff}';

/// The tokenizer of a model.
pub(crate) struct Tokenizer {
    tokens: Vec<Token>,
    ids: HashMap<Vec<u8>, u32>,
    method: Method,
    /// Finds steering tokens in a text, unless there are none.
    steering: Option<Regex>,
    steering_ids: HashMap<String, u32>,
    /// The token each byte has of its own.
    bytes: Vec<Option<u32>>,
    unknown: Option<u32>,
    ends: HashSet<u32>,
    end: u32,
    begin: Option<u32>,
    add_begin: bool,
}

struct Token {
    bytes: Vec<u8>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    /// One byte of a character that the vocabulary does not have.
    Byte,
    /// Steers the model and is never shown.
    Control,
    /// Found in texts as a whole like a control token, and shown.
    Added,
}

enum Method {
    /// Merges in the order of a list, inside of words.
    Merges { splitter: Splitter, merges: HashMap<(u32, u32), (u32, u32)>, whole_words: bool },
    /// Merges what has the best score, across the whole text.
    Scores { scores: Vec<f32>, space_first: bool },
}

impl Tokenizer {
    /// How many tokens there are.
    pub(crate) fn count(&self) -> usize {
        self.tokens.len()
    }

    /// What a token adds to the text; nothing if it steers the model.
    pub(crate) fn bytes(&self, token: u32) -> &[u8] {
        match self.tokens.get(token as usize) {
            Some(Token { bytes, kind: Kind::Text | Kind::Byte | Kind::Added }) => bytes,
            _ => &[],
        }
    }

    /// The text of a token that steers the model.
    pub(crate) fn steering_text(&self, token: u32) -> Option<&[u8]> {
        let token = self.tokens.get(token as usize)?;
        (token.kind == Kind::Control).then_some(&token.bytes)
    }

    /// Whether the model says with it that it is done.
    pub(crate) fn is_end(&self, token: u32) -> bool {
        self.ends.contains(&token)
    }

    /// The token that ends an answer.
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// The texts of the tokens that begin and end a text, for templates.
    pub(crate) fn begin_and_end(&self) -> (String, String) {
        let text = |id: Option<u32>| {
            let token = id.and_then(|id| self.tokens.get(id as usize));
            token.map(|it| String::from_utf8_lossy(&it.bytes).into_owned()).unwrap_or_default()
        };
        (text(self.begin), text(Some(self.end)))
    }

    /// Makes text from outside safe: what looks like a steering token stays text.
    pub(crate) fn guard(&self, text: &str) -> String {
        let text = text.replace(GUARD, "");
        let Some(steering) = &self.steering else { return text };
        let guarded = steering.replace_all(&text, |found: &regex::Captures<'_>| {
            let mut characters = found[0].chars();
            let first = characters.next().map(String::from).unwrap_or_default();
            format!("{first}{GUARD}{}", characters.as_str())
        });
        guarded.into_owned()
    }

    /// The tokens of a prompt, with the one that begins a text where the file asks for it.
    pub(crate) fn prompt(&self, text: &str) -> Vec<u32> {
        let mut tokens = self.encode(text);
        if let Some(begin) = self.begin.filter(|it| self.add_begin && tokens.first() != Some(it)) {
            tokens.insert(0, begin);
        }
        tokens
    }

    /// The tokens of a text; steering tokens in it are recognised.
    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        let mut rest = 0;
        if let Some(steering) = &self.steering {
            for found in steering.find_iter(text) {
                self.encode_plain(&text[rest..found.start()], rest == 0, &mut tokens);
                tokens.extend(self.steering_ids.get(found.as_str()));
                rest = found.end();
            }
        }
        self.encode_plain(&text[rest..], rest == 0, &mut tokens);
        tokens
    }

    /// The tokens of bytes that need not be text; nothing in them steers.
    pub(crate) fn encode_bytes(&self, bytes: &[u8]) -> Vec<u32> {
        let mut tokens = Vec::new();
        for chunk in bytes.utf8_chunks() {
            self.encode_plain(chunk.valid(), false, &mut tokens);
            for byte in chunk.invalid() {
                tokens.extend(self.bytes[usize::from(*byte)]);
            }
        }
        tokens
    }

    fn encode_plain(&self, text: &str, first: bool, tokens: &mut Vec<u32>) {
        if text.is_empty() {
            return;
        }
        let unguarded;
        let text = if text.contains(GUARD) {
            unguarded = text.replace(GUARD, "");
            &unguarded
        } else {
            text
        };
        match &self.method {
            Method::Merges { splitter, merges, whole_words } => {
                for word in splitter.words(text) {
                    match self.ids.get(word.as_bytes()) {
                        Some(id) if *whole_words => tokens.push(*id),
                        _ => {
                            let bytes = word.bytes();
                            let single = bytes.filter_map(|byte| self.bytes[usize::from(byte)]);
                            let pair = |a, b| merges.get(&(a, b)).copied();
                            tokens.extend(merge::merge(single.collect(), pair));
                        }
                    }
                }
            }
            Method::Scores { scores, space_first } => {
                let start = if first && *space_first { " " } else { "" };
                let single = self.characters(&format!("{start}{text}"));
                tokens.extend(merge::merge(single, |a, b| self.best_pair(scores, a, b)));
            }
        }
    }

    /// The single characters of a text, as bytes where the vocabulary does not have them.
    fn characters(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        let mut room = [0; 4];
        for character in text.chars() {
            let encoded = character.encode_utf8(&mut room);
            match self.ids.get(encoded.as_bytes()) {
                Some(id) => tokens.push(*id),
                None => {
                    let byte = |byte: u8| self.bytes[usize::from(byte)].or(self.unknown);
                    tokens.extend(encoded.bytes().filter_map(byte));
                }
            }
        }
        tokens
    }

    fn best_pair(&self, scores: &[f32], a: u32, b: u32) -> Option<(u32, u32)> {
        let [a, b] = [a, b].map(|id| self.tokens.get(id as usize));
        let merged = *self.ids.get(&[&a?.bytes[..], &b?.bytes[..]].concat())?;
        Some((merge::highest_first(*scores.get(merged as usize)?), merged))
    }
}

#[cfg(test)]
mod tests;
