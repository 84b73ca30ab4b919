//! Blocks of history as lines.

use crate::highlight::diff_line;
use crate::markdown;
use crate::model::{Block, Card, Tone};
use crate::text::{Break, Colour, Line, Style, wrap};
use orlop_app::ui::{Display, DisplayActionKind, Format, Variant, plain_text};
use std::time::Duration;

/// How many lines of a result are shown; the rest is behind a key.
const RESULT_LINES: usize = 8;

/// How many lines of what is about to change are shown.
const PREVIEW_LINES: usize = 40;

/// Writes blocks one below the other, with a gap where one belongs.
#[derive(Debug, Default)]
pub struct History {
    last: Option<std::mem::Discriminant<Block>>,
}

impl History {
    /// The lines of a block on a screen of this width.
    pub fn lines(&mut self, block: &Block, width: usize) -> Vec<Line> {
        let kind = std::mem::discriminant(block);
        let joins = matches!(block, Block::Tool(_) | Block::Notice(..)) && self.last == Some(kind);
        let mut lines = Vec::new();
        if self.last.is_some() && !joins {
            lines.push(Line::default());
        }
        self.last = Some(kind);
        lines.extend(block_lines(block, width));
        lines
    }
}

fn block_lines(block: &Block, width: usize) -> Vec<Line> {
    match block {
        Block::User { text, files } => user(text, files, width),
        Block::Answer(text) => markdown::render(text, width),
        Block::Thought { text, took } => thought(text, *took),
        Block::Tool(card) => tool(card, width),
        Block::Display(display) => display_lines(display, width),
        Block::Notice(tone, text) => notice(*tone, text, width),
        Block::Whole { title, text } => {
            let mut lines = vec![Line::styled(title, Style::strong())];
            for line in text.lines() {
                lines.extend(wrap(&diff_line(line), width, 0, Break::Anywhere));
            }
            lines
        }
    }
}

fn user(text: &str, files: &[String], width: usize) -> Vec<Line> {
    let text = plain_text(text);
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mark = if number == 0 { "› " } else { "  " };
        let line = Line::styled(mark, Style::of(Colour::Blue).bold()).with(line, Style::strong());
        lines.extend(wrap(&line, width, 2, Break::Words));
    }
    lines.extend(
        files
            .iter()
            .map(|file| Line::styled(format!("  + {file}"), Style::of(Colour::Cyan)).cut(width)),
    );
    lines
}

fn thought(text: &str, took: Option<Duration>) -> Vec<Line> {
    let took = match took {
        Some(took) => format!("thought for {} s", took.as_secs()),
        None => "thought".to_owned(),
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    let more = if lines > 0 { ", ^O shows it" } else { "" };
    vec![Line::styled(format!("∴ {took}{more}"), Style::faint())]
}

fn tool(card: &Card, width: usize) -> Vec<Line> {
    let (mark, colour) = match card.failed {
        true => ("✗ ", Colour::Red),
        false => ("● ", Colour::Green),
    };
    let mut preview = card.preview.lines();
    let first = preview.next().unwrap_or(&card.name);
    let mut head = Line::styled(mark, Style::of(colour)).with(first, Style::strong());
    if card.single_line && !card.result.trim().is_empty() {
        let result = orlop_app::ui::plain_line(&card.result);
        head.push(format!("  {result}"), Style::default());
    }
    if let Some(took) = card.took.filter(|took| took.as_millis() >= 100) {
        head.push(format!("  {}", seconds(took)), Style::faint());
    }
    let mut lines = wrap(&head, width, 2, Break::Words);
    let changes: Vec<&str> = preview.collect();
    let indented = |line: Line| {
        let mut whole = Line::from("  ");
        whole.append(line);
        whole.cut(width)
    };
    lines.extend(changes.iter().take(PREVIEW_LINES).map(|text| indented(diff_line(text))));
    if changes.len() > PREVIEW_LINES {
        let more = format!("… {} more lines", changes.len() - PREVIEW_LINES);
        lines.push(indented(Line::styled(more, Style::faint())));
    }
    if card.single_line {
        return lines;
    }
    let result = plain_text(&card.result);
    let result: Vec<&str> = result.trim_end().lines().collect();
    let is_diff = result.iter().any(|line| line.starts_with("@@"));
    lines.extend(tail(&result, 0, RESULT_LINES).map(|text| {
        indented(match (card.failed, is_diff) {
            (true, _) => Line::styled(text, Style::of(Colour::Red)),
            (false, true) => diff_line(text),
            (false, false) => Line::styled(text, Style::faint()),
        })
    }));
    if result.len() > RESULT_LINES {
        let more = format!("… {} more lines, ^O shows all", result.len() - RESULT_LINES);
        lines.push(indented(Line::styled(more, Style::faint())));
    }
    lines
}

/// The lines from a place on, at most so many.
pub(super) fn tail<'a>(
    lines: &'a [&'a str],
    from: usize,
    most: usize,
) -> impl Iterator<Item = &'a str> {
    lines.iter().skip(from).take(most).copied()
}

fn seconds(took: Duration) -> String {
    match took.as_secs() {
        0..10 => format!("{}.{} s", took.as_secs(), took.subsec_millis() / 100),
        seconds => format!("{seconds} s"),
    }
}

fn notice(tone: Tone, text: &str, width: usize) -> Vec<Line> {
    let (mark, style) = match tone {
        Tone::Info => ("", Style::faint()),
        Tone::Success => ("✓ ", Style::of(Colour::Green)),
        Tone::Warning => ("! ", Style::of(Colour::Yellow)),
        Tone::Failure => ("✗ ", Style::of(Colour::Red)),
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
pub(super) fn display_lines(display: &Display, width: usize) -> Vec<Line> {
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
        Format::Markdown => rows.extend(markdown::render(&display.body, room)),
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
    let bar = |row: Line| {
        let mut line = Line::styled("▌ ", Style::of(colour));
        line.append(row);
        line
    };
    rows.into_iter().map(bar).collect()
}
