//! Text as it stands on the screen: styled pieces in lines, how wide they are, and where they break.

use orlop_app::ui::plain_text;
use std::borrow::Cow;
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// One of the sixteen colours that every terminal has, by what its user made of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Colour {
    /// That of the terminal.
    #[default]
    Plain,
    /// Failures, and what is taken away.
    Red,
    /// What worked, and what is added.
    Green,
    /// Warnings.
    Yellow,
    /// Titles.
    Blue,
    /// Words of a language.
    Magenta,
    /// Code.
    Cyan,
    /// What stands back.
    Grey,
}

/// How a piece of text looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Style {
    /// Its colour.
    pub colour: Colour,
    /// Bold.
    pub bold: bool,
    /// Fainter than the rest.
    pub dim: bool,
    /// Italic.
    pub italic: bool,
    /// Underlined.
    pub underlined: bool,
    /// Crossed out.
    pub crossed: bool,
    /// Background and foreground exchanged: what is selected.
    pub reversed: bool,
    /// The page it leads to.
    pub link: Option<Arc<str>>,
}

impl Style {
    /// Of this colour.
    pub fn of(colour: Colour) -> Self {
        Self { colour, ..Self::default() }
    }

    /// Standing back.
    pub fn faint() -> Self {
        Self { dim: true, ..Self::default() }
    }

    /// Bold.
    pub fn strong() -> Self {
        Self { bold: true, ..Self::default() }
    }

    /// The same, bold.
    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }
}

/// A piece of text of one style.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Span {
    /// The text, without line ends.
    pub text: String,
    /// How it looks.
    pub style: Style,
}

/// A line: pieces of text one after another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// The pieces.
    pub spans: Vec<Span>,
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Self::styled(text, Style::default())
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl Line {
    /// A line of one style.
    pub fn styled(text: impl AsRef<str>, style: Style) -> Self {
        let mut line = Self::default();
        line.push(text, style);
        line
    }

    /// Adds a piece. Whatever a terminal would act on is left out, wherever the text is from: what
    /// stands in a line is read and does nothing. Tabs become spaces, because a tab is as wide as
    /// where it stands.
    pub fn push(&mut self, text: impl AsRef<str>, style: Style) {
        let text = harmless(text.as_ref());
        if text.is_empty() {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(&text),
            _ => self.spans.push(Span { text: text.into_owned(), style }),
        }
    }

    /// The same with another piece.
    pub fn with(mut self, text: impl AsRef<str>, style: Style) -> Self {
        self.push(text, style);
        self
    }

    /// All pieces of another line behind those of this one.
    pub fn append(&mut self, other: Line) {
        other.spans.into_iter().for_each(|span| self.push(span.text, span.style));
    }

    /// The text without styles.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// How many columns it takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// Whether there is nothing on it.
    pub fn is_empty(&self) -> bool {
        self.spans.iter().all(|span| span.text.is_empty())
    }

    /// The first `width` columns, with a mark where something is missing.
    pub fn cut(&self, width: usize) -> Self {
        if self.width() <= width {
            return self.clone();
        }
        let mut cut = Self::default();
        let mut used = 0;
        for span in &self.spans {
            for grapheme in span.text.graphemes(true) {
                if used + grapheme.width() > width.saturating_sub(1) {
                    cut.push("…", span.style.clone());
                    return cut;
                }
                used += grapheme.width();
                cut.push(grapheme, span.style.clone());
            }
        }
        cut
    }
}

/// The text as one line of which nothing is acted on.
fn harmless(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(plain_text(text).replace('\t', "    ").replace('\n', " "))
}

/// Who reads: somebody who sees a screen, or somebody to whom it is read out line by line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reader {
    /// Marks, bars and columns say what is what.
    #[default]
    Eyes,
    /// Words do.
    Ears,
}

/// Where a line may break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// Between words, and inside of them only where one is wider than the screen.
    Words,
    /// Anywhere: code, whose spaces mean something.
    Anywhere,
}

/// A character as people see it, with its style by number.
struct Cell<'a> {
    text: &'a str,
    style: usize,
    width: usize,
}

impl Cell<'_> {
    fn is_space(&self) -> bool {
        self.text == " "
    }
}

