//! Lines of JSON, read from byte chunks cut anywhere: one event a line.
//!
//! The parser holds what was pushed and not yet read, and hands the lines out borrowed. It knows
//! the format only; what a line means is for the reader of the events.

use crate::http::Answer;
use crate::sse::{Framing, MAX_EVENT, SseEvent, text, too_long};
use memchr::memchr;
use orlop_types::Result;
use serde::de::IgnoredAny;
use std::ops::Range;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Takes bytes, gives lines. Empty lines are skipped.
///
/// ```
/// use orlop_providers::lines::LineParser;
/// let mut parser = LineParser::new();
/// parser.push(b"{\"a\":1}\n{\"b\"");
/// assert_eq!(parser.next_line()?, Some("{\"a\":1}"));
/// assert_eq!(parser.next_line()?, None);
/// parser.push(b":2}\r\n");
/// assert_eq!(parser.next_line()?, Some("{\"b\":2}"));
/// # Ok::<(), orlop_types::Error>(())
/// ```
#[derive(Debug)]
pub struct LineParser {
    buffer: Vec<u8>,
    /// Where the next line begins.
    line: usize,
    /// Where the search for the end of that line goes on.
    scan: usize,
    /// Whether the place for a byte order mark is behind.
    started: bool,
    max_line: usize,
}

impl Default for LineParser {
    fn default() -> Self {
        Self::new()
    }
}

impl LineParser {
    /// A parser that accepts lines of up to [`MAX_EVENT`] bytes.
    pub fn new() -> Self {
        Self::with_max_line(MAX_EVENT)
    }

    /// A parser that accepts lines of up to `max_line` bytes.
    pub fn with_max_line(max_line: usize) -> Self {
        Self { buffer: Vec::new(), line: 0, scan: 0, started: false, max_line }
    }

    /// Adds the bytes of one network chunk.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.line == self.buffer.len() {
            self.buffer.clear();
        } else {
            self.buffer.drain(..self.line);
        }
        self.scan -= self.line;
        self.line = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete line that is not empty, or `None` until more bytes are pushed.
    pub fn next_line(&mut self) -> Result<Option<&str>> {
        if !self.skip_byte_order_mark() {
            return Ok(None);
        }
        loop {
            let end = memchr(b'\n', &self.buffer[self.scan..]).map(|at| self.scan + at);
            let line = self.line..end.unwrap_or(self.buffer.len());
            if line.len() > self.max_line {
                return Err(too_long(self.max_line));
            }
            let Some(end) = end else {
                self.scan = line.end;
                return Ok(None);
            };
            (self.line, self.scan) = (end + 1, end + 1);
            let line = self.trimmed(line);
            if !line.is_empty() {
                return text(&self.buffer[line]).map(Some);
            }
        }
    }

    /// The last line of a body that ended without a line feed, if it is complete: JSON. Call it
    /// when [`next_line`](Self::next_line) has no more.
    pub fn last_line(&mut self) -> Option<&str> {
        let line = self.trimmed(self.line..self.buffer.len());
        (self.line, self.scan) = (self.buffer.len(), self.buffer.len());
        // A tail cut inside a character is an incomplete one, not a broken one.
        let line = std::str::from_utf8(&self.buffer[line]).ok()?;
        serde_json::from_str::<IgnoredAny>(line).is_ok().then_some(line)
    }

    /// A line without the white space around it, for instance the CR before its end.
    fn trimmed(&self, line: Range<usize>) -> Range<usize> {
        let bytes = &self.buffer[line.clone()];
        let start = line.start + (bytes.len() - bytes.trim_ascii_start().len());
        start..start + bytes.trim_ascii().len()
    }

    /// Whether reading may begin: `false` while the first bytes could still become the mark.
    fn skip_byte_order_mark(&mut self) -> bool {
        if self.started {
            return true;
        }
        if self.buffer.starts_with(BOM) {
            (self.line, self.scan) = (BOM.len(), BOM.len());
        } else if BOM.starts_with(&self.buffer) {
            return false;
        }
        self.started = true;
        true
    }
}

