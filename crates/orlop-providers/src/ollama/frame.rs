//! Most lines of an answer differ in their time and their text only. Once one has been read, the
//! next that has the same bytes around both need not be parsed.

use super::wire::{Line, Only};
use crate::wire::frame::Frame;
use crate::wire::json::Text;
use crate::wire::place::{place, place_of_string};
use memchr::memchr2;
use std::borrow::Cow;

/// The bytes around time and text of the last line that said nothing else.
#[derive(Debug, Default)]
pub(super) struct StampedFrame {
    /// What stands before the time.
    head: String,
    /// What follows the time.
    tail: Frame,
    /// Whether the text is reasoning.
    thinking: bool,
}

impl StampedFrame {
    /// What `line` says, if it stands in this frame.
    pub(super) fn text<'a>(&mut self, line: &'a str) -> Option<Only<'a>> {
        if self.head.is_empty() {
            return None;
        }
        let rest = line.strip_prefix(&*self.head)?;
        let end = memchr2(b'"', b'\\', rest.as_bytes())?;
        let text = self.tail.text(&rest[end..])?;
        Some(if self.thinking { Only::Thinking(text) } else { Only::Content(text) })
    }

    /// Remembers the frame of `line` if it says nothing but text behind its time.
    pub(super) fn learn(&mut self, line: &str, read: &Line<'_>) {
        let Text::Str(Cow::Borrowed(stamp)) = &read.created_at else { return };
        let Some(stamp) = place(stamp, line) else { return };
        let tail = &line[stamp.end..];
        let (text, thinking) = match &read.only_text() {
            Some(Only::Content(text)) => (spelled(text, line), false),
            Some(Only::Thinking(text)) => (spelled(text, line), true),
            None => (None, self.thinking),
        };
        let text = text.filter(|text| place(text, tail).is_some());
        if text.is_some() {
            self.thinking = thinking;
            self.head.clear();
            self.head.push_str(&line[..stamp.start]);
        }
        self.tail.learn(tail, text);
    }
}

/// A text as the line has it, perhaps with escapes.
fn spelled<'a>(text: &str, line: &'a str) -> Option<&'a str> {
    line.get(place(text, line).or_else(|| place_of_string(text, line))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(line: &str) -> StampedFrame {
        let mut frame = StampedFrame::default();
        frame.learn(line, &Line::parse(line).unwrap());
        frame
    }

    fn line(time: &str, text: &str) -> String {
        format!(
            r#"{{"model":"m","created_at":"{time}","message":{{"role":"assistant","content":"{text}"}},"done":false}}"#
        )
    }

    #[test]
    fn a_line_in_the_same_frame_is_its_text_whatever_its_time() {
        let mut frame = learned(&line("2026-08-17T15:57:12.772341Z", "a"));
        for (time, text) in [("2026", "b"), ("", ""), ("x", "é"), ("x", "}}]}"), ("x", " two ")] {
            assert_eq!(frame.text(&line(time, text)), Some(Only::Content(text.into())));
        }
        assert_eq!(frame.text(&line("x", r"\n")), Some(Only::Content("\n".into())));
        for (time, text) in [("x", r"\"), ("x", r#"b","y":"c"#), (r"\u0022", "a"), ("x", "\t")] {
            assert_eq!(frame.text(&line(time, text)), None, "{time} {text}");
        }
        for other in [
            line("x", "a").replace("false", "true"),
            line("x", "a").replace("\"m\"", "\"n\""),
            line("x", "a").replace(",\"message\"", ",\"n\":1,\"message\""),
        ] {
            assert_eq!(frame.text(&other), None, "{other}");
        }
    }

    #[test]
    fn a_text_with_escapes_makes_a_frame_if_it_is_the_only_such_string() {
        let mut frame = learned(&line("t", r"\n"));
        assert_eq!(frame.text(&line("u", "b")), Some(Only::Content("b".into())));
        assert_eq!(frame.text(&line("u", r#"\"c"#)), Some(Only::Content("\"c".into())));
        let twice = line("t", r"\n").replace("\"m\"", r#""\n""#);
        assert_eq!(learned(&twice).text(&twice), None);
    }

    #[test]
    fn reasoning_has_a_frame_of_its_own() {
        let thought =
            |text: &str| line("t", "").replace("\"\"}", &format!("\"\",\"thinking\":\"{text}\"}}"));
        let mut frame = learned(&thought("a"));
        assert_eq!(frame.text(&thought("b")), Some(Only::Thinking("b".into())));
        let said = line("t", "c");
        assert_eq!(frame.text(&said), None);
        frame.learn(&said, &Line::parse(&said).unwrap());
        assert_eq!(frame.text(&line("u", "d")), Some(Only::Content("d".into())));
        assert_eq!(frame.text(&thought("e")), None);
    }

    #[test]
    fn a_time_behind_the_text_makes_no_frame() {
        for line in [
            r#"{"message":{"content":"a"},"created_at":"t"}"#,
            r#"{"message":{"content":"a"}}"#,
            r#"{"created_at":7,"message":{"content":"a"}}"#,
            r#"{"message":{"content":"\n"},"created_at":"t"}"#,
        ] {
            assert_eq!(learned(line).text(line), None, "{line}");
        }
    }
}
