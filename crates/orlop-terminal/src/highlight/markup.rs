//! Lines of markup: tags, attributes, and the code inside of some elements.

use super::{Highlighter, Open, number, prefix};
use crate::text::{Colour, Line, Style};

/// Where the end of the last line stands.
#[derive(Default)]
pub(super) struct Markup {
    open: Option<Open>,
    /// The name of the tag that is not closed yet.
    tag: Option<String>,
    /// The language of an element that holds code, and the tag that ends it.
    inside: Option<(Highlighter, &'static str)>,
}

impl Markup {
    /// The next line.
    pub(super) fn line(&mut self, text: &str) -> Line {
        let mut line = Line::default();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some((mut inner, end)) = self.inside.take() {
                let length = rest.find(end).unwrap_or(rest.len());
                line.append(inner.line(&rest[..length]));
                rest = &rest[length..];
                if rest.is_empty() {
                    self.inside = Some((inner, end));
                }
            } else if let Some(open) = self.open.take() {
                (self.open, rest) = open.take(rest, &mut line);
            } else {
                let (length, style) = match self.tag.is_some() {
                    true => self.in_tag(rest),
                    false => self.in_text(rest),
                };
                line.push(&rest[..length], style);
                rest = &rest[length..];
            }
        }
        line
    }

    fn in_text(&mut self, rest: &str) -> (usize, Style) {
        let tag = Style::of(Colour::Magenta);
        if rest.starts_with("<!--") {
            let open = Open::comment("-->");
            let style = open.style.clone();
            self.open = Some(open);
            return (4, style);
        }
        if let Some(after) = rest.strip_prefix('<') {
            let mark = usize::from(after.starts_with(['/', '!', '?']));
            let name = prefix(&after[mark..], is_of_name);
            if name == 0 || !after[mark..].starts_with(char::is_alphabetic) {
                return (1, Style::default());
            }
            self.tag = Some(after[..mark + name].to_lowercase());
            return (1 + mark + name, tag);
        }
        if let Some(after) = rest.strip_prefix('&') {
            let name = prefix(after, |c| c.is_ascii_alphanumeric() || c == '#');
            if name > 0 && after[name..].starts_with(';') {
                return (name + 2, number());
            }
            return (1, Style::default());
        }
        (prefix(rest, |c| !matches!(c, '<' | '&')), Style::default())
    }

    fn in_tag(&mut self, rest: &str) -> (usize, Style) {
        let end = ["/>", "?>", ">"].into_iter().find(|end| rest.starts_with(end));
        if let Some(end) = end {
            self.inside = match (self.tag.take().as_deref(), end) {
                (Some("script"), ">") => Some((Highlighter::new("js"), "</script")),
                (Some("style"), ">") => Some((Highlighter::new("css"), "</style")),
                _ => None,
            };
            return (end.len(), Style::of(Colour::Magenta));
        }
        for mark in ["\"", "'"] {
            if rest.starts_with(mark) {
                let open = Open::string(mark);
                let style = open.style.clone();
                self.open = Some(open);
                return (1, style);
            }
        }
        match prefix(rest, is_of_name) {
            0 => (rest.chars().next().map_or(0, char::len_utf8), Style::default()),
            length => (length, Style::of(Colour::Blue)),
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | '@')
}
