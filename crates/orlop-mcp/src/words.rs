//! Texts of servers, which nobody has looked at: without control characters, and cut.

use orlop_app::ui::{plain_line, plain_text};

/// A text of at most so many bytes; what is cut off is said.
pub(crate) fn text(text: &str, most: usize) -> String {
    let mut plain = plain_text(text);
    if plain.len() > most {
        let left_out = plain.len() - plain.floor_char_boundary(most);
        plain.truncate(plain.floor_char_boundary(most));
        plain.push_str(&format!(" [{left_out} bytes left out]"));
    }
    plain
}

/// The same on one line, for messages.
pub(crate) fn line(text: &str, most: usize) -> String {
    let mut line = plain_line(text);
    if line.len() > most {
        line.truncate(line.floor_char_boundary(most));
        line.push_str("...");
    }
    line
}

/// How large something is, in words.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_left_out_is_said() {
        assert_eq!(super::text("ab\u{1b}[31mcdé", 5), "abcd [2 bytes left out]");
        assert_eq!(super::line("one\ntwo three", 7), "one two...");
        assert_eq!(super::size(1_250_000), "1.2 MB");
    }
}
