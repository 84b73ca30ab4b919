//! The screen: history that scrolls away as text does, and below it a few live rows that are drawn
//! again when they change.
//!
//! Only relative movements are written. So nobody has to ask the terminal where its cursor is, and
//! what has scrolled away is the terminal's own.

use crate::text::{Colour, Line, Style};
use std::io::{self, Write};

/// Empties the row of the cursor and all below it. Not in one step: from the first row of a screen on,
/// tmux takes that for clearing the screen, and keeps what was there in its scrollback.
const ERASE: &[u8] = b"\r\x1b7\x1b[2K\x1b[B\x1b[J\x1b8";

/// What is drawn at the bottom of the terminal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frame {
    /// The rows, each no wider than the screen.
    pub rows: Vec<Line>,
    /// Where the cursor stands: row and column; hidden if it is not said.
    pub cursor: Option<(usize, usize)>,
}

/// Writes frames and history to a terminal.
pub struct Screen<W> {
    out: W,
    colours: bool,
    width: usize,
    height: usize,
    drawn: Frame,
    /// The live row in which the terminal's cursor is now.
    row: usize,
}

impl<W: Write> Screen<W> {
    /// A screen of so many columns and rows.
    pub fn new(out: W, colours: bool, (width, height): (usize, usize)) -> Self {
        let drawn = Frame::default();
        Self { out, colours, width: width.max(2), height: height.max(2), drawn, row: 0 }
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// Puts history above the live rows, and shows these as they are now. Nothing is written where
    /// nothing changed.
    pub fn draw(&mut self, history: &[Line], mut frame: Frame) -> io::Result<()> {
        // What does not fit is at the top, where it would scroll away for good.
        let hidden = frame.rows.len().saturating_sub(self.height);
        frame.rows.drain(..hidden);
        frame.cursor = frame.cursor.and_then(|(row, column)| {
            let column = column.min(self.width - 1);
            row.checked_sub(hidden).map(|row| (row, column))
        });
        if history.is_empty() && frame == self.drawn {
            return Ok(());
        }
        let mut bytes = Vec::new();
        // Drawn at once where terminals know how, and without a cursor that jumps around.
        bytes.extend_from_slice(b"\x1b[?2026h\x1b[?25l");
        if !history.is_empty() {
            self.to_row(&mut bytes, 0);
            bytes.extend_from_slice(ERASE);
            for line in history {
                self.write_line(&mut bytes, line);
                bytes.extend_from_slice(b"\r\n");
            }
            self.drawn.rows.clear();
            self.row = 0;
        }
        self.write_rows(&mut bytes, &frame.rows);
        if let Some((row, column)) = frame.cursor {
            self.to_row(&mut bytes, row);
            bytes.push(b'\r');
            if column > 0 {
                bytes.extend_from_slice(format!("\x1b[{column}C").as_bytes());
            }
            bytes.extend_from_slice(b"\x1b[?25h");
        }
        bytes.extend_from_slice(b"\x1b[?2026l");
        self.drawn = frame;
        self.write(&bytes)
    }

    /// Writes the rows that differ from those that are there.
    fn write_rows(&mut self, bytes: &mut Vec<u8>, rows: &[Line]) {
        let before = std::mem::take(&mut self.drawn.rows);
        for (number, row) in rows.iter().enumerate() {
            if number >= before.len() && number > 0 {
                // A new row may have to scroll the screen.
                self.to_row(bytes, number - 1);
                bytes.extend_from_slice(b"\r\n");
                self.row = number;
            }
            if before.get(number) != Some(row) {
                self.to_row(bytes, number);
                // Cleared first: behind a full row the cursor still stands on its last column.
                bytes.extend_from_slice(b"\r\x1b[2K");
                self.write_line(bytes, row);
            }
        }
        if rows.len() < before.len() {
            self.to_row(bytes, rows.len());
            bytes.extend_from_slice(ERASE);
        }
    }

    /// The terminal has another size now: what was drawn is taken away, however it was reflowed.
    pub fn resize(&mut self, (width, height): (usize, usize)) -> io::Result<()> {
        (self.width, self.height) = (width.max(2), height.max(2));
        let rows = |line: &Line| line.width().div_ceil(self.width).max(1);
        let above: usize = self.drawn.rows.iter().take(self.row).map(rows).sum();
        let within = self.drawn.cursor.map_or(0, |(_, column)| column / self.width);
        let mut bytes = Vec::new();
        let up = (above + within).min(self.height);
        if up > 0 {
            bytes.extend_from_slice(format!("\x1b[{up}A").as_bytes());
        }
        bytes.extend_from_slice(ERASE);
        self.forget();
        self.write(&bytes)
    }

    /// Takes the live rows away; what is written next stands where they were.
    pub fn clear(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.to_row(&mut bytes, 0);
        bytes.extend_from_slice(ERASE);
        bytes.extend_from_slice(b"\x1b[?25h");
        self.forget();
        self.write(&bytes)
    }

    /// Empties the terminal; its scrollback stays.
    pub fn wipe(&mut self) -> io::Result<()> {
        self.forget();
        self.write(b"\x1b[H\x1b[2J")
    }

    /// Writes a sequence that moves nothing: a bell, a title, something to copy.
    pub fn send(&mut self, sequence: &str) -> io::Result<()> {
        self.write(sequence.as_bytes())
    }

    /// What is drawn is not there any more.
    pub fn forget(&mut self) {
        self.drawn = Frame::default();
        self.row = 0;
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }

    fn to_row(&mut self, bytes: &mut Vec<u8>, row: usize) {
        match row.cmp(&self.row) {
            std::cmp::Ordering::Less => {
                bytes.extend_from_slice(format!("\x1b[{}A", self.row - row).as_bytes());
            }
            std::cmp::Ordering::Greater => {
                bytes.extend_from_slice(format!("\x1b[{}B", row - self.row).as_bytes());
            }
            std::cmp::Ordering::Equal => {}
        }
        self.row = row;
    }

    fn write_line(&self, bytes: &mut Vec<u8>, line: &Line) {
        for span in &line.spans {
            let codes = codes(&span.style, self.colours);
            let link = span.style.link.as_ref().filter(|link| !link.contains(char::is_control));
            if let Some(link) = link {
                bytes.extend_from_slice(format!("\x1b]8;;{link}\x1b\\").as_bytes());
            }
            if !codes.is_empty() {
                bytes.extend_from_slice(format!("\x1b[{codes}m").as_bytes());
            }
            bytes.extend_from_slice(span.text.as_bytes());
            if !codes.is_empty() {
                bytes.extend_from_slice(b"\x1b[0m");
            }
            if link.is_some() {
                bytes.extend_from_slice(b"\x1b]8;;\x1b\\");
            }
        }
    }
}

fn codes(style: &Style, colours: bool) -> String {
    let mut codes: Vec<&str> = Vec::new();
    let flags = [
        (style.bold, "1"),
        (style.dim, "2"),
        (style.italic, "3"),
        (style.underlined, "4"),
        (style.reversed, "7"),
        (style.crossed, "9"),
    ];
    codes.extend(flags.iter().filter(|(on, _)| *on).map(|(_, code)| *code));
    if colours {
        match style.colour {
            Colour::Plain => {}
            Colour::Red => codes.push("31"),
            Colour::Green => codes.push("32"),
            Colour::Yellow => codes.push("33"),
            Colour::Blue => codes.push("34"),
            Colour::Magenta => codes.push("35"),
            Colour::Cyan => codes.push("36"),
            Colour::Grey => codes.push("90"),
        }
    }
    codes.join(";")
}
