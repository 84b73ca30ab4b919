//! Percent-encoding of URLs, as far as comparing and masking them needs it.

/// Decodes `%41` to `A`; what is no valid escape stays as it is.
pub(super) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%').then(|| hex_pair(bytes.get(at + 1..at + 3)?)).flatten();
        decoded.push(escaped.unwrap_or(bytes[at]));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Encodes everything but the characters that never need it.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn hex_pair(pair: &[u8]) -> Option<u8> {
    let [high, low] = pair else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn decodes_what_is_escaped_and_nothing_else() {
        assert_eq!(decode("/a%7Bb%7d%2"), "/a{b}%2");
        assert_eq!(decode("%C3%A4 %zz%"), "ä %zz%");
        assert_eq!(encode("a b/ä"), "a%20b%2F%C3%A4");
        assert_eq!(decode(&encode("x&y=%")), "x&y=%");
    }
}
