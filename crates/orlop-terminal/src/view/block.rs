//! Blocks of history as lines.

use crate::highlight::diff_line;
use crate::markdown;
use crate::model::{Block, Card, Model, Tone};
use crate::text::{Break, Colour, Line, Reader, Style, wrap};
use orlop_app::ui::{Display, DisplayActionKind, Format, Variant, plain_line, plain_text};
use std::time::Duration;

/// How many lines of a result are shown; the rest is behind a key.
const RESULT_LINES: usize = 8;

/// How many lines of what was about to change are shown.
const PREVIEW_LINES: usize = 40;

/// Writes blocks one below the other, with a gap where one belongs.
#[derive(Debug, Default)]
pub struct History {
    reader: Reader,
    last: Option<std::mem::Discriminant<Block>>,
}

impl History {
    /// For somebody who reads in this way.
    pub fn new(reader: Reader) -> Self {
        Self { reader, last: None }
    }

    /// What is new in a chat, on a screen of this width. What has to be shortened is left with the
    /// chat, which shows all of it when it is asked to.
    pub fn take(&mut self, chat: &mut Model, width: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        for block in chat.take_history() {
            // What was just typed stands there already where lines are typed.
            let is_typed = matches!(&block, Block::User { earlier: false, .. });
            if is_typed && self.reader == Reader::Ears {
                continue;
            }
            lines.extend(self.lines(&block, width));
            if let Some((title, text)) = shortened(&block, width) {
                chat.fold(title, text);
            }
        }
        lines
    }

    fn lines(&mut self, block: &Block, width: usize) -> Vec<Line> {
        let kind = std::mem::discriminant(block);
        let joins = matches!(block, Block::Tool(_) | Block::Notice(..)) && self.last == Some(kind);
        let mut lines = Vec::new();
        if self.last.is_some() && !joins {
            lines.push(Line::default());
        }
        self.last = Some(kind);
        lines.extend(block_lines(block, width, self.reader));
        lines
    }
}

fn block_lines(block: &Block, width: usize, reader: Reader) -> Vec<Line> {
    match block {
        Block::User { text, files, .. } => user(text, files, width, reader),
        Block::Answer(text) => markdown::render(text, width, reader),
        Block::Thought { text, took } => thought(text, *took, reader),
        Block::Tool(card) => tool(card, width, reader),
        Block::Display(display) => display_lines(display, width, reader),
        Block::Notice(tone, text) => notice(*tone, text, width, reader),
        Block::Whole { title, text } => {
            let mut lines = vec![Line::styled(title, Style::strong())];
            for line in plain_text(text).lines() {
                lines.extend(wrap(&diff_line(line), width, 0, Break::Anywhere));
            }
            lines
        }
    }
}

/// What opens what was shortened.
fn opener(reader: Reader) -> &'static str {
    match reader {
        Reader::Eyes => "^O",
        Reader::Ears => "/more",
    }
}

fn user(text: &str, files: &[String], width: usize, reader: Reader) -> Vec<Line> {
    let (first, next, file) = match reader {
        Reader::Eyes => ("› ", "  ", "  + "),
        Reader::Ears => ("You: ", "", "with the file "),
    };
    let text = plain_text(text);
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mark = if number == 0 { first } else { next };
        let line = Line::styled(mark, Style::of(Colour::Blue).bold()).with(line, Style::strong());
        lines.extend(wrap(&line, width, 2, Break::Words));
    }
    lines.extend(
        files
            .iter()
            .map(|path| Line::styled(format!("{file}{path}"), Style::of(Colour::Cyan)).cut(width)),
    );
    lines
}

fn thought(text: &str, took: Option<Duration>, reader: Reader) -> Vec<Line> {
    let took = match took {
        Some(took) => format!("thought for {} s", took.as_secs()),
        None => "thought".to_owned(),
    };
    let mark = if reader == Reader::Eyes { "∴ " } else { "" };
    let more = match text.trim().is_empty() {
        true => String::new(),
        false => format!(", {} shows it", opener(reader)),
    };
    vec![Line::styled(format!("{mark}{took}{more}"), Style::faint())]
}

/// The lines of a result, or none if it stands beside the name of its tool.
fn result_of(card: &Card) -> String {
    match card.single_line {
        true => String::new(),
        false => plain_text(&card.result).trim_end().to_owned(),
    }
}

/// How many lines are left out, and whether any is cut off.
fn cuts(lines: &[&str], most: usize, width: usize) -> (usize, bool) {
    let room = width.saturating_sub(2);
    let cut = lines.iter().take(most).any(|line| Line::from(*line).width() > room);
    (lines.len().saturating_sub(most), cut)
}

/// All of what a block shows a part of.
fn shortened(block: &Block, width: usize) -> Option<(String, String)> {
    match block {
        Block::Thought { text, .. } if !text.trim().is_empty() => {
            Some(("Thought".to_owned(), text.clone()))
        }
        Block::Tool(card) => {
            let result = result_of(card);
            let is_short = |text: &str, skip: usize, most: usize| {
                let lines: Vec<&str> = text.lines().skip(skip).collect();
                cuts(&lines, most, width) == (0, false)
            };
            let parts = [(&card.preview, 1, PREVIEW_LINES), (&result, 0, RESULT_LINES)];
            let long = parts.into_iter().filter(|(text, skip, most)| !is_short(text, *skip, *most));
            let long: Vec<&str> = long.map(|(text, ..)| text.as_str()).collect();
            (!long.is_empty()).then(|| (card.name.clone(), long.join("\n\n")))
        }
        _ => None,
    }
}

