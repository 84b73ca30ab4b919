//! The screen: frames and history on a terminal, drawn with as little as possible.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orlop_terminal::screen::{Frame, Screen};
use orlop_terminal::text::{Colour, Line, Reader, Style};
use std::io::{self, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};

/// What was written, to be looked at later.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn some(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

struct Terminal {
    screen: Screen<Written>,
    written: Written,
    parser: vt100::Parser,
}

impl Terminal {
    fn new(cols: u16, rows: u16, colours: bool) -> Self {
        let written = Written::default();
        let size = (usize::from(cols), usize::from(rows));
        let screen = Screen::new(written.clone(), colours, size);
        Self { screen, written, parser: vt100::Parser::new(some(rows), some(cols), 100) }
    }

    /// Draws and gives how many bytes that took.
    fn draw(&mut self, history: &[&str], rows: &[&str], cursor: Option<(usize, usize)>) -> usize {
        let lines = |texts: &[&str]| texts.iter().map(|text| Line::from(*text)).collect::<Vec<_>>();
        let frame = Frame { rows: lines(rows), cursor };
        self.screen.draw(&lines(history), frame).unwrap();
        self.process()
    }

    fn process(&mut self) -> usize {
        let bytes = std::mem::take(&mut *self.written.0.lock().unwrap());
        self.parser.process(&bytes);
        bytes.len()
    }

    fn check(&self, expected: &str) {
        assert_eq!(self.parser.screen().contents().trim_end(), expected);
    }
}

#[test]
fn history_scrolls_away_and_live_rows_stay_below() {
    let mut terminal = Terminal::new(20, 5, false);
    terminal.draw(&[], &["> ", "status"], Some((0, 2)));
    terminal.check("> \nstatus");
    assert_eq!(terminal.parser.screen().cursor_position(), (0, 2));
    terminal.draw(&["one", "two"], &["> a", "status"], Some((0, 3)));
    terminal.check("one\ntwo\n> a\nstatus");
    terminal.draw(&["three", "four", "five"], &["> ", "more", "status"], Some((0, 2)));
    terminal.check("four\nfive\n> \nmore\nstatus");
    terminal.draw(&[], &["> ", "status"], Some((0, 2)));
    terminal.check("four\nfive\n> \nstatus");
    terminal.parser.screen_mut().set_scrollback(3);
    assert!(terminal.parser.screen().contents().starts_with("one\ntwo\nthree"));
}

#[test]
fn only_what_changed_is_written() {
    let mut terminal = Terminal::new(80, 24, false);
    let long = "x".repeat(70);
    terminal.draw(&[], &[&long, "> ", "status"], Some((1, 2)));
    assert_eq!(terminal.draw(&[], &[&long, "> ", "status"], Some((1, 2))), 0);
    assert!(terminal.draw(&[], &[&long, "> k", "status"], Some((1, 3))) < 60);
    terminal.check(&format!("{long}\n> k\nstatus"));
}

#[test]
fn full_rows_keep_their_last_column() {
    let mut terminal = Terminal::new(4, 4, false);
    terminal.draw(&["abcd"], &["efgh", "ij"], None);
    terminal.check("abcd\nefgh\nij");
    terminal.draw(&[], &["EFGH", "ij"], None);
    terminal.check("abcd\nEFGH\nij");
}

#[test]
fn more_rows_than_the_terminal_has_show_their_end() {
    let mut terminal = Terminal::new(10, 3, false);
    terminal.draw(&["said"], &["1", "2", "3", "4"], Some((3, 1)));
    terminal.check("2\n3\n4");
    terminal.draw(&["more"], &["4"], Some((0, 1)));
    terminal.check("more\n4");
}

#[test]
fn without_colours_only_colours_are_missing() {
    for (colours, expected) in [(true, "\x1b[1;31mx\x1b[0m"), (false, "\x1b[1mx\x1b[0m")] {
        let written = Written::default();
        let mut screen = Screen::new(written.clone(), colours, (10, 5));
        let line = Line::styled("x", Style::of(Colour::Red).bold());
        screen.draw(&[line], Frame::default()).unwrap();
        let bytes = written.0.lock().unwrap().clone();
        assert!(String::from_utf8(bytes).unwrap().contains(expected), "{expected:?}");
    }
}

#[test]
fn links_are_marked_for_terminals_that_know_them() {
    let written = Written::default();
    let mut screen = Screen::new(written.clone(), true, (80, 5));
    let lines = orlop_terminal::markdown::render("<https://example.test>", 80, Reader::Eyes);
    screen.draw(&lines, Frame::default()).unwrap();
    let bytes = written.0.lock().unwrap().clone();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("\x1b]8;;https://example.test\x1b\\"), "{text:?}");
    assert!(text.contains("\x1b]8;;\x1b\\"), "{text:?}");
}

#[test]
fn a_narrower_terminal_leaves_nothing_behind() {
    let mut terminal = Terminal::new(20, 8, false);
    terminal.draw(&["said"], &["", "> a", "status"], Some((1, 3)));
    terminal.parser.screen_mut().set_size(some(8), some(10));
    terminal.screen.resize((10, 8)).unwrap();
    terminal.draw(&[], &["", "> a", "status"], Some((1, 3)));
    terminal.check("said\n\n> a\nstatus");
}
