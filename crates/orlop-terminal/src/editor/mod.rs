//! The editor: what is being written, several lines of it, with the keys of emacs or vi.
//!
//! It is a value: keys and pasted text change it, nothing else does. Places in the text are byte
//! offsets between two characters as people see them.

mod emacs;
mod history;
mod moving;
mod paste;
mod vi;

pub use history::History;
pub(crate) use history::MOST as MOST_REMEMBERED;
pub use paste::{Attached, Draft, Sent};

use crate::text::{Break, Colour, Line, Style, wrap};
use crossterm::event::KeyEvent;
use paste::Folded;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// How many steps back are remembered.
const MOST_UNDO: usize = 200;

/// Whose keys the editor has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keys {
    /// Those of emacs, as most command lines have them.
    #[default]
    Emacs,
    /// Those of vi.
    Vi,
}

/// What is being written.
#[derive(Debug, Clone, Default)]
pub struct Editor {
    text: String,
    cursor: usize,
    keys: Keys,
    vi: vi::State,
    /// What was last taken away, to be put in elsewhere.
    cut: String,
    undo: Vec<(String, usize)>,
    folded: Vec<Folded>,
    /// What was sent before.
    pub history: History,
}

impl Editor {
    /// An empty one.
    pub fn new(keys: Keys) -> Self {
        Self { keys, ..Self::default() }
    }

