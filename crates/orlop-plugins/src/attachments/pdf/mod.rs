//! The text of a PDF, for models that read text.
//!
//! A file may be made to harm, so this reader is small and bounded: it finds objects by looking for
//! them (tables of positions are often broken, and never needed), unpacks so many bytes and no more,
//! follows references so deep and no deeper, and stops when its time is over.

mod content;
mod font;
mod object;
mod store;

use std::time::{Duration, Instant};

/// How long reading one file may take.
const MAX_TIME: Duration = Duration::from_secs(10);
/// How many pages are read.
pub(super) const MAX_PAGES: usize = 500;

/// What was read of a file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Text {
    /// The text of the pages, each with a line of its number before it.
    pub(crate) text: String,
    /// How many pages there are, as far as they were counted.
    pub(crate) pages: usize,
    /// Why the text is not all of it, if it is not.
    pub(crate) cut: Option<&'static str>,
}

/// When to stop.
#[derive(Clone, Copy)]
struct Limits {
    end: Instant,
    max_text: usize,
}

impl Limits {
    fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }
}

/// Reads the text, up to so many bytes of it. The error says in a few words why there is none.
pub(crate) fn read(bytes: &[u8], max_text: usize) -> Result<Text, &'static str> {
    let limits = Limits { end: Instant::now() + MAX_TIME, max_text };
    // A mistake in here must not take the request down.
    let read = std::panic::catch_unwind(|| read_within(bytes, limits));
    read.unwrap_or(Err("it is damaged"))
}

fn read_within(bytes: &[u8], limits: Limits) -> Result<Text, &'static str> {
    let head = &bytes[..bytes.len().min(1024)];
    if !head.windows(5).any(|window| window == b"%PDF-") {
        return Err("it is not a PDF");
    }
    let store = store::Store::of(bytes, limits)?;
    let pages = store.pages();
    if pages.is_empty() {
        return Err("it is damaged, or has no pages");
    }
    let mut read = Text { pages: pages.len(), ..Text::default() };
    for (index, page) in pages.iter().take(MAX_PAGES).enumerate() {
        if limits.is_over() {
            read.cut = Some("reading it took too long");
            break;
        }
        let text = content::text_of(&store, page, limits);
        let text = text.trim();
        if !text.is_empty() {
            let number = index + 1;
            read.text.push_str(&format!("[page {number}]\n{text}\n"));
        }
        if read.text.len() > limits.max_text {
            read.text.truncate(read.text.floor_char_boundary(limits.max_text));
            read.cut = Some("it is longer than what fits");
            break;
        }
    }
    if read.cut.is_none() && pages.len() > MAX_PAGES {
        read.cut = Some("it has more pages than are read");
    }
    match read.text.is_empty() {
        true => Err("it has no text, only pictures perhaps"),
        false => Ok(read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &[u8] = b"%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Kids [3 0 R] >> endobj\n3 0 obj << /Type /Page /Contents [4 0 R] /Resources << /Font << /F 5 0 R >> >> >> endobj\n4 0 obj << /Length 44 >> stream\nBT /F 12 Tf 72 720 Td [(Hel) 20 (lo) -500 <21>] TJ ET\nendstream endobj\n5 0 obj << /Subtype /Type1 /FirstChar 32 /Widths [250 333] /Encoding << /Differences [65 /A /B] >> >> endobj\n";

    #[test]
    fn no_change_of_a_file_makes_it_panic() {
        assert_eq!(read(SAMPLE, 1000).unwrap().text, "[page 1]\nHello !\n");
        let limits = Limits { end: Instant::now() + MAX_TIME, max_text: 10_000 };
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = |below: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            usize::try_from(seed % below as u64).unwrap()
        };
        for _ in 0..3000 {
            let mut bytes = SAMPLE.to_vec();
            for _ in 0..1 + random(8) {
                let at = random(bytes.len());
                match random(4) {
                    0 => bytes[at] = u8::try_from(random(256)).unwrap(),
                    1 => drop(bytes.remove(at)),
                    2 => bytes.insert(at, b"<>[]()/ 09-.R"[random(13)]),
                    _ => bytes.truncate(at.max(9)),
                }
            }
            let _ = read_within(&bytes, limits);
        }
    }
}
