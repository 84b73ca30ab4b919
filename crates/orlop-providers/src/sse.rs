//! Server-sent events, read from byte chunks cut anywhere.
//!
//! The parser holds what was pushed and not yet read, and hands the text of events out borrowed.
//! It knows the format only; what the data means is for the reader of the events.

use crate::http::Answer;
use memchr::{memchr, memchr2};
use orlop_types::{Error, Result};
use serde::de::IgnoredAny;
use std::ops::Range;

/// The largest event accepted, in bytes.
pub const MAX_EVENT: usize = 16 * 1024 * 1024;

/// The data that ends a stream of the OpenAI family.
pub const DONE: &str = "[DONE]";

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The value of the `event` field, if it has one.
    pub event: Option<&'a str>,
    /// The `data` lines, joined by line feeds.
    pub data: &'a str,
}

/// Takes bytes, gives events.
///
/// ```
/// use orlop_providers::sse::SseParser;
/// let mut parser = SseParser::new();
/// parser.push(b"data: one\n\nda");
/// assert_eq!(parser.next_event()?.map(|event| event.data), Some("one"));
/// assert_eq!(parser.next_event()?, None);
/// parser.push(b"ta: two\n\n");
/// assert_eq!(parser.next_event()?.map(|event| event.data), Some("two"));
/// # Ok::<(), orlop_types::Error>(())
/// ```
#[derive(Debug)]
pub struct SseParser {
    buffer: Vec<u8>,
    /// Where the next line begins.
    line: usize,
    /// Where the search for the end of that line goes on.
    scan: usize,
    /// The data of the event being read.
    data: Data,
    /// The text of [`Data::Joined`]; kept for its capacity.
    joined: String,
    event: String,
    has_event: bool,
    /// Whether the event in `data` was handed out already.
    given: bool,
    /// Whether the place for a byte order mark is behind.
    started: bool,
    /// Whether a line ended in CR, so that a LF would belong to it.
    after_cr: bool,
    max_event: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum Data {
    None,
    /// One line, still in the buffer.
    Line(Range<usize>),
    /// Several lines, or one that something followed; in `joined`.
    Joined,
}

/// How events stand in a body: bytes in, events out.
pub trait Framing: Default + Send + Unpin + 'static {
    /// Whether an answer is one document in place of a stream.
    fn is_whole(answer: &Answer) -> bool;

    /// Adds the bytes of one network chunk.
    fn push(&mut self, bytes: &[u8]);

    /// The next complete event, or `None` until more bytes are pushed.
    fn next_event(&mut self) -> Result<Option<SseEvent<'_>>>;

    /// The last event of a body that ended behind its data, if it is complete.
    fn finish(&mut self) -> Result<Option<SseEvent<'_>>>;
}

impl Framing for SseParser {
    fn is_whole(answer: &Answer) -> bool {
        answer.is_json()
    }

    fn push(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }

    fn next_event(&mut self) -> Result<Option<SseEvent<'_>>> {
        self.next_event()
    }

    fn finish(&mut self) -> Result<Option<SseEvent<'_>>> {
        self.finish()
    }
}

impl Default for SseParser {
    fn default() -> Self {
        Self::new()
    }
}

impl SseParser {
    /// A parser that accepts events of up to [`MAX_EVENT`] bytes.
    pub fn new() -> Self {
        Self::with_max_event(MAX_EVENT)
    }

    /// A parser that accepts lines and data of up to `max_event` bytes.
    pub fn with_max_event(max_event: usize) -> Self {
        Self {
            buffer: Vec::new(),
            line: 0,
            scan: 0,
            data: Data::None,
            joined: String::new(),
            event: String::new(),
            has_event: false,
            given: false,
            started: false,
            after_cr: false,
            max_event,
        }
    }

