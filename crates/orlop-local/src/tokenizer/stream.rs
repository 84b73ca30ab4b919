//! Text out of tokens as they come: whole characters, up to a stop text.

use std::ops::ControlFlow;

/// Collects the bytes of an answer and gives out what is certain.
pub(crate) struct TextStream {
    /// The bytes of a character that is not complete.
    broken: Vec<u8>,
    /// All text so far.
    text: String,
    given: usize,
    stops: Vec<String>,
}

impl TextStream {
    /// A stream that ends at the first of these texts. Empty ones count for nothing.
    pub(crate) fn new(stops: &[String]) -> Self {
        let stops = stops.iter().filter(|stop| !stop.is_empty()).cloned().collect();
        Self { broken: Vec::new(), text: String::new(), given: 0, stops }
    }

    /// Adds the bytes of a token. Breaks when a stop text is complete; it is cut off.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let searched = self.text.len();
        self.broken.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.broken);
        for chunk in pending.utf8_chunks() {
            self.text.push_str(chunk.valid());
            let rest = chunk.invalid();
            // At the end it may be the beginning of a character; elsewhere it is none.
            let at_end = std::ptr::eq(rest.as_ptr_range().end, pending.as_ptr_range().end);
            if at_end && may_continue(rest) {
                self.broken.extend_from_slice(rest);
            } else if !rest.is_empty() {
                self.text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.cut_at_stop(searched)
    }

    fn cut_at_stop(&mut self, searched: usize) -> ControlFlow<()> {
        let longest = self.stops.iter().map(String::len).max().unwrap_or(0);
        let mut from = searched.saturating_sub(longest);
        while !self.text.is_char_boundary(from) {
            from -= 1;
        }
        let found = self.stops.iter().filter_map(|stop| self.text[from..].find(stop)).min();
        let Some(at) = found else { return ControlFlow::Continue(()) };
        self.text.truncate(from + at);
        self.broken.clear();
        ControlFlow::Break(())
    }

    /// The text that is certain and was not given out yet: it cannot become part of a stop text.
    pub(crate) fn take(&mut self) -> &str {
        let mut end = self.text.len();
        for stop in &self.stops {
            let could_begin =
                |at: &usize| self.text.is_char_boundary(*at) && stop.starts_with(&self.text[*at..]);
            let earliest = self.text.len().saturating_sub(stop.len());
            end = (earliest..self.text.len()).find(could_begin).unwrap_or(end).min(end);
        }
        self.give(end)
    }

    /// The rest, when nothing comes any more.
    pub(crate) fn finish(&mut self) -> &str {
        if !self.broken.is_empty() {
            self.broken.clear();
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
        self.give(self.text.len())
    }

    fn give(&mut self, end: usize) -> &str {
        let start = self.given.min(end);
        self.given = self.given.max(end);
        &self.text[start..end]
    }

    /// All text so far, given out or not.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Whether bytes are the beginning of a character, as opposed to nonsense.
fn may_continue(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => false,
        Err(error) => error.error_len().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is given out after each token, `|` between them; `!` where a stop text was found.
    fn check(stops: &[&str], tokens: &[&[u8]], expected: &str) {
        let stops: Vec<_> = stops.iter().map(|it| (*it).to_owned()).collect();
        let mut stream = TextStream::new(&stops);
        let mut seen = String::new();
        for token in tokens {
            let flow = stream.push(token);
            seen.push_str(stream.take());
            seen.push('|');
            if flow.is_break() {
                seen.push('!');
                break;
            }
        }
        seen.push_str(stream.finish());
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_character_is_given_out_whole() {
        check(&[], &[b"a", b"\xf0\x9f", b"\x98", b"\x80b"], "a|||😀b|");
    }

    #[test]
    fn nonsense_becomes_a_replacement_character() {
        check(&[], &[b"a\xffb", b"\xe2\x82"], "a\u{fffd}b||\u{fffd}");
        check(&[], &[b"\xe2", b"x"], "|\u{fffd}x|");
    }

    #[test]
    fn what_may_be_a_stop_text_is_held_back() {
        check(&["END"], &[b"one E", b"N", b"!", b" EN", b"D more"], "one ||EN!| ||!");
        check(&["END"], &[b"one E"], "one |E");
    }

    #[test]
    fn the_first_of_several_stop_texts_counts() {
        check(&["b", "abc"], &[b"xab", b"c"], "x|!a");
        check(&["", "ü"], &[b"x\xc3", b"\xbcy"], "x||!");
    }
}
