//! Patterns in which `*` stands for any text, and letters may be small or large.

/// Whether all of `text` fits `pattern`.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.trim().to_lowercase(), text.trim().to_lowercase());
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, fit) in [
            ("hello", " Hello\n", true),
            ("hello", "hello you", false),
            ("hello*", "hello", true),
            ("*weather*", "What is the WEATHER in Oslo?", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("a*a", "a", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("ÄRGER*", "ärger über nichts", true),
        ] {
            assert_eq!(fits(pattern, text), fit, "{pattern:?} {text:?}");
        }
    }
}
