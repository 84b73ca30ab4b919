//! The live rows: what streams in, tools that run, displays, the editor and what it offers.

use super::block::{display_lines, indented, missing};
use crate::highlight::diff_line;
use crate::markdown;
use crate::model::{Asked, CardUnderWay, Model, PREVIEW_LINES, Turn};
use crate::text::{Break, Colour, Line, Reader, Style, wrap};
use orlop_app::Remember;
use std::time::Duration;

/// How many rows of a running tool's output are shown.
const OUTPUT_ROWS: usize = 5;

/// How many rows the first line of what a running tool is about to do takes.
const HEAD_ROWS: usize = 3;

/// How many offers are shown.
const OFFERS: usize = 6;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// What stands above the editor, as much of it as there is room for: the end of it.
pub(super) fn above(model: &Model, width: usize, room: usize) -> Vec<Line> {
    let mut rows = Vec::new();
    for shown in model.displays.shown() {
        rows.extend(display_lines(&shown.display, width, Reader::Eyes));
    }
    if let Some(turn) = &model.turn {
        if !turn.text.trim().is_empty() {
            rows.extend(markdown::render(&turn.text, width, Reader::Eyes));
        }
        // The one that is asked about stands below, with the question.
        let asked = model.approving().map(|asked| asked.call.as_str());
        let cards = turn.cards.iter().filter(|card| Some(card.call.as_str()) != asked);
        cards.for_each(|card| rows.extend(card_rows(card, model.now, width)));
        rows.push(progress(turn, !model.asked.is_empty(), model.now).cut(width));
    }
    for draft in &model.queue {
        let first = draft.text.lines().next().unwrap_or_default();
        rows.push(Line::styled(format!("  waits: {first}"), Style::faint()).cut(width));
    }
    let hidden = rows.len().saturating_sub(room);
    rows.drain(..hidden);
    // An answer goes to the history as a whole; a display stays here.
    if hidden > 0 && !model.displays.shown().is_empty() {
        let text = format!("↑ {} more rows, ^O shows all", hidden + 1);
        rows.splice(..rows.len().min(1), [Line::styled(text, Style::faint()).cut(width)]);
    }
    rows
}

/// What is going on, and for how long.
fn progress(turn: &Turn, asks: bool, now: Duration) -> Line {
    let took = now.saturating_sub(turn.since);
    let sign = SPINNER[(took.as_millis() / 100) as usize % SPINNER.len()];
    let what = match &turn.waiting {
        Some(waiting) => waiting.as_str(),
        None if turn.cancelled => "stopping",
        None if asks => "waiting for you",
        None if !turn.cards.is_empty() => "working",
        None if !turn.text.is_empty() => "answering",
        None if !turn.thought.is_empty() => "thinking",
        None => "waiting",
    };
    Line::styled(sign, Style::of(Colour::Blue))
        .with(format!(" {what} {} s · Esc stops", took.as_secs()), Style::faint())
}

fn card_rows(card: &CardUnderWay, now: Duration, width: usize) -> Vec<Line> {
    let mut previews = card.preview.lines();
    let first = previews.next().unwrap_or(&card.name);
    let took = now.saturating_sub(card.since).as_secs();
    let mut head = Line::styled("○ ", Style::of(Colour::Yellow)).with(first, Style::strong());
    if took > 0 {
        head.push(format!("  {took} s"), Style::faint());
    }
    let mut rows = wrap(&head, width, 2, Break::Words);
    if rows.len() > HEAD_ROWS {
        rows.truncate(HEAD_ROWS);
        rows.push(Line::styled("  … cut off, ^O shows all", Style::faint()));
    }
    let more: Vec<&str> = previews.collect();
    rows.extend(more.iter().take(PREVIEW_LINES).map(|text| indented(diff_line(text), width)));
    rows.extend(missing(&more, PREVIEW_LINES, width, "^O"));
    let output: Vec<&str> = card.output.lines().collect();
    let last = output.len().saturating_sub(OUTPUT_ROWS);
    rows.extend(
        output[last..]
            .iter()
            .map(|text| Line::styled(format!("  {text}"), Style::faint()).cut(width)),
    );
    rows
}