    /// Adds the bytes of one network chunk.
    pub fn push(&mut self, bytes: &[u8]) {
        self.forget_given();
        let done = match &self.data {
            Data::Line(range) => range.start,
            _ => self.line,
        };
        if done == self.buffer.len() {
            self.buffer.clear();
        } else {
            self.buffer.drain(..done);
        }
        self.line -= done;
        self.scan -= done;
        if let Data::Line(range) = &mut self.data {
            *range = range.start - done..range.end - done;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete event, or `None` until more bytes are pushed.
    pub fn next_event(&mut self) -> Result<Option<SseEvent<'_>>> {
        self.forget_given();
        if !self.skip_byte_order_mark() {
            return Ok(None);
        }
        loop {
            match self.next_line()? {
                None => return Ok(None),
                Some(line) if !line.is_empty() => self.read_line(line)?,
                Some(_) if self.data != Data::None => break,
                Some(_) => self.has_event = false,
            }
        }
        self.given = true;
        self.current().map(Some)
    }

    /// The last event of a stream that ended without the empty line behind it, if its data is
    /// complete: JSON, or [`DONE`]. Call it when [`next_event`](Self::next_event) has no more.
    pub fn finish(&mut self) -> Result<Option<SseEvent<'_>>> {
        self.forget_given();
        let rest = self.line..self.buffer.len();
        (self.line, self.scan) = (rest.end, rest.end);
        // A tail cut inside a character is an incomplete one, not a broken one.
        if !rest.is_empty() && self.read_line(rest).is_err() {
            self.data = Data::None;
        }
        self.given = true;
        if self.data == Data::None {
            return Ok(None);
        }
        let complete =
            |data: &str| data == DONE || serde_json::from_str::<IgnoredAny>(data).is_ok();
        Ok(self.current().ok().filter(|event| complete(event.data)))
    }

    fn current(&self) -> Result<SseEvent<'_>> {
        let data = match &self.data {
            Data::Line(range) => text(&self.buffer[range.clone()])?,
            _ => &self.joined,
        };
        Ok(SseEvent { event: self.has_event.then_some(&self.event), data })
    }

    fn forget_given(&mut self) {
        if self.given {
            self.given = false;
            self.data = Data::None;
            self.has_event = false;
        }
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

    fn next_line(&mut self) -> Result<Option<Range<usize>>> {
        if self.after_cr && self.line < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.line] == b'\n' {
                self.line += 1;
                self.scan = self.line;
            }
        }
        let start = self.line;
        let end = match &self.buffer[self.scan..] {
            // Every event ends in an empty line, which needs no search.
            [b'\n' | b'\r', ..] => self.scan,
            rest => match memchr2(b'\n', b'\r', rest) {
                Some(at) => self.scan + at,
                None => self.buffer.len(),
            },
        };
        self.check_size(end - start)?;
        if end == self.buffer.len() {
            self.scan = end;
            return Ok(None);
        }
        self.after_cr = self.buffer[end] == b'\r';
        self.line = end + 1;
        self.scan = self.line;
        Ok(Some(start..end))
    }

    fn read_line(&mut self, line: Range<usize>) -> Result<()> {
        self.join_pending()?;
        let bytes = &self.buffer[line.clone()];
        let name = match bytes {
            [b'd', b'a', b't', b'a', b':', ..] => 4,
            _ => memchr(b':', bytes).unwrap_or(bytes.len()),
        };
        let mut value = line.start + (name + 1).min(bytes.len())..line.end;
        if self.buffer.get(value.start) == Some(&b' ') && !value.is_empty() {
            value.start += 1;
        }
        match &self.buffer[line.start..line.start + name] {
            b"data" if self.data == Data::None => self.data = Data::Line(value),
            b"data" => {
                self.joined.push('\n');
                self.joined.push_str(text(&self.buffer[value])?);
                self.check_size(self.joined.len())?;
            }
            b"event" => {
                self.event.clear();
                self.event.push_str(text(&self.buffer[value])?);
                self.has_event = true;
            }
            // Comments have an empty name; `id`, `retry` and unknown fields say nothing here.
            _ => {}
        }
        Ok(())
    }

    /// Moves a data line out of the buffer when another line follows it, so that the buffer
    /// never holds more than one line.
    fn join_pending(&mut self) -> Result<()> {
        if let Data::Line(range) = &self.data {
            self.joined.clear();
            self.joined.push_str(text(&self.buffer[range.clone()])?);
            self.data = Data::Joined;
        }
        Ok(())
    }

    fn check_size(&self, size: usize) -> Result<()> {
        if size <= self.max_event {
            return Ok(());
        }
        Err(too_long(self.max_event))
    }
}

/// An event that does not end.
pub(crate) fn too_long(max_event: usize) -> Error {
    Error::provider(format!(
        "the model server sent an event of more than {max_event} bytes; \
         check that the address leads to a model server"
    ))
}

