//! What stands in front of the editor: lists and forms.

use crate::model::{Field, Form, Overlay, Picker};
use crate::text::{Break, Colour, Line, Style, wrap};

type Rows = (Vec<Line>, Option<(usize, usize)>);

/// The rows of what is in front, at most so many, and the cursor.
pub(super) fn rows(overlay: &Overlay, width: usize, most: usize) -> Rows {
    match overlay {
        Overlay::Picker(picker) => picker_rows(picker, width, most),
        Overlay::Form(form) => form_rows(form, width, most),
    }
}

fn picker_rows(picker: &Picker, width: usize, most: usize) -> Rows {
    let title = format!("{}: ", picker.title());
    let head =
        Line::styled(&title, Style::of(Colour::Blue).bold()).with(&picker.query, Style::default());
    let cursor = head.width();
    let mut rows = vec![head.cut(width)];
    let items = picker.fitting();
    let preview = picker.preview.len().min(6);
    let room = most.saturating_sub(3 + preview).clamp(1, 12);
    let from = picker.selected.saturating_sub(room - 1);
    for (place, item) in items.iter().enumerate().skip(from).take(room) {
        let chosen = place == picker.selected;
        let mark = if chosen { "▸ " } else { "  " };
        let style = Style { reversed: chosen, ..Style::default() };
        let mut line = Line::styled(mark, Style::of(Colour::Blue)).with(&item.label, style);
        if !item.detail.is_empty() {
            line.push(format!("  {}", item.detail), Style::faint());
        }
        rows.push(line.cut(width));
    }
    if items.is_empty() {
        let text = if picker.loading { "  …" } else { "  nothing fits" };
        rows.push(Line::styled(text, Style::faint()));
    } else if items.len() > room {
        let text = format!("  {} of {}", picker.selected + 1, items.len());
        rows.push(Line::styled(text, Style::faint()));
    }
    rows.extend(
        picker
            .preview
            .iter()
            .take(preview)
            .map(|text| Line::styled(format!("  │ {text}"), Style::faint()).cut(width)),
    );
    rows.push(Line::styled(picker.keys(), Style::faint()).cut(width));
    (rows, Some((0, cursor)))
}

fn form_rows(form: &Form, width: usize, most: usize) -> Rows {
    let title = Line::styled(&form.dialog.title, Style::of(Colour::Blue).bold());
    let mut rows = wrap(&title, width, 0, Break::Words);
    let mut cursor = None;
    for (place, field) in form.fields.iter().enumerate() {
        let focused = place == form.focus;
        let style = if focused { Style::strong() } else { Style::default() };
        let must = if field.is_required() { " *" } else { "" };
        let label = format!("  {}{must}: ", field.input.label);
        if field.choices.is_empty() || !field.editor.is_empty() {
            let (lines, at) = field.editor.rows(width, &label);
            if focused {
                cursor = Some((rows.len() + at.0, at.1));
            }
            rows.extend(lines);
        } else {
            rows.push(Line::styled(label, style).cut(width));
            if focused {
                cursor = Some((rows.len() + field.at, 0));
            }
            rows.extend(choice_rows(field, focused, width));
        }
    }
    let fields = rows.len();
    if let Some(problem) = &form.problem {
        let line = Line::styled(format!("  ✗ {problem}"), Style::of(Colour::Red));
        rows.extend(wrap(&line, width, 4, Break::Words));
    }
    let choosing = match form.fields.get(form.focus) {
        Some(field) if field.choices.is_empty() => "",
        Some(field) => match (field.is_many(), field.is_open()) {
            (true, true) => "↑ ↓ and Space choose, or write · ",
            (true, false) => "↑ ↓ and Space choose · ",
            (false, true) => "↑ ↓ choose, or write · ",
            (false, false) => "↑ ↓ choose · ",
        },
        None => "",
    };
    let keys = match form.fields.len() {
        0 => "y or Enter: yes · n or Esc: no",
        1 => "Enter goes on · Esc closes",
        _ => "Tab: next field · Enter on the last goes on · Esc closes",
    };
    let problems = rows.len() - fields;
    let (mut rows, cursor) = around_cursor(rows, cursor, problems, most.saturating_sub(1));
    rows.push(Line::styled(format!("{choosing}{keys}"), Style::faint()).cut(width));
    (rows, cursor)
}

/// The rows around the cursor and the last ones, which say what is wrong, if not all of them fit; with
/// marks where more follow.
fn around_cursor(
    mut rows: Vec<Line>,
    cursor: Option<(usize, usize)>,
    last: usize,
    most: usize,
) -> Rows {
    if rows.len() <= most {
        return (rows, cursor);
    }
    let told = rows.split_off(rows.len() - last.min(rows.len()));
    let room = most.saturating_sub(told.len() + 2).max(1);
    let (row, column) = cursor.unwrap_or_default();
    let from = (row + 1).saturating_sub(room).min(rows.len().saturating_sub(room));
    let mark = |sign: &str, count: usize| match count {
        0 => Line::default(),
        count => Line::styled(format!("  {sign} {count} more"), Style::faint()),
    };
    let below = rows.len().saturating_sub(from + room);
    let mut shown = vec![mark("↑", from)];
    shown.extend(rows.drain(from..(from + room).min(rows.len())));
    shown.push(mark("↓", below));
    shown.extend(told);
    (shown, cursor.map(|_| ((row + 1).saturating_sub(from), column)))
}

fn choice_rows(field: &Field, focused: bool, width: usize) -> Vec<Line> {
    let row = |(place, (_, label)): (usize, &(serde_json::Value, String))| {
        let chosen = place == field.at;
        let mark = match (field.is_many(), field.chosen.get(place)) {
            (true, Some(true)) => "[x] ",
            (true, _) => "[ ] ",
            (false, _) if chosen => "▸ ",
            (false, _) => "  ",
        };
        let style = Style { reversed: chosen && focused, ..Style::default() };
        Line::from("    ").with(format!("{mark}{}. {label}", place + 1), style).cut(width)
    };
    field.choices.iter().enumerate().map(row).collect()
}
