//! Lines of a language that is made of words, strings and comments.

use super::languages::Language;
use super::{Open, comment, number, prefix, string};
use crate::text::{Colour, Line, Style};

/// The lines of one block, and what is open at the end of the last one.
pub(super) struct Code {
    language: &'static Language,
    open: Option<Open>,
}

impl Code {
    pub(super) fn new(language: &'static Language) -> Self {
        Self { language, open: None }
    }

    /// The next line.
    pub(super) fn line(&mut self, text: &str) -> Line {
        let mut line = Line::default();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(open) = self.open.take() {
                (self.open, rest) = open.take(rest, &mut line);
                continue;
            }
            let before = text[..text.len() - rest.len()].chars().next_back();
            let (length, style) = self.piece(rest, before);
            line.push(&rest[..length], style);
            rest = &rest[length..];
        }
        self.open = self.open.take().filter(|open| open.over_lines);
        line
    }

    /// The next piece, and its colour. What it opens is kept.
    fn piece(&mut self, rest: &str, before: Option<char>) -> (usize, Style) {
        let language = self.language;
        let is_in_word = before.is_some_and(is_of_word);
        let begins = |span: &&super::languages::Span| {
            rest.starts_with(span.start) && !(span.is_apart && is_in_word)
        };
        if let Some(span) = language.spans.iter().find(begins) {
            let open = span.open();
            let style = open.style.clone();
            self.open = Some(open);
            return (span.start.len(), style);
        }
        let stands_alone = before.is_none_or(|c| c.is_whitespace() || c == ';');
        let may_comment = stands_alone || !language.comments_stand_alone;
        if may_comment && language.line_comments.iter().any(|mark| rest.starts_with(mark)) {
            return (rest.len(), comment());
        }
        let Some(first) = rest.chars().next() else { return (0, Style::default()) };
        if first == '\'' && language.has_characters && !is_in_word {
            return character(rest).map_or((1, Style::default()), |length| (length, string()));
        }
        if first.is_ascii_digit() {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            return (prefix(rest, is_part), number());
        }
        if is_of_word(first) {
            let length = prefix(rest, is_of_word);
            return self.word(&rest[..length], &rest[length..]);
        }
        (first.len_utf8(), Style::default())
    }

    fn word(&mut self, word: &str, after: &str) -> (usize, Style) {
        let language = self.language;
        let is_mark = |c: char| language.string_letters.contains(c);
        if word.len() <= 2 && word.chars().all(is_mark) {
            let hashes = prefix(after, |c| c == '#');
            if language.has_raw_strings && word.ends_with('r') && after[hashes..].starts_with('"') {
                self.open = Some(Open::string(format!("\"{}", &after[..hashes])));
                return (word.len() + hashes + 1, string());
            }
            if after.starts_with('"') {
                return (word.len(), string());
            }
            if let Some(length) = after.strip_prefix('\'').map(|_| character(after)) {
                // In a language with characters, this is one; elsewhere the string comes next.
                let length = length.filter(|_| language.has_characters).unwrap_or(0);
                return (word.len() + length, string());
            }
        }
        let style = if language.knows(word) {
            Style::of(Colour::Magenta)
        } else if after.starts_with('(') {
            Style::of(Colour::Blue)
        } else {
            Style::default()
        };
        (word.len(), style)
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a character in quotes. Anything else after an apostrophe is none: a lifetime, or a
/// part of a name.
fn character(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    let length = match inside.strip_prefix('\\') {
        Some(escaped) => {
            1 + escaped.chars().next()?.len_utf8() + {
                let after = &escaped[escaped.chars().next()?.len_utf8()..];
                after.find('\'')?
            }
        }
        None => inside.chars().next()?.len_utf8(),
    };
    inside[length..].starts_with('\'').then_some(length + 2)
}
