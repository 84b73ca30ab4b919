//! What the chat looks like: the live rows at the bottom, and blocks of history above them.

mod block;
mod live;
mod overlay;
mod status;

pub use block::History;

use crate::model::Model;
use crate::screen::Frame;
use crate::text::Line;

/// The live rows on a screen of this size.
pub fn frame(model: &Model, (width, height): (usize, usize)) -> Frame {
    let mut below: Vec<Line> = Vec::new();
    let mut cursor = None;
    match &model.overlay {
        Some(overlay) => {
            let (rows, at) = overlay::rows(overlay, width, height.saturating_sub(4));
            below = rows;
            cursor = at;
        }
        None => {
            // A gap, what is going on, another gap, and the status line.
            let room = height.saturating_sub(4);
            let asked = model.approving();
            let written = (asked.is_none() || !model.editor.is_empty())
                .then(|| live::editor(model, width, height.saturating_sub(3).min(12)));
            if let Some(asked) = asked {
                let taken = written.as_ref().map_or(0, |(rows, _)| rows.len() + 1);
                below = live::approval(model, asked, width, room.saturating_sub(taken));
            }
            if let Some((rows, at)) = written {
                if asked.is_some() {
                    below.push(Line::from("  Send or empty your line first."));
                }
                cursor = Some((at.0 + below.len(), at.1));
                below.extend(rows);
            }
        }
    }
    below.extend(live::completions(model, width));
    below.push(status::line(model, width));
    let room = height.saturating_sub(below.len() + 2);
    // A gap to the history, and one to what is written next.
    let mut rows = vec![Line::default()];
    let above = live::above(model, width, room);
    if !above.is_empty() {
        rows.extend(above);
        rows.push(Line::default());
    }
    let cursor = cursor.map(|(row, column)| (row + rows.len(), column));
    rows.extend(below);
    Frame { rows, cursor }
}
