//! Text that arrives in pieces.

/// The least that a text grows by, in bytes.
const LEAST: usize = 64;

/// Appends a piece. Where the text has to grow it gets a quarter more room than it needs, and not as much again as
/// it has, which is what a `String` takes: answers of hundreds of turns are held at once while they arrive.
pub fn append(text: &mut String, piece: &str) {
    if text.capacity() - text.len() < piece.len() {
        let spare = (text.len() / 4).max(LEAST);
        text.reserve_exact(piece.len() + spare);
    }
    text.push_str(piece);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_grows_with_little_to_spare_and_not_with_every_piece() {
        let (mut text, mut grown) = (String::new(), 0);
        for _ in 0..10_000 {
            let before = text.capacity();
            append(&mut text, "piece ");
            grown += usize::from(text.capacity() != before);
            assert!(text.capacity() <= text.len() * 5 / 4 + LEAST, "{}", text.capacity());
        }
        assert_eq!(text, "piece ".repeat(10_000));
        assert!(grown < 50, "{grown}");
    }
}