impl Framing for LineParser {
    /// An answer in one piece is a stream of one line.
    fn is_whole(_: &Answer) -> bool {
        false
    }

    fn push(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }

    fn next_event(&mut self) -> Result<Option<SseEvent<'_>>> {
        Ok(self.next_line()?.map(event))
    }

    fn finish(&mut self) -> Result<Option<SseEvent<'_>>> {
        Ok(self.last_line().map(event))
    }
}

fn event(data: &str) -> SseEvent<'_> {
    SseEvent { event: None, data }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::{self, cut};
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    /// The lines of `chunks`, as text.
    fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, max_line: usize) -> Vec<String> {
        testing::framed(LineParser::with_max_line(max_line), chunks)
    }

    fn check(input: impl AsRef<[u8]>, expected: Expect) {
        testing::check_framed::<LineParser>(input, expected);
    }

    #[test]
    fn each_line_is_an_event_and_empty_ones_are_none() {
        check(
            "{}\n\n\r\n  \n {\"a\": 1} \r\n7\n",
            expect![[r#"
                "{}"
                "{\"a\": 1}"
                "7""#]],
        );
        check("", expect![""]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_at_the_start_only() {
        check(
            "\u{feff}1\n\u{feff}2\n",
            expect![[r#"
                "1"
                "\u{feff}2""#]],
        );
        check("\u{feff}", expect![""]);
    }

    #[test]
    fn the_last_line_needs_no_line_feed_if_it_is_complete() {
        check(
            "1\n{\"a\":1}",
            expect![[r#"
                "1"
                end "{\"a\":1}""#]],
        );
        check("{\"a\":1", expect![""]);
        check(b"\"\xC3", expect![""]);
    }

    #[test]
    fn text_that_is_not_utf8_is_an_error() {
        check(
            b"1\n\"\xFF\"\n",
            expect![[r#"
                "1"
                !the model server sent text that is not UTF-8: "\"�\""; check that the address leads to a model server"#]],
        );
    }

    #[test]
    fn an_endless_line_is_an_error() {
        let too_long = "!the model server sent an event of more than 10 bytes; \
                        check that the address leads to a model server";
        for input in ["12345678901", "12345678901\n"] {
            assert_eq!(read([input.as_bytes()], 10), [too_long]);
            assert_eq!(read(input.as_bytes().chunks(3), 10), [too_long]);
        }
        assert_eq!(read([&b"1234567890\n"[..]], 10), ["\"1234567890\""]);
    }

    #[test]
    fn what_was_read_leaves_the_buffer() {
        let mut parser = LineParser::new();
        for _ in 0..1000 {
            parser.push(b"{\"a\":1}\n{");
            assert!(parser.next_line().unwrap().is_some());
            parser.push(b"}\n");
            assert_eq!(parser.next_line().unwrap(), Some("{}"));
            assert_eq!(parser.next_line().unwrap(), None);
        }
        assert!(parser.buffer.len() < 20, "{}", parser.buffer.len());
    }

    /// Text that is likely to meet every rule of the format.
    fn lines_text() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just("{\"a\":1}"),
            Just("é😀"),
            Just("x"),
            Just("\u{feff}"),
            Just(" "),
            Just("\n"),
            Just("\r\n"),
            Just("\n\n"),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn where_the_bytes_are_cut_changes_nothing(
            bytes in lines_text(),
            cuts in proptest::collection::vec(any::<usize>(), 0..8),
            max_line in 4usize..40,
        ) {
            prop_assert_eq!(read(cut(&bytes, &cuts), max_line), read([&bytes[..]], max_line));
            prop_assert_eq!(read(cut(&bytes, &cuts), MAX_EVENT), read([&bytes[..]], MAX_EVENT));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..600),
            cuts in proptest::collection::vec(any::<usize>(), 0..8),
        ) {
            prop_assert_eq!(read(cut(&bytes, &cuts), 64), read([&bytes[..]], 64));
        }
    }
}