/// What says that something is missing, and how to see it.
pub(super) fn missing(lines: &[&str], most: usize, width: usize, opener: &str) -> Option<Line> {
    let text = match cuts(lines, most, width) {
        (0, false) => return None,
        (0, true) => format!("  … cut off, {opener} shows all"),
        (1, _) => format!("  … 1 more line, {opener} shows all"),
        (more, _) => format!("  … {more} more lines, {opener} shows all"),
    };
    Some(Line::styled(text, Style::faint()))
}

fn tool(card: &Card, width: usize, reader: Reader) -> Vec<Line> {
    let (mark, colour) = match (card.failed, reader) {
        (true, Reader::Eyes) => ("✗ ", Colour::Red),
        (false, Reader::Eyes) => ("● ", Colour::Green),
        (true, Reader::Ears) => ("Tool failed: ", Colour::Plain),
        (false, Reader::Ears) => ("Tool: ", Colour::Plain),
    };
    let mut preview = card.preview.lines();
    let first = preview.next().unwrap_or(&card.name);
    let mut head = Line::styled(mark, Style::of(colour)).with(first, Style::strong());
    if card.single_line && !card.result.trim().is_empty() {
        head.push(format!("  {}", plain_line(&card.result)), Style::default());
    }
    if let Some(took) = card.took.filter(|took| took.as_millis() >= 100) {
        head.push(format!("  {}", seconds(took)), Style::faint());
    }
    let mut lines = wrap(&head, width, 2, Break::Words);
    let changes: Vec<&str> = preview.collect();
    lines.extend(changes.iter().take(PREVIEW_LINES).map(|text| indented(diff_line(text), width)));
    lines.extend(missing(&changes, PREVIEW_LINES, width, opener(reader)));
    let result = result_of(card);
    let result: Vec<&str> = result.lines().collect();
    let is_diff = result.iter().any(|line| line.starts_with("@@"));
    lines.extend(result.iter().take(RESULT_LINES).map(|text| {
        let line = match (card.failed, is_diff) {
            (true, _) => Line::styled(text, Style::of(Colour::Red)),
            (false, true) => diff_line(text),
            (false, false) => Line::styled(text, Style::faint()),
        };
        indented(line, width)
    }));
    lines.extend(missing(&result, RESULT_LINES, width, opener(reader)));
    lines
}

/// A line below the head of a card, as much of it as fits.
pub(super) fn indented(line: Line, width: usize) -> Line {
    let mut whole = Line::from("  ");
    whole.append(line);
    whole.cut(width)
}

fn seconds(took: Duration) -> String {
    match took.as_secs() {
        0..10 => format!("{}.{} s", took.as_secs(), took.subsec_millis() / 100),
        seconds => format!("{seconds} s"),
    }
}

fn notice(tone: Tone, text: &str, width: usize, reader: Reader) -> Vec<Line> {
    let (mark, style) = match (tone, reader) {
        (Tone::Info, _) => ("", Style::faint()),
        (Tone::Success, Reader::Eyes) => ("✓ ", Style::of(Colour::Green)),
        (Tone::Warning, Reader::Eyes) => ("! ", Style::of(Colour::Yellow)),
        (Tone::Failure, Reader::Eyes) => ("✗ ", Style::of(Colour::Red)),
        (Tone::Success, Reader::Ears) => ("", Style::default()),
        (Tone::Warning, Reader::Ears) => ("Warning: ", Style::default()),
        (Tone::Failure, Reader::Ears) => ("Failed: ", Style::default()),
    };
    let text = plain_text(text);
    let mut lines = Vec::new();
    for (number, text) in text.lines().enumerate() {
        let mark = if number == 0 { mark } else { "  " };
        let line = Line::styled(format!("{mark}{text}"), style.clone());
        lines.extend(wrap(&line, width, 2, Break::Words));
    }
    lines
}

/// A display: a bar in its tone, its title, its body and what can be done about it.
pub(super) fn display_lines(display: &Display, width: usize, reader: Reader) -> Vec<Line> {
    let colour = match display.variant {
        Variant::Info => Colour::Blue,
        Variant::Success => Colour::Green,
        Variant::Warning => Colour::Yellow,
        Variant::Error => Colour::Red,
    };
    let room = width.saturating_sub(2);
    let mut rows = Vec::new();
    if let Some(title) = &display.title {
        rows.extend(wrap(&Line::styled(title, Style::of(colour).bold()), room, 0, Break::Words));
    }
    match display.format {
        Format::Markdown => rows.extend(markdown::render(&display.body, room, reader)),
        Format::Text => {
            for text in display.body.lines() {
                rows.extend(wrap(&Line::from(text), room, 0, Break::Words));
            }
        }
    }
    for (number, action) in display.actions.iter().enumerate() {
        let mut line = Line::styled(format!("{}. ", number + 1), Style::of(colour).bold())
            .with(&action.label, Style::default());
        if let DisplayActionKind::OpenUrl { url } = &action.kind {
            let link = Style { link: Some(url.as_str().into()), ..Style::faint() };
            line.push(format!(" ({url})"), link);
        }
        rows.extend(wrap(&line, room, 3, Break::Words));
    }
    if reader == Reader::Ears {
        if !display.actions.is_empty() {
            rows.push(Line::from("/palette does these"));
        }
        return rows;
    }
    let bar = |row: Line| {
        let mut line = Line::styled("▌ ", Style::of(colour));
        line.append(row);
        line
    };
    rows.into_iter().map(bar).collect()
}
