//! The editor: keys of emacs and vi, several lines, history and folding.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use orlop_terminal::editor::{Editor, Keys};

/// Presses keys: letters as they are, others in angle brackets: `<C-a>`, `<A-b>`, `<Left>`.
fn press(editor: &mut Editor, keys: &str) {
    let mut rest = keys;
    while let Some(c) = rest.chars().next() {
        let (name, length) = match rest.find('>').filter(|_| c == '<') {
            Some(end) => (&rest[1..end], end + 1),
            None => (&rest[..c.len_utf8()], c.len_utf8()),
        };
        rest = &rest[length..];
        let (modifiers, name) = match name.get(..2) {
            Some("C-") => (KeyModifiers::CONTROL, &name[2..]),
            Some("A-") => (KeyModifiers::ALT, &name[2..]),
            Some("S-") => (KeyModifiers::SHIFT, &name[2..]),
            _ => (KeyModifiers::NONE, name),
        };
        let code = match name {
            "Left" => KeyCode::Left,
            "Right" => KeyCode::Right,
            "Up" => KeyCode::Up,
            "Down" => KeyCode::Down,
            "Home" => KeyCode::Home,
            "End" => KeyCode::End,
            "Enter" => KeyCode::Enter,
            "Esc" => KeyCode::Esc,
            "Back" => KeyCode::Backspace,
            "Del" => KeyCode::Delete,
            other => KeyCode::Char(other.chars().next().unwrap()),
        };
        editor.key(KeyEvent::new(code, modifiers));
    }
}

/// The text with `|` where the cursor is.
fn shown(editor: &Editor) -> String {
    let before = editor.before();
    format!("{before}|{}", &editor.text()[before.len()..])
}

#[track_caller]
fn check(keys: Keys, pressed: &str, expected: &str) {
    let mut editor = Editor::new(keys);
    press(&mut editor, pressed);
    assert_eq!(shown(&editor), expected, "{pressed}");
}

#[test]
fn emacs_keys_move_and_cut() {
    let emacs = |pressed, expected| check(Keys::Emacs, pressed, expected);
    emacs("hello world<C-a>", "|hello world");
    emacs("hello world<A-b><A-b><A-f>", "hello| world");
    emacs("hello world<C-w>", "hello |");
    emacs("hello world<C-a><A-k><C-y><C-y>", "hello worldhello world|");
    emacs("one two<C-u><C-_>", "one two|");
    emacs("abc<Left><Left><Back>", "|bc");
    emacs("abc<Home><Del><C-d>", "|c");
    emacs("a<A-Enter>b<S-Enter>c<C-j>d", "a\nb\nc\nd|");
    emacs("a\\<Enter>b", "a\nb|");
    emacs("first<C-j>2<Up>x", "fx|irst\n2");
    emacs("12345<C-j>1<Up><End><Down>", "12345\n1|");
}

#[test]
fn characters_are_what_people_see() {
    check(Keys::Emacs, "a👩‍👩‍👧‍👦e\u{301}<Back>", "a👩‍👩‍👧‍👦|");
    let mut editor = Editor::new(Keys::Emacs);
    editor.insert("a👩‍👩‍👧‍👦e\u{301}");
    press(&mut editor, "<Left><Left><Back>");
    assert_eq!(shown(&editor), "|👩‍👩‍👧‍👦e\u{301}");
    editor.set("漢字漢字");
    let (rows, cursor) = editor.rows(8, "› ");
    let rows: Vec<String> = rows.iter().map(|row| row.text()).collect();
    assert_eq!((rows, cursor), (vec!["› 漢字".to_owned(), "  漢字".to_owned()], (1, 6)));
}

#[test]
fn vi_keys_have_commands_motions_and_operators() {
    let vi = |pressed, expected| check(Keys::Vi, pressed, expected);
    vi("hello<Esc>", "hell|o");
    vi("hello world<Esc>0x", "|ello world");
    vi("one two three<Esc>0dw", "|two three");
    vi("one two three<Esc>02dw", "|three");
    vi("one two three<Esc>0wcwTWO", "one TWO| three");
    vi("one two<Esc>bD", "one |");
    vi("one<Esc>oabove<Esc>kdd", "|above");
    vi("one<Esc>yyp", "one\none|");
    vi("abc<Esc>0rx$i-", "xbc-|");
    vi("abc<Esc>ddu", "ab|c");
    vi("a b<Esc>ggIx<Esc>A!", "xa b!|");
}

#[test]
fn what_was_sent_comes_back() {
    let mut editor = Editor::new(Keys::Emacs);
    for text in ["one", "two", "two"] {
        editor.set(text);
        editor.take();
    }
    press(&mut editor, "dra<Up>");
    assert_eq!(editor.text(), "two");
    press(&mut editor, "<Up><Up>");
    assert_eq!(editor.text(), "one");
    press(&mut editor, "<Down><Down>");
    assert_eq!(editor.text(), "dra");
    assert_eq!(editor.history.newest_first(), ["two", "one"]);
}

#[test]
fn long_pasted_text_is_folded_and_sent_whole() {
    let mut editor = Editor::new(Keys::Emacs);
    let long: String = (0..30).map(|number| format!("line {number}\n")).collect();
    editor.paste("short\r\ntext ");
    editor.paste(&long);
    editor.paste(&"x".repeat(2000));
    assert_eq!(
        editor.text(),
        "short\ntext [Pasted text #1, 30 lines][Pasted text #2, 2000 characters]"
    );
    press(&mut editor, "<Back>");
    assert_eq!(editor.text(), "short\ntext [Pasted text #1, 30 lines]");
    assert_eq!(editor.take().text, format!("short\ntext {long}"));
    editor.paste("a\u{1b}[2Jb");
    assert_eq!(editor.text(), "ab");
}
