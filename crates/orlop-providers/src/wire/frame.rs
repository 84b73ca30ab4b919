//! Most chunks of an answer differ in their text only. Once one has been read, the next that has
//! the same bytes around its text need not be parsed.

use super::place::place;
use std::borrow::Cow;

/// The bytes around the text of the last chunk that said nothing else.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    before: String,
    after: String,
    /// How many frames in a row fitted no chunk.
    unfit: u32,
}

/// After so many frames that fitted nothing, only every so manyth chunk is tried: some servers put
/// something else into each chunk, and should not pay for those that do not.
const PATIENCE: u32 = 8;

impl Frame {
    /// The text of `data`, if it stands in this frame.
    pub(crate) fn text<'a>(&mut self, data: &'a str) -> Option<Cow<'a, str>> {
        if self.after.is_empty() {
            return None;
        }
        let text = data.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        self.unfit = 0;
        let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
        if text.bytes().all(is_plain) {
            return Some(text.into());
        }
        // With the quotes around it, it is one string or something else altogether.
        let quoted =
            data.get(self.before.len().checked_sub(1)?..self.before.len() + text.len() + 1)?;
        serde_json::from_str(quoted).ok().map(Cow::Owned)
    }

    /// Remembers the frame of `data` if it says nothing but `text`, which is a part of it.
    pub(crate) fn learn(&mut self, data: &str, text: Option<&str>) {
        self.unfit = self.unfit.wrapping_add(1);
        if self.unfit > PATIENCE && !self.unfit.is_multiple_of(PATIENCE * 4) {
            self.after.clear();
            return;
        }
        let Some(text) = text else { return };
        let Some(place) = place(text, data) else { return };
        self.before.clear();
        self.before.push_str(&data[..place.start]);
        self.after.clear();
        self.after.push_str(&data[place.end..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openai::wire::Chunk;

    fn learned(data: &str) -> Frame {
        let mut frame = Frame::default();
        frame.learn(data, Chunk::parse(data).unwrap().only_text());
        frame
    }

    #[test]
    fn a_chunk_in_the_same_frame_is_its_text() {
        let chunk = |text: &str| {
            format!(
                r#"{{"id":"x","choices":[{{"index":0,"delta":{{"role":"assistant","content":"{text}"}},"finish_reason":null}}]}}"#
            )
        };
        let mut frame = learned(&chunk("a"));
        for text in ["b", "", "é", "}}]}", " two words "] {
            assert_eq!(frame.text(&chunk(text)), Some(Cow::Borrowed(text)));
        }
        assert_eq!(frame.text(&chunk(r#"\n\"\u00e9\\"#)).as_deref(), Some("\n\"é\\"));
        for text in [r"\", r"\x", r"\ud800", r#"b","x":"c"#, r#"\n","x":"c"#, "\t", "\u{1}"] {
            assert_eq!(frame.text(&chunk(text)), None, "{text:?}");
        }
        assert_eq!(frame.text(&chunk("b").replace("\"x\"", "\"y\"")), None);
        assert_eq!(frame.text(&chunk("b").replace("null", "\"stop\"")), None);
        assert_eq!(Frame::default().text("anything"), None);
    }

    #[test]
    fn a_chunk_that_tells_more_makes_no_frame() {
        for data in [
            r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"delta":{"content":"a","reasoning":"b"}}]}"#,
            r#"{"choices":[{"delta":{"content":"a","odd":1}}]}"#,
            r#"{"choices":[{"delta":{"content":"a"},"logprobs":{}}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"usage":{}}"#,
            r#"{"choices":[{"delta":{"content":"a\n"}}]}"#,
            r#"{"choices":[{"delta":{"content":null}}]}"#,
            r#"{"choices":[{"delta":{"content":"a","tool_calls":[]}}]}"#,
            r#"{"choices":[]}"#,
        ] {
            assert_eq!(learned(data).text(data), None, "{data}");
        }
    }

    #[test]
    fn where_every_chunk_differs_frames_are_learned_now_and_then() {
        let chunk = |id: u32, text: &str| {
            format!(r#"{{"id":{id},"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#)
        };
        let mut frame = Frame::default();
        let mut read = |data: &str| {
            let known = frame.text(data).is_some();
            if !known {
                frame.learn(data, Chunk::parse(data).unwrap().only_text());
            }
            known
        };
        assert!((0..100).all(|id| !read(&chunk(id, "a"))));
        // Once the chunks are alike again, that is noticed after a while, and then at once.
        let parsed = (0..100).take_while(|_| !read(&chunk(7, "b"))).count();
        assert!(parsed > 0 && parsed <= 33, "{parsed}");
        assert!(read(&chunk(7, "c")));
    }

    #[test]
    fn overlapping_ends_are_no_text() {
        let mut frame = learned(r#"{"choices":[{"delta":{"content":"a"}}]}"#);
        assert_eq!(frame.text(r#"{"choices":[{"delta":{"content":"}}]}"#), None);
    }
}
