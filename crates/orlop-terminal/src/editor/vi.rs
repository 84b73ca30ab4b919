//! The keys of vi: commands and insertion, motions with counts, and the operators `d`, `c`, `y`.

use super::Editor;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Where vi is.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    normal: bool,
    count: usize,
    operator: Option<char>,
    /// A key that waits for another one: `g`, `r`.
    waiting: Option<char>,
}

impl State {
    pub(super) fn is_normal(&self) -> bool {
        self.normal
    }
}

/// Takes a key; `false` if it is none of vi's.
pub(super) fn key(editor: &mut Editor, key: KeyEvent) -> bool {
    let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match key.code {
        KeyCode::Esc if !editor.vi.normal => {
            editor.vi = State { normal: true, ..State::default() };
            if editor.cursor > editor.line_start() {
                editor.cursor = editor.left();
            }
            true
        }
        KeyCode::Esc if editor.vi.operator.is_some() || editor.vi.count > 0 => {
            editor.vi = State { normal: true, ..State::default() };
            true
        }
        KeyCode::Char(c) if editor.vi.normal && plain => {
            command(editor, c);
            true
        }
        KeyCode::Left
        | KeyCode::Right
        | KeyCode::Up
        | KeyCode::Down
        | KeyCode::Home
        | KeyCode::End
        | KeyCode::Delete
        | KeyCode::Backspace
            if editor.vi.normal =>
        {
            super::emacs::key(editor, key)
        }
        _ => false,
    }
}

fn command(editor: &mut Editor, c: char) {
    match editor.vi.waiting.take() {
        Some('r') => return replace(editor, c),
        Some('g') if c == 'g' => return motion(editor, 'g'),
        Some(_) => return done(editor),
        None => {}
    }
    match c {
        '1'..='9' => return count(editor, c),
        '0' if editor.vi.count > 0 => return count(editor, c),
        'd' | 'c' | 'y' => return operator(editor, c),
        'g' | 'r' => {
            editor.vi.waiting = Some(c);
            return;
        }
        'h' | 'l' | 'j' | 'k' | 'w' | 'b' | 'e' | '0' | '^' | '$' | 'G' => {
            return motion(editor, c);
        }
        'i' => insert(editor),
        'a' => {
            if editor.cursor < editor.line_end() {
                editor.cursor = editor.right();
            }
            insert(editor);
        }
        'I' => {
            editor.cursor = editor.line_start();
            insert(editor);
        }
        'A' => {
            editor.cursor = editor.line_end();
            insert(editor);
        }
        'o' => {
            editor.cursor = editor.line_end();
            editor.insert("\n");
            insert(editor);
        }
        'O' => {
            editor.cursor = editor.line_start();
            editor.insert("\n");
            editor.cursor = editor.left();
            insert(editor);
        }
        'x' => times(editor, |editor| editor.cut(editor.cursor..editor.right())),
        'X' => times(editor, |editor| editor.cut(editor.left()..editor.cursor)),
        'D' => editor.cut(editor.cursor..editor.line_end()),
        'C' => {
            editor.cut(editor.cursor..editor.line_end());
            insert(editor);
        }
        'p' => put(editor, true),
        'P' => put(editor, false),
        'u' => editor.undo(),
        _ => {}
    }
    done(editor);
}

fn insert(editor: &mut Editor) {
    editor.vi.normal = false;
}

/// The command is complete.
fn done(editor: &mut Editor) {
    editor.vi = State { normal: editor.vi.normal, ..State::default() };
}

fn count(editor: &mut Editor, digit: char) {
    let digit = digit.to_digit(10).unwrap_or(0) as usize;
    editor.vi.count = (editor.vi.count * 10 + digit).min(999);
}

fn times(editor: &mut Editor, change: impl Fn(&mut Editor)) {
    for _ in 0..editor.vi.count.max(1) {
        change(editor);
    }
}

fn replace(editor: &mut Editor, c: char) {
    if editor.cursor < editor.line_end() {
        let place = editor.cursor;
        editor.delete();
        editor.insert(c.encode_utf8(&mut [0; 4]));
        editor.cursor = place;
    }
    done(editor);
}

fn put(editor: &mut Editor, behind: bool) {
    let text = editor.cut.clone();
    let is_line = text.ends_with('\n');
    if is_line {
        editor.cursor = if behind { editor.line_end() } else { editor.line_start() };
        if behind && editor.cursor == editor.text.len() {
            editor.insert("\n");
            return editor.insert(text.trim_end_matches('\n'));
        }
        editor.cursor += usize::from(behind);
    } else if behind && editor.cursor < editor.line_end() {
        editor.cursor = editor.right();
    }
    editor.insert(&text);
}

/// An operator, or its second letter: the whole line.
fn operator(editor: &mut Editor, c: char) {
    match editor.vi.operator {
        None => editor.vi.operator = Some(c),
        Some(before) if before == c => {
            let (start, end) = (editor.line_start(), editor.line_end());
            let line = editor.text[start..end].to_owned() + "\n";
            let is_last = end == editor.text.len();
            match c {
                'd' if is_last => apply(editor, c, start.saturating_sub(1)..end),
                'd' => apply(editor, c, start..end + 1),
                _ => apply(editor, c, start..end),
            }
            editor.cut = line;
        }
        Some(_) => done(editor),
    }
}

fn motion(editor: &mut Editor, c: char) {
    let from = editor.cursor;
    for _ in 0..editor.vi.count.max(1) {
        editor.cursor = match c {
            'h' if editor.cursor > editor.line_start() => editor.left(),
            'l' if editor.cursor < editor.line_end() => editor.right(),
            'w' if editor.vi.operator == Some('c') => editor.word_right(),
            'w' => editor.next_word(),
            'b' => editor.word_left(),
            'e' => editor.word_right(),
            '0' => editor.line_start(),
            '^' => {
                let start = editor.line_start();
                let line = &editor.text[start..editor.line_end()];
                start + line.len() - line.trim_start().len()
            }
            '$' => editor.line_end(),
            'g' => 0,
            'G' => editor.text.len(),
            'j' | 'k' if editor.vi.operator.is_none() => {
                if c == 'j' {
                    editor.down_or_later()
                } else {
                    editor.up_or_earlier()
                }
                editor.cursor
            }
            _ => editor.cursor,
        };
    }
    match editor.vi.operator {
        Some(operator) => {
            let range = from.min(editor.cursor)..from.max(editor.cursor);
            editor.cursor = from;
            apply(editor, operator, range);
        }
        None => done(editor),
    }
}

fn apply(editor: &mut Editor, operator: char, range: std::ops::Range<usize>) {
    match operator {
        'y' => {
            editor.cut = editor.text[range.clone()].to_owned();
            editor.cursor = range.start;
        }
        _ => editor.cut(range),
    }
    if operator == 'c' {
        insert(editor);
    }
    done(editor);
}
