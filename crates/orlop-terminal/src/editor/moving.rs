//! Places to go to from the cursor.

use super::Editor;
use unicode_segmentation::UnicodeSegmentation;

impl Editor {
    pub(super) fn left(&self) -> usize {
        self.before().grapheme_indices(true).next_back().map_or(0, |(place, _)| place)
    }

    pub(super) fn right(&self) -> usize {
        let after = &self.text[self.cursor..];
        self.cursor + after.graphemes(true).next().map_or(0, str::len)
    }

    pub(super) fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |end| end + 1)
    }

    pub(super) fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |end| self.cursor + end)
    }

    /// The beginning of the word before the cursor.
    pub(super) fn word_left(&self) -> usize {
        let words = self.before().split_word_bound_indices().rev();
        let mut words = words.filter(|(_, word)| !word.trim().is_empty() && has_letters(word));
        words.next().map_or(0, |(place, _)| place)
    }

    /// The end of the word after the cursor.
    pub(super) fn word_right(&self) -> usize {
        let after = &self.text[self.cursor..];
        let mut words = after.split_word_bound_indices().filter(|(_, word)| has_letters(word));
        words.next().map_or(self.text.len(), |(place, word)| self.cursor + place + word.len())
    }

    /// The beginning of the next word.
    pub(super) fn next_word(&self) -> usize {
        let after = &self.text[self.cursor..];
        let mut words = after.split_word_bound_indices().skip(1);
        let found = words.find(|(_, word)| !word.trim().is_empty());
        found.map_or(self.text.len(), |(place, _)| self.cursor + place)
    }

    /// The beginning of what stands before the cursor without a space in it.
    pub(super) fn chunk_left(&self) -> usize {
        let before = self.before().trim_end();
        before
            .rfind(char::is_whitespace)
            .map_or(0, |place| place + before[place..].chars().next().map_or(1, char::len_utf8))
    }

    /// One line up, as far to the right as now; `false` on the first.
    pub(super) fn up(&mut self) -> bool {
        let start = self.line_start();
        if start == 0 {
            return false;
        }
        let column = self.text[start..self.cursor].graphemes(true).count();
        let above = self.text[..start - 1].rfind('\n').map_or(0, |end| end + 1);
        self.cursor = at_column(&self.text[above..start - 1], column) + above;
        true
    }

    /// One line down; `false` on the last.
    pub(super) fn down(&mut self) -> bool {
        let end = self.line_end();
        if end == self.text.len() {
            return false;
        }
        let column = self.text[self.line_start()..self.cursor].graphemes(true).count();
        let below = end + 1;
        let line_end = self.text[below..].find('\n').map_or(self.text.len(), |at| below + at);
        self.cursor = at_column(&self.text[below..line_end], column) + below;
        true
    }

    /// Up, or to what was sent before.
    pub(super) fn up_or_earlier(&mut self) {
        if !self.up()
            && let Some(text) = self.history.earlier(&self.text)
        {
            self.text = text;
            self.cursor = self.text.len();
        }
    }

    /// Down, or to what was sent later.
    pub(super) fn down_or_later(&mut self) {
        if !self.down()
            && let Some(text) = self.history.later()
        {
            self.text = text;
            self.cursor = self.text.len();
        }
    }
}

fn has_letters(word: &str) -> bool {
    word.chars().any(char::is_alphanumeric)
}

fn at_column(line: &str, column: usize) -> usize {
    line.grapheme_indices(true).nth(column).map_or(line.len(), |(place, _)| place)
}
