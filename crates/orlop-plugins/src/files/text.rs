//! What kind of text a file holds, as far as changing it must keep it: mark of byte order and line
//! ends. Content is bytes throughout, so that a file in an old encoding survives an edit.

/// The mark some programs put before UTF-8.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// How much of a file tells whether it is text.
pub(crate) const HEAD: usize = 8192;

/// How the lines of a file end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Lf,
    Crlf,
    /// Some so, some so.
    Mixed,
}

impl Ending {
    /// How the lines of `content` end; [`Ending::Lf`] if it has none.
    pub(crate) fn of(content: &[u8]) -> Self {
        let mut before = 0;
        let (mut with, mut without) = (false, false);
        for &byte in content {
            if byte == b'\n' {
                if before == b'\r' { with = true } else { without = true }
            }
            before = byte;
        }
        match (with, without) {
            (true, true) => Self::Mixed,
            (true, false) => Self::Crlf,
            _ => Self::Lf,
        }
    }

    /// The bytes a new line gets.
    pub(crate) fn bytes(self) -> &'static [u8] {
        if self == Self::Crlf { b"\r\n" } else { b"\n" }
    }
}

/// Whether bytes are no text: they have a zero byte, or begin as UTF-16 does.
pub(crate) fn is_binary(head: &[u8]) -> bool {
    head.iter().take(HEAD).any(|byte| *byte == 0)
}

/// `text` with every line end as CRLF.
pub(crate) fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// One line: what stands in it, and how it ends (nothing at the end of a file, perhaps).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) ending: &'a [u8],
}

/// The lines of a file. What follows the last line end is a line if it is not empty.
pub(crate) fn lines(content: &[u8]) -> Vec<Line<'_>> {
    let line = |whole| {
        let (text, ending) = split_ending(whole);
        Line { text, ending }
    };
    content.split_inclusive(|byte| *byte == b'\n').map(line).collect()
}

fn split_ending(whole: &[u8]) -> (&[u8], &[u8]) {
    let end = match whole {
        [.., b'\r', b'\n'] => whole.len() - 2,
        [.., b'\n'] => whole.len() - 1,
        _ => whole.len(),
    };
    whole.split_at(end)
}

/// The lines of a text that a model wrote, without their ends.
pub(crate) fn plain_lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// The number of the line, from 1, in which byte `at` stands.
pub(crate) fn line_at(content: &[u8], at: usize) -> usize {
    content.iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_told_apart() {
        assert_eq!(Ending::of(b"a\nb"), Ending::Lf);
        assert_eq!(Ending::of(b""), Ending::Lf);
        assert_eq!(Ending::of(b"a\r\nb\r\n"), Ending::Crlf);
        assert_eq!(Ending::of(b"a\r\nb\n"), Ending::Mixed);
        let split = lines(b"a\r\nb\n\nc");
        let back: Vec<u8> =
            split.iter().flat_map(|line| [line.text, line.ending].concat()).collect();
        assert_eq!((split.len(), back.as_slice()), (4, b"a\r\nb\n\nc".as_slice()));
        assert_eq!(to_crlf("a\nb\r\nc"), "a\r\nb\r\nc");
    }
}
