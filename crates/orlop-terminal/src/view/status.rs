//! The status line: who answers, where, and what it took.

use crate::model::{Conversation, Model};
use crate::text::{Colour, Line, Style};
use unicode_segmentation::UnicodeSegmentation;

/// What is between two parts.
const GAP: &str = " · ";

/// The mode of permissions that is not worth a word.
const USUAL_MODE: &str = "ask";

/// A folder that has less room is left out.
const NARROWEST: usize = 4;

pub(super) fn line(model: &Model, width: usize) -> Line {
    if let Some(hint) = &model.hint {
        return Line::styled(hint, Style::of(Colour::Yellow)).cut(width);
    }
    let about = &model.conversation;
    let mut after = taken(about);
    if !model.queue.is_empty() {
        after.push(format!("{} waiting", model.queue.len()));
    }
    let before = [about.agent.clone(), about.model.clone()];
    let written = |folder: Option<Line>| {
        let folder = folder.map(|line| line.text());
        let parts = before.iter().cloned().chain(folder).chain(after.iter().cloned());
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        Line::styled(parts.join(GAP), Style::faint())
    };
    // The folder gives way first: the user knows where they are.
    let room = width.saturating_sub(written(None).width() + GAP.chars().count());
    let mut line = written(end_of(&about.folder, room));
    let keys = "^K commands";
    let room = width.saturating_sub(line.width() + 3);
    if room >= keys.len() {
        line.push(" ".repeat(room - keys.len() + 2), Style::default());
        line.push(keys, Style::faint());
    }
    line.cut(width)
}

/// What it took so far, and what holds.
fn taken(about: &Conversation) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(about.mode.clone().filter(|mode| mode != USUAL_MODE));
    if about.tokens > 0 {
        parts.push(format!("{} tokens", short(about.tokens)));
    }
    if let Some(cost) = about.cost.filter(|cost| *cost > 0.0) {
        parts.push(format!("${cost:.4}"));
    }
    if let Some((used, window)) = about.context.filter(|(_, window)| *window > 0) {
        parts.push(format!("{} % context", used * 100 / window));
    }
    parts
}

/// The end of a folder's path, which tells it from others.
fn end_of(folder: &str, room: usize) -> Option<Line> {
    let whole = Line::from(folder);
    if whole.width() <= room {
        return Some(whole);
    }
    if room < NARROWEST {
        return None;
    }
    let mut from = folder.len();
    for (place, _) in folder.grapheme_indices(true).rev() {
        if Line::from(&folder[place..]).width() + 1 > room {
            break;
        }
        from = place;
    }
    Some(Line::from(format!("…{}", &folder[from..])))
}

/// A number as people say it: 950, 1.2k, 15k, 1.5M.
fn short(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..10_000 => format!("{}.{}k", number / 1_000, number / 100 % 10),
        10_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
    }
}
