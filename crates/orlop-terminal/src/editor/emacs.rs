//! The keys that most command lines have.

use super::Editor;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Takes a key; `false` if it means nothing here.
pub(super) fn key(editor: &mut Editor, key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        KeyCode::Char(c) if control => return with_control(editor, c),
        KeyCode::Char(c) if alt => return with_alt(editor, c),
        KeyCode::Char(c) => editor.insert(c.encode_utf8(&mut [0; 4])),
        KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => editor.insert("\n"),
        KeyCode::Enter if editor.before().ends_with('\\') => {
            editor.backspace();
            editor.insert("\n");
        }
        KeyCode::Backspace if alt || control => editor.cut(editor.word_left()..editor.cursor),
        KeyCode::Backspace => editor.backspace(),
        KeyCode::Delete => editor.delete(),
        KeyCode::Left if alt || control => editor.cursor = editor.word_left(),
        KeyCode::Right if alt || control => editor.cursor = editor.word_right(),
        KeyCode::Left => editor.cursor = editor.left(),
        KeyCode::Right => editor.cursor = editor.right(),
        KeyCode::Home => editor.cursor = editor.line_start(),
        KeyCode::End => editor.cursor = editor.line_end(),
        KeyCode::Up => editor.up_or_earlier(),
        KeyCode::Down => editor.down_or_later(),
        _ => return false,
    }
    true
}

fn with_control(editor: &mut Editor, c: char) -> bool {
    match c {
        'a' => editor.cursor = editor.line_start(),
        'e' => editor.cursor = editor.line_end(),
        'b' => editor.cursor = editor.left(),
        'f' => editor.cursor = editor.right(),
        'p' => editor.up_or_earlier(),
        'n' => editor.down_or_later(),
        'd' if !editor.is_empty() => editor.delete(),
        'h' => editor.backspace(),
        'j' => editor.insert("\n"),
        'w' => editor.cut(editor.chunk_left()..editor.cursor),
        'u' => editor.cut(editor.line_start()..editor.cursor),
        'y' => {
            let text = editor.cut.clone();
            editor.insert(&text);
        }
        '_' | '/' | '7' => editor.undo(),
        _ => return false,
    }
    true
}

fn with_alt(editor: &mut Editor, c: char) -> bool {
    match c {
        'b' => editor.cursor = editor.word_left(),
        'f' => editor.cursor = editor.word_right(),
        'd' => editor.cut(editor.cursor..editor.word_right()),
        'k' => editor.cut(editor.cursor..editor.line_end()),
        _ => return false,
    }
    true
}