/// The rows that a line takes on a screen of this width. Rows after the first begin with `hang`
/// columns of nothing.
pub fn wrap(line: &Line, width: usize, hang: usize, breaks: Break) -> Vec<Line> {
    let width = width.max(2);
    if line.width() <= width {
        return vec![line.clone()];
    }
    let hang = if hang + 2 > width { 0 } else { hang };
    let cells = line.spans.iter().enumerate().flat_map(|(style, span)| {
        let graphemes = span.text.graphemes(true);
        graphemes.map(move |text| Cell { text, style, width: text.width() })
    });
    let mut rows: Vec<Vec<Cell<'_>>> = Vec::new();
    let mut row: Vec<Cell<'_>> = Vec::new();
    let (mut used, mut last_break) = (0, None);
    for cell in cells {
        if used + cell.width > width && !row.is_empty() {
            if breaks == Break::Words && cell.is_space() {
                // It would stand at the edge, where nobody sees it.
                last_break = Some(row.len());
                continue;
            }
            let rest = match last_break.filter(|_| breaks == Break::Words) {
                Some(place) => row.split_off(place),
                None => Vec::new(),
            };
            rows.push(std::mem::replace(&mut row, rest));
            used = hang + row.iter().map(|cell| cell.width).sum::<usize>();
            last_break = None;
        }
        // Scripts with wide characters have no spaces between words.
        let breakable = cell.is_space() || cell.width > 1;
        used += cell.width;
        row.push(cell);
        if breakable {
            last_break = Some(row.len());
        }
    }
    rows.push(row);
    let styled = rows.into_iter().enumerate().map(|(number, mut row)| {
        let mut new = Line::default();
        if number > 0 {
            new.push(" ".repeat(hang), Style::default());
        }
        if breaks == Break::Words {
            let kept = row.iter().rposition(|cell| !cell.is_space()).map_or(0, |last| last + 1);
            row.truncate(kept);
        }
        for cell in row {
            new.push(cell.text, line.spans[cell.style].style.clone());
        }
        new
    });
    styled.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, width: usize, hang: usize, breaks: Break, expected: Expect) {
        let rows = wrap(&Line::from(text), width, hang, breaks);
        let shown = rows.iter().map(|row| format!("|{}|\n", row.text())).collect::<String>();
        assert!(rows.iter().all(|row| row.width() <= width), "{shown}");
        expected.assert_eq(&shown);
    }

    #[test]
    fn lines_break_between_words() {
        check(
            "the quick brown fox jumps",
            10,
            2,
            Break::Words,
            expect![[r#"
                |the quick|
                |  brown|
                |  fox|
                |  jumps|
            "#]],
        );
        check(
            "a_word_that_is_too_long for it",
            10,
            0,
            Break::Words,
            expect![[r#"
                |a_word_tha|
                |t_is_too_l|
                |ong for it|
            "#]],
        );
    }

    #[test]
    fn wide_characters_take_two_columns_and_break_anywhere() {
        check(
            "漢字はふたつの幅",
            7,
            0,
            Break::Words,
            expect![[r#"
                |漢字は|
                |ふたつ|
                |の幅|
            "#]],
        );
        check(
            "👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦",
            4,
            0,
            Break::Anywhere,
            expect![[r#"
                |👩‍👩‍👧‍👦👩‍👩‍👧‍👦|
                |👩‍👩‍👧‍👦|
            "#]],
        );
        assert_eq!(Line::from("e\u{301}tude").width(), 5);
    }

    #[test]
    fn code_keeps_its_spaces() {
        check(
            "if x   {  y }",
            6,
            0,
            Break::Anywhere,
            expect![[r#"
                |if x  |
                | {  y |
                |}|
            "#]],
        );
    }

    #[test]
    fn nothing_in_a_line_is_acted_on() {
        let hostile =
            "a\u{1b}[2J\u{9b}31mb\u{1b}]52;c;eA==\u{7}c\rd\ne\u{202e}f\u{2067}\tg\u{85}\u{7f}";
        assert_eq!(Line::from(hostile).text(), "abc d ef    g");
        // Nor what only comes together piece by piece.
        let line = Line::from("\u{1b}").with("[2Jx", Style::strong());
        assert_eq!(line.text(), "[2Jx");
    }

    #[test]
    fn styles_survive_a_break() {
        let line = Line::from("aa ").with("bb cc", Style::strong());
        let rows = wrap(&line, 5, 0, Break::Words);
        assert_eq!(rows[0].spans.len(), 2);
        assert_eq!(rows[1].spans, [Span { text: "cc".into(), style: Style::strong() }]);
        assert_eq!(Line::from("漢字かな").cut(5).text(), "漢字…");
    }
}