    /// The text, with what is folded as its mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text before the cursor.
    pub fn before(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether vi takes keys for commands.
    pub fn commands(&self) -> bool {
        self.keys == Keys::Vi && self.vi.is_normal()
    }

    /// Writes this in place of everything, with the cursor at the end. Marks in it stand for what
    /// they stood for before.
    pub fn set(&mut self, text: impl AsRef<str>) {
        self.remember();
        self.text = orlop_app::ui::plain_text(text.as_ref());
        self.cursor = self.text.len();
    }

    /// Puts a draft back in front of what is written, with its files.
    pub fn put_back(&mut self, draft: &Draft) {
        self.remember();
        let written = std::mem::take(&mut self.text);
        self.cursor = 0;
        draft.files.iter().for_each(|file| self.attach(file));
        let gap = if draft.text.is_empty() || written.is_empty() { "" } else { "\n" };
        self.text.push_str(&format!("{}{gap}{written}", draft.text));
        self.cursor = self.text.len();
    }

    /// The same, after the marks of the files that are in it.
    pub fn set_after_files(&mut self, text: &str) {
        let files = self.folded.iter().filter(|it| it.is_file() && self.text.contains(&it.mark));
        let marks: String = files.map(|file| format!("{} ", file.mark)).collect();
        self.set(marks + text);
    }

    /// Takes everything away and gives it with its folded parts.
    pub fn take(&mut self) -> Draft {
        let text = std::mem::take(&mut self.text);
        let draft = paste::draft(&text, &self.folded);
        self.cursor = 0;
        self.folded.clear();
        self.undo.clear();
        self.vi = vi::State::default();
        self.history.add(&draft.text);
        draft
    }

    /// The whole text, with folded parts written out; files stay marks.
    pub fn whole(&self) -> String {
        paste::written_out(&self.text, &self.folded)
    }

    /// Takes a key; `false` if it means nothing here.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        if self.keys == Keys::Vi && vi::key(self, key) {
            return true;
        }
        !self.commands() && emacs::key(self, key)
    }

    /// Writes at the cursor.
    pub fn insert(&mut self, text: &str) {
        self.remember();
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    /// Puts pasted text in; a long one as a mark that stands for it.
    pub fn paste(&mut self, text: &str) {
        let text = orlop_app::ui::plain_text(text);
        match paste::fold(&text, self.folded.len()) {
            Some(folded) => {
                self.insert(&folded.mark);
                self.folded.push(folded);
            }
            None => self.insert(&text),
        }
    }

    /// Puts a file in as a mark that stands for it.
    pub fn attach(&mut self, path: &str) {
        let folded = paste::file(path, &self.folded);
        self.insert(&format!("{} ", folded.mark));
        self.folded.push(folded);
    }

    /// Replaces the characters from `start`, counted from the cursor and not positive.
    pub fn complete(&mut self, start: i64, replacement: &str) {
        self.remember();
        let count = usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX);
        let before = self.before().char_indices().rev();
        let from = match count {
            0 => self.cursor,
            count => before.map(|(place, _)| place).nth(count - 1).unwrap_or(0),
        };
        self.text.replace_range(from..self.cursor, replacement);
        self.cursor = from + replacement.len();
    }

    /// Puts a snippet, folded if it is long, in the place of what was just completed.
    pub fn exchange(&mut self, inserted: &str, snippet: &str) {
        if self.before().ends_with(inserted) {
            self.text.replace_range(self.cursor - inserted.len()..self.cursor, "");
            self.cursor -= inserted.len();
            self.paste(snippet);
        }
    }

    /// Goes back one step.
    pub fn undo(&mut self) {
        if let Some((text, cursor)) = self.undo.pop() {
            (self.text, self.cursor) = (text, cursor);
        }
    }

    fn remember(&mut self) {
        if self.undo.last().is_none_or(|(text, _)| *text != self.text) {
            self.undo.push((self.text.clone(), self.cursor));
            if self.undo.len() > MOST_UNDO {
                self.undo.remove(0);
            }
        }
    }

    /// Takes a range away and remembers it.
    fn cut(&mut self, range: std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.remember();
        self.cut = self.text[range.clone()].to_owned();
        self.cursor = range.start;
        self.text.replace_range(range, "");
    }

    /// The character before the cursor away; a mark as a whole.
    fn backspace(&mut self) {
        let mark = self.folded.iter().map(|folded| &folded.mark);
        let length = mark.filter(|mark| self.before().ends_with(mark.as_str())).map(String::len);
        let from = length.max().map_or_else(|| self.left(), |length| self.cursor - length);
        self.remember();
        self.text.replace_range(from..self.cursor, "");
        self.cursor = from;
    }

    fn delete(&mut self) {
        let to = self.right();
        self.remember();
        self.text.replace_range(self.cursor..to, "");
    }

    /// The rows on a screen, and where the cursor is: row and column.
    pub fn rows(&self, width: usize, prompt: &str) -> (Vec<Line>, (usize, usize)) {
        let margin = prompt.width();
        let room = width.saturating_sub(margin + 1).max(2);
        let mut rows: Vec<Line> = Vec::new();
        let mut cursor = (0, margin);
        let mut place = 0;
        for text in self.text.split('\n') {
            let row = wrap(&self.marked(text), room, 0, Break::Anywhere);
            if (place..=place + text.len()).contains(&self.cursor) {
                cursor = caret(&text[..self.cursor - place], room);
                cursor.0 += rows.len();
                cursor.1 += margin;
            }
            place += text.len() + 1;
            rows.extend(row);
        }
        let prompts =
            std::iter::once(prompt.to_owned()).chain(std::iter::repeat(" ".repeat(margin)));
        let rows = rows.into_iter().zip(prompts).map(|(row, prompt)| {
            let mut line = Line::styled(prompt, Style::of(Colour::Blue).bold());
            line.append(row);
            line
        });
        (rows.collect(), cursor)
    }

    /// A line with its marks told apart.
    fn marked(&self, text: &str) -> Line {
        let mut line = Line::default();
        let mut rest = text;
        'rest: while !rest.is_empty() {
            for folded in &self.folded {
                if let Some(after) = rest.strip_prefix(folded.mark.as_str()) {
                    line.push(&folded.mark, Style::of(Colour::Cyan));
                    rest = after;
                    continue 'rest;
                }
            }
            let length = rest.graphemes(true).next().map_or(rest.len(), str::len);
            line.push(&rest[..length], Style::default());
            rest = &rest[length..];
        }
        line
    }
}

/// The row and column behind a text that breaks anywhere.
fn caret(text: &str, width: usize) -> (usize, usize) {
    let (mut row, mut column) = (0, 0);
    for grapheme in text.graphemes(true) {
        let wide = if grapheme == "\t" { 4 } else { grapheme.width() };
        if column + wide > width && column > 0 {
            (row, column) = (row + 1, 0);
        }
        column += wide;
    }
    (row, column)
}