/// The question whether a call may run: why it is asked, what the call would do and with what, and
/// the keys, on at most so many rows. Whoever does not see all of it is told so.
pub(super) fn approval(model: &Model, asked: &Asked, width: usize, most: usize) -> Vec<Line> {
    let head = Line::styled("? ", Style::of(Colour::Yellow).bold())
        .with(&asked.reason, Style::strong())
        .with(format!(" ({})", asked.name), Style::faint());
    let mut rows = wrap(&head, width, 2, Break::Words);
    let choices = choices(asked, width);
    let room = most.saturating_sub(rows.len() + choices.len());
    let mut about = Vec::new();
    for text in model.preview_of(asked).lines() {
        let mut line = Line::from("  ");
        line.append(diff_line(text));
        about.extend(wrap(&line, width, 2, Break::Anywhere));
    }
    let input = match &asked.input {
        serde_json::Value::Null => String::new(),
        input => input.to_string(),
    };
    if !input.is_empty() {
        let line = Line::styled(format!("  {input}"), Style::faint());
        about.extend(wrap(&line, width, 2, Break::Anywhere));
    }
    if about.len() > room {
        let shown = room.saturating_sub(1);
        let how = if asked.opened { "all of it stands above" } else { "^O shows all" };
        let hidden = format!("  … {} more rows, {how}", about.len() - shown);
        about.truncate(shown);
        about.push(Line::styled(hidden, Style::of(Colour::Yellow)).cut(width));
    }
    rows.extend(about);
    rows.extend(choices);
    rows
}

/// The keys that decide.
fn choices(asked: &Asked, width: usize) -> Vec<Line> {
    let mut rows = Vec::new();
    let mut choice = |key: &str, text: String| {
        let line = Line::styled(format!("  {key}"), Style::of(Colour::Blue).bold())
            .with(format!("  {text}"), Style::default());
        rows.extend(wrap(&line, width, 5, Break::Words));
    };
    choice("y", "allow once".to_owned());
    if let Some(rules) = asked.rules(Remember::Session) {
        choice("s", format!("allow {rules} in this session"));
    }
    if let Some(rules) = asked.rules(Remember::Always) {
        choice("a", format!("always allow {rules}"));
    }
    choice("n", "deny".to_owned());
    choice("r", "deny, and say why".to_owned());
    rows
}

/// The editor, at most so many rows of it, and the cursor.
pub(super) fn editor(model: &Model, width: usize, most: usize) -> (Vec<Line>, (usize, usize)) {
    let prompt = match (model.editor.commands(), model.editing.is_some()) {
        (true, _) => ": ",
        (false, true) => "✎ ",
        (false, false) => "› ",
    };
    let (mut rows, mut cursor) = model.editor.rows(width, prompt);
    if rows.len() > most.max(1) {
        let last = rows.len() - most.max(1);
        let from = cursor.0.saturating_sub(most.max(1) - 1).min(last);
        rows.drain(..from);
        rows.truncate(most.max(1));
        cursor.0 -= from;
    }
    (rows, cursor)
}

/// What could be meant by what is written.
pub(super) fn completions(model: &Model, width: usize) -> Vec<Line> {
    let Some(completions) = model.completions.as_ref().filter(|_| model.overlay.is_none()) else {
        return Vec::new();
    };
    let from = completions.selected.saturating_sub(OFFERS - 1);
    let shown = completions.items.iter().enumerate().skip(from).take(OFFERS);
    let widest = shown.clone().map(|(_, item)| Line::from(item.label.as_str()).width()).max();
    let widest = widest.unwrap_or(0).min(width / 2);
    let row = |(place, item): (usize, &crate::model::Completion)| {
        let style = Style { reversed: place == completions.selected, ..Style::default() };
        let label = Line::from(item.label.as_str()).cut(widest);
        let pad = " ".repeat(widest.saturating_sub(label.width()));
        let mut line = Line::from("  ").with(label.text() + &pad, style);
        line.push(format!("  {}", item.detail), Style::faint());
        line.cut(width)
    };
    shown.map(row).collect()
}
