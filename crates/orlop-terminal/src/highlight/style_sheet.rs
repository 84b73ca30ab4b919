//! Lines of a style sheet: selectors, properties and their values.

use super::{Open, comment, number, prefix};
use crate::text::{Colour, Line, Style};

/// Where the end of the last line stands.
#[derive(Default)]
pub(super) struct StyleSheet {
    open: Option<Open>,
    part: Part,
}

/// What is being read.
#[derive(Default, Clone, Copy, PartialEq)]
enum Part {
    /// A selector, or the name of a property.
    #[default]
    Names,
    /// What follows the name of a property, or a rule such as `@media`.
    Values,
}

impl StyleSheet {
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
        line
    }

    fn piece(&mut self, rest: &str, before: Option<char>) -> (usize, Style) {
        let begun = match rest {
            _ if rest.starts_with("/*") => Some((2, Open::comment("*/"))),
            _ if rest.starts_with('"') => Some((1, Open { escapes: true, ..Open::string("\"") })),
            _ if rest.starts_with('\'') => Some((1, Open { escapes: true, ..Open::string("'") })),
            _ => None,
        };
        if let Some((length, open)) = begun {
            let style = open.style.clone();
            self.open = Some(open);
            return (length, style);
        }
        if rest.starts_with("//") && before.is_none_or(char::is_whitespace) {
            return (rest.len(), comment());
        }
        let mut chars = rest.chars();
        let Some(first) = chars.next() else { return (0, Style::default()) };
        match first {
            '{' | '}' | ';' => self.part = Part::Names,
            '@' => {
                self.part = Part::Values;
                return (1 + prefix(&rest[1..], is_of_name), Style::of(Colour::Magenta));
            }
            '!' => return (1 + prefix(&rest[1..], is_of_name), Style::of(Colour::Magenta)),
            '#' if self.part == Part::Values => {
                return (1 + prefix(&rest[1..], |c| c.is_ascii_hexdigit()), number());
            }
            '.' | '#' if self.part == Part::Names => {
                return (1 + prefix(&rest[1..], is_of_name), Style::of(Colour::Cyan));
            }
            first if first.is_ascii_digit() => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '%');
                return (prefix(rest, is_part), number());
            }
            first if is_of_name(first) && (first != '-' || chars.next().is_some_and(is_letter)) => {
                let length = prefix(rest, is_of_name);
                return (length, self.name(&rest[length..]));
            }
            _ => {}
        }
        (first.len_utf8(), Style::default())
    }

    /// The colour of a name, by what follows it on the line.
    fn name(&mut self, after: &str) -> Style {
        if self.part == Part::Values {
            return Style::default();
        }
        // `a:hover {` is a selector, `color: red` is not.
        let is_property = after.trim_start().strip_prefix(':').is_some_and(|value| {
            !value.starts_with(':')
                && value
                    .find('{')
                    .is_none_or(|brace| value.find(';') < Some(brace) && value.contains(';'))
        });
        if is_property {
            self.part = Part::Values;
            return Style::of(Colour::Blue);
        }
        Style::of(Colour::Cyan)
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '$')
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() || c == '-'
}
