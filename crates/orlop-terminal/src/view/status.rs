//! The status line: who answers, where, and what it took.

use crate::model::Model;
use crate::text::{Colour, Line, Style};

pub(super) fn line(model: &Model, width: usize) -> Line {
    if let Some(hint) = &model.hint {
        return Line::styled(hint, Style::of(Colour::Yellow)).cut(width);
    }
    let about = &model.conversation;
    let mut parts = vec![about.agent.clone(), about.model.clone(), about.folder.clone()];
    if about.tokens > 0 {
        parts.push(format!("{} tokens", short(about.tokens)));
    }
    if let Some(cost) = about.cost.filter(|cost| *cost > 0.0) {
        parts.push(format!("${cost:.4}"));
    }
    if let Some((used, window)) = about.context.filter(|(_, window)| *window > 0) {
        parts.push(format!("{} % context", used * 100 / window));
    }
    if !model.queue.is_empty() {
        parts.push(format!("{} waiting", model.queue.len()));
    }
    parts.retain(|part| !part.is_empty());
    let mut line = Line::styled(parts.join(" · "), Style::faint());
    let keys = "^K commands";
    let room = width.saturating_sub(line.width() + 3);
    if room >= keys.len() {
        line.push(" ".repeat(room - keys.len() + 2), Style::default());
        line.push(keys, Style::faint());
    }
    line.cut(width)
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