/// The bytes of an event as text.
pub(crate) fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]);
        Error::provider(format!(
            "the model server sent text that is not UTF-8: {start:?}; \
             check that the address leads to a model server"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::{self, cut};
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    /// The events of `chunks`, as text.
    fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, max_event: usize) -> Vec<String> {
        testing::framed(SseParser::with_max_event(max_event), chunks)
    }

    fn check(input: impl AsRef<[u8]>, expected: Expect) {
        testing::check_framed::<SseParser>(input, expected);
    }

    #[test]
    fn all_line_ends_count() {
        check(
            "data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\n\r\n",
            expect![[r#"
            "a"
            "b"
            "c"
            "d""#]],
        );
    }

    #[test]
    fn a_byte_order_mark_is_skipped_at_the_start_only() {
        check("\u{feff}data: a\n\n\u{feff}data: b\n\n", expect![[r#""a""#]]);
    }

    #[test]
    fn comments_and_other_fields_say_nothing() {
        check(": ping\n\n:\n\nid: 7\nretry: 1\ndata: a\n: ping\nodd\n\n", expect![[r#""a""#]]);
    }

    #[test]
    fn several_data_lines_are_one_event() {
        check("data: a\ndata:b\ndata:  c\ndata\ndata:\n\n", expect![[r#""a\nb\n c\n\n""#]]);
    }

    #[test]
    fn the_event_name_belongs_to_one_event() {
        check(
            "event: error\ndata: a\n\nevent: lost\n\ndata: b\n\n",
            expect![[r#"
            error|"a"
            "b""#]],
        );
    }

    #[test]
    fn an_empty_data_line_is_an_event() {
        check(
            "data:\n\ndata: \n\ndata\n\n",
            expect![[r#"
            ""
            ""
            """#]],
        );
    }

    #[test]
    fn the_last_event_needs_no_empty_line_if_it_is_complete() {
        check("data: {\"a\":1}", expect![[r#"end "{\"a\":1}""#]]);
        check("data: {\"a\":1}\n", expect![[r#"end "{\"a\":1}""#]]);
        check("data: [DONE]\r", expect![[r#"end "[DONE]""#]]);
        check("data: {\"a\":1", expect![[""]]);
        check("data: [DON", expect![[""]]);
        check(b"data: \"\xC3", expect![[""]]);
        check("data: 1\nda", expect![[r#"end "1""#]]);
    }

    #[test]
    fn text_that_is_not_utf8_is_an_error() {
        check(
            b"data: a\n\ndata: \xFF\n\n",
            expect![[r#"
            "a"
            !the model server sent text that is not UTF-8: "�"; check that the address leads to a model server"#]],
        );
    }

    #[test]
    fn an_endless_event_is_an_error() {
        let too_long = "!the model server sent an event of more than 10 bytes; \
                        check that the address leads to a model server";
        for input in ["data: 123456", "data: 1\ndata: 2\ndata: 3\ndata: 4\ndata: 5\ndata: 6\n"] {
            assert_eq!(read([input.as_bytes()], 10), [too_long]);
            assert_eq!(read(input.as_bytes().chunks(3), 10), [too_long]);
        }
    }

    #[test]
    fn what_was_read_leaves_the_buffer() {
        let mut parser = SseParser::new();
        parser.push(b"data: x\n");
        for _ in 0..1000 {
            parser.push(b": ping\n");
            assert_eq!(parser.next_event().unwrap(), None);
        }
        assert!(parser.buffer.len() < 20, "{}", parser.buffer.len());
        parser.push(b"\n");
        assert_eq!(parser.next_event().unwrap().map(|event| event.data), Some("x"));
    }

    /// Text that is likely to meet every rule of the format.
    fn stream_text() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just("data: {\"a\":1}"),
            Just("data:"),
            Just("data"),
            Just("event: e"),
            Just("é😀"),
            Just(": c"),
            Just("x"),
            Just("\u{feff}"),
            Just("\n"),
            Just("\r"),
            Just("\r\n"),
            Just("\n\n"),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn where_the_bytes_are_cut_changes_nothing(
            bytes in stream_text(),
            cuts in proptest::collection::vec(any::<usize>(), 0..8),
            max_event in 4usize..40,
        ) {
            prop_assert_eq!(read(cut(&bytes, &cuts), max_event), read([&bytes[..]], max_event));
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
