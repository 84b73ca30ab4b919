//! Splits text into the words inside of which byte-level BPE merges, as the model file names it.

use orlop_types::{Error, Result};
use regex::Regex;

/// The words of GPT-2. Its last rule, white space that leaves one character to the next word, needs
/// a look ahead and is in the code below.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";

/// The words of Llama 3, with up to `{n}` digits together.
const LLAMA3: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
);

/// As Llama 3, every digit alone.
const QWEN2: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
);

/// Patterns that split one after another, each inside the pieces of the one before.
pub(super) struct Splitter {
    patterns: Vec<Regex>,
    /// White space that ends a line is a word of its own.
    lines: bool,
}

impl Splitter {
    /// The splitter with a name from a model file.
    pub(super) fn named(name: &str) -> Result<Self> {
        let (patterns, lines): (&[&str], _) = match name {
            "gpt-2" => (&[GPT2], false),
            "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" => {
                (&[r"\p{N}", GPT2], false)
            }
            "llama-bpe" | "llama3" | "llama-v3" => (&[LLAMA3], true),
            "qwen2" => (&[QWEN2], true),
            other => {
                return Err(Error::bad_argument(format!(
                    "the way {other:?} to split words is not known to the embedded model (known: \
                     gpt-2, smollm, starcoder, refact, command-r, codeshell, llama-bpe, qwen2); take \
                     another file"
                )));
            }
        };
        let compiled = patterns.iter().map(|pattern| Regex::new(pattern)).collect::<Result<_, _>>();
        let patterns = compiled.map_err(|error| Error::internal(error.to_string()))?;
        Ok(Self { patterns, lines })
    }

    /// The words of a text, in order and without gaps.
    pub(super) fn words<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut pieces = vec![text];
        for pattern in &self.patterns {
            let mut finer = Vec::with_capacity(pieces.len());
            for piece in pieces {
                self.split(pattern, piece, &mut finer);
            }
            pieces = finer;
        }
        pieces
    }

    fn split<'a>(&self, pattern: &Regex, text: &'a str, words: &mut Vec<&'a str>) {
        let mut start = 0;
        while let Some(found) = pattern.find_at(text, start) {
            if found.start() > start {
                words.push(&text[start..found.start()]);
            }
            let end = self.end(text, found);
            words.push(&text[found.start()..end]);
            start = end;
        }
        if start < text.len() {
            words.push(&text[start..]);
        }
    }

    /// White space before a word leaves its last character to that word, if it has several.
    fn end(&self, text: &str, found: regex::Match<'_>) -> usize {
        let word = found.as_str();
        let is_space = word.chars().all(char::is_whitespace);
        let ends_line = self.lines && word.ends_with(['\r', '\n']);
        if !is_space || ends_line || found.end() == text.len() {
            return found.end();
        }
        match word.char_indices().next_back() {
            Some((last, _)) if last > 0 => found.start() + last,
            _ => found.end(),
        }
    }
}
