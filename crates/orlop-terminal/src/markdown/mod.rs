//! Markdown as lines of a screen, and how much of a text that is still being written is finished.

mod table;

use crate::highlight::Highlighter;
use crate::text::{Break, Colour, Line, Reader, Style, wrap};
use orlop_app::ui::{plain_text, web_url};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use table::Table;

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The lines of a text in markdown on a screen of this width.
pub fn render(text: &str, width: usize, reader: Reader) -> Vec<Line> {
    let text = plain_text(text);
    let mut builder = Builder { width: width.max(8), reader, ..Builder::default() };
    for event in Parser::new_ext(&text, options()) {
        builder.take(event);
    }
    builder.flush();
    builder.lines
}

/// How many bytes at the beginning of a text stay as they are, whatever is written behind it: all
/// blocks but the last one.
pub fn finished(text: &str) -> usize {
    let mut depth = 0usize;
    let mut last = 0;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        if depth == 0 {
            last = range.start;
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    // An indented block begins behind its indentation.
    text[..last].rfind('\n').map_or(0, |end| end + 1)
}

/// What stands in front of every line: a quote, an item of a list.
struct Container {
    /// In front of its first line.
    marker: Option<Line>,
    rest: Line,
}

#[derive(Default)]
struct Builder {
    width: usize,
    reader: Reader,
    lines: Vec<Line>,
    inline: Line,
    styles: Vec<Style>,
    containers: Vec<Container>,
    lists: Vec<Option<u64>>,
    code: Option<(Highlighter, String)>,
    table: Option<Table>,
    /// The address of the link under way, and the width of the line before it.
    link: Option<(String, String)>,
    /// Whether the next block stands apart from the last one.
    separate: bool,
}

impl Builder {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                let style = Style { colour: Colour::Cyan, ..self.style() };
                self.push(&text, style);
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                let style = Style { dim: true, ..self.style() };
                for (number, line) in text.lines().enumerate() {
                    if number > 0 {
                        self.flush();
                    }
                    self.push(line, style.clone());
                }
            }
            Event::SoftBreak => self.push(" ", self.style()),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.begin_block();
                let line = match self.reader {
                    Reader::Eyes => Line::styled("─".repeat(self.room().min(40)), Style::faint()),
                    Reader::Ears => Line::from("---"),
                };
                self.emit(&line, Break::Anywhere);
                self.separate = true;
            }
            Event::TaskListMarker(done) => {
                let mark = if done { "[x] " } else { "[ ] " };
                self.push(mark, self.style());
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.push(&text, self.style()),
            Event::FootnoteReference(name) => {
                self.push(&format!("[{name}]"), self.style());
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let style = self.style();
        match tag {
            Tag::Paragraph => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                let colour = match level {
                    HeadingLevel::H1 | HeadingLevel::H2 => Colour::Blue,
                    _ => Colour::Plain,
                };
                self.styles.push(Style { bold: true, colour, ..style });
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                let mark = if self.reader == Reader::Eyes { "│ " } else { "> " };
                let rest = Line::styled(mark, Style::of(Colour::Grey));
                self.containers.push(Container { marker: None, rest });
                self.separate = false;
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                let language = language.split([' ', ',']).next().unwrap_or_default().to_owned();
                self.emit(
                    &Line::styled(format!("```{language}"), Style::of(Colour::Grey)),
                    Break::Anywhere,
                );
                self.code = Some((Highlighter::new(&language), String::new()));
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.begin_block();
                } else {
                    self.flush();
                }
                self.lists.push(first);
                self.separate = false;
            }
            Tag::Item => {
                self.flush();
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ if self.reader == Reader::Ears => "- ".to_owned(),
                    _ => "• ".to_owned(),
                };
                let rest = Line::from(" ".repeat(marker.chars().count()));
                let marker = Some(Line::styled(marker, Style::of(Colour::Grey)));
                self.containers.push(Container { marker, rest });
            }
            Tag::Table(columns) => {
                self.begin_block();
                self.table = Some(Table::new(columns));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            Tag::TableCell => self.inline = Line::default(),
            Tag::Emphasis => self.styles.push(Style { italic: true, ..style }),
            Tag::Strong => self.styles.push(Style { bold: true, ..style }),
            Tag::Strikethrough => self.styles.push(Style { crossed: true, ..style }),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                let link = web_url(&dest_url).map(Into::into);
                self.link = Some((dest_url.to_string(), String::new()));
                self.styles.push(Style { underlined: true, link, ..style });
            }
            _ => self.begin_block(),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.flush();
                self.separate = true;
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
                self.separate = true;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.containers.pop();
                self.separate = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.separate = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                // An item without text has a mark all the same.
                if self.containers.last().is_some_and(|it| it.marker.is_some()) {
                    self.emit(&Line::default(), Break::Words);
                }
                self.containers.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(table) = &mut self.table {
                    table.add_cell(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    match self.reader {
                        Reader::Eyes => table
                            .lines(self.room())
                            .iter()
                            .for_each(|line| self.emit(line, Break::Anywhere)),
                        Reader::Ears => {
                            table.sentences().iter().for_each(|it| self.emit(it, Break::Words));
                        }
                    }
                }
                self.separate = true;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                let style = self.styles.pop().unwrap_or_default();
                if let Some((url, text)) = self.link.take()
                    && text.trim() != url.trim_start_matches("mailto:")
                {
                    let style = Style { dim: true, underlined: false, ..style };
                    self.push(&format!(" ({url})"), style);
                }
            }
            _ => self.flush(),
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
            return;
        }
        self.push(text, self.style());
    }

    fn push(&mut self, text: &str, style: Style) {
        if let Some((_, said)) = &mut self.link {
            said.push_str(text);
        }
        self.inline.push(text.replace('\n', " "), style);
    }

    fn style(&self) -> Style {
        self.styles.last().cloned().unwrap_or_default()
    }

    fn end_code(&mut self) {
        if let Some((mut highlighter, code)) = self.code.take() {
            for text in code.lines() {
                let line = highlighter.line(text);
                self.emit(&line, Break::Anywhere);
            }
        }
        self.emit(&Line::styled("```", Style::of(Colour::Grey)), Break::Anywhere);
        self.separate = true;
    }

    /// Ends the line under way, and leaves a gap to the block before.
    fn begin_block(&mut self) {
        self.flush();
        if std::mem::take(&mut self.separate) && !self.lines.is_empty() {
            let mut gap = Line::default();
            self.containers.iter().for_each(|container| gap.append(container.rest.clone()));
            let is_blank = gap.text().trim().is_empty();
            self.lines.push(if is_blank { Line::default() } else { gap });
        }
    }

    fn flush(&mut self) {
        let line = std::mem::take(&mut self.inline);
        if !line.is_empty() {
            self.emit(&line, Break::Words);
        }
    }

    fn room(&self) -> usize {
        let taken: usize = self.containers.iter().map(|container| container.rest.width()).sum();
        self.width.saturating_sub(taken).max(8)
    }

    fn emit(&mut self, line: &Line, breaks: Break) {
        for row in wrap(line, self.room(), 0, breaks) {
            let mut whole = Line::default();
            for container in &mut self.containers {
                let rest = || container.rest.clone();
                whole.append(container.marker.take().unwrap_or_else(rest));
            }
            whole.append(row);
            self.lines.push(whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, width: usize, expected: Expect) {
        let lines = render(text, width, Reader::Eyes);
        expected.assert_eq(&lines.iter().map(|line| line.text() + "\n").collect::<String>());
        assert!(lines.iter().all(|line| line.width() <= width));
    }

    #[test]
    fn blocks_stand_apart_and_lists_do_not() {
        check(
            "# Title\nSome *text* that\ngoes on.\n\n- one\n- two\n  1. deep\n  2. deeper\n\n> quoted\n> words\n>\n> more\n\n---\nend",
            30,
            expect![[r#"
                Title

                Some text that goes on.

                • one
                • two
                  1. deep
                  2. deeper

                │ quoted words
                │ 
                │ more

                ──────────────────────────────

                end
            "#]],
        );
    }

    #[test]
    fn code_keeps_its_fence_and_its_lines() {
        check(
            "Look:\n```rust\nfn f() {\n    1\n}\n```\nDone `x`.",
            20,
            expect![[r#"
                Look:

                ```rust
                fn f() {
                    1
                }
                ```

                Done x.
            "#]],
        );
    }

    #[test]
    fn tables_fit_the_screen() {
        let table = "| name | what it does |\n| --- | ---: |\n| a | 1 |\n| 漢字 | a cell with many words in it |\n";
        check(
            table,
            60,
            expect![[r#"
                name │                 what it does
                ─────┼─────────────────────────────
                a    │                            1
                漢字 │ a cell with many words in it
            "#]],
        );
        check(
            table,
            20,
            expect![[r#"
                name │  what it does
                ─────┼──────────────
                a    │             1
                漢字 │   a cell with
                     │ many words in
                     │            it
            "#]],
        );
    }

    #[test]
    fn who_listens_hears_words_in_place_of_columns_and_bars() {
        let text = "- one\n\n> said\n\n| name | depth |\n| --- | ---: |\n| quay | 3 m |\n| pier | |\n\n---\n";
        let lines = render(text, 80, Reader::Ears);
        expect![[r#"
            - one

            > said

            name: quay; depth: 3 m
            name: pier

            ---
        "#]]
        .assert_eq(&lines.iter().map(|line| line.text() + "\n").collect::<String>());
    }

    #[test]
    fn links_say_where_they_lead() {
        check(
            "See [the page](https://example.test/a) or <https://example.test> or [bad](javascript:x).",
            80,
            expect![[r#"
                See the page (https://example.test/a) or https://example.test or bad
                (javascript:x).
            "#]],
        );
        let links = |text: &str| {
            let spans = render(text, 80, Reader::Eyes).remove(0).spans.into_iter();
            spans.filter_map(|span| span.style.link).map(|it| it.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(links("[a](https://example.test)")[0], "https://example.test");
        assert!(links("[a](javascript:x)").is_empty());
    }

    #[test]
    fn escapes_from_a_model_do_nothing() {
        check("a\u{1b}[2Jb \u{1b}]0;x\u{7}c", 20, expect!["ab c\n"]);
    }

    #[test]
    fn all_blocks_but_the_last_are_finished() {
        let check = |text: &str, expected: &str| assert_eq!(&text[..finished(text)], expected);
        check("one paragraph", "");
        check("one\n\ntwo", "one\n\n");
        check("one\n\n```\ncode\n\nmore", "one\n\n");
        check("- a\n\n- b\n", "");
        check("- a\n\n\nend", "- a\n\n\n");
        check("a\n\n    code", "a\n\n");
        check("", "");
    }
}
