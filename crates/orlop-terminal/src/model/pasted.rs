//! Paths in what was pasted: terminals paste files that are dragged into them, quoted, escaped or as
//! addresses, one or several.

/// A longer text is no list of files.
const LONGEST: usize = 16 * 1024;

/// The paths that a pasted text consists of; none if anything else is in it. Whether there are such
/// files is for others to say.
pub(super) fn paths(text: &str) -> Vec<String> {
    let text = text.trim();
    if text.len() > LONGEST {
        return Vec::new();
    }
    let words: Vec<String> = words(text).iter().map(|word| address(word)).collect();
    if words.iter().all(|word| looks_like_path(word)) {
        return words;
    }
    // Spaces that nobody escaped.
    let whole = address(text);
    let is_line = !text.contains('\n');
    if is_line && looks_like_path(&whole) { vec![whole] } else { Vec::new() }
}

/// Words as shells read them: quotes and backslashes hold them together.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let word = match words.last_mut() {
            Some(word) => word,
            None => break,
        };
        // In `C:\ships` a backslash is what it is.
        let is_drive = word.as_bytes().get(1) == Some(&b':');
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '\\') if !is_drive => word.extend(rest.next()),
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(String::new());
                }
            }
            (_, c) => word.push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The path of an address, which has letters of its own for some characters.
fn address(word: &str) -> String {
    let Some(path) = word.strip_prefix("file://") else { return word.to_owned() };
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let decoded = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let (read, left) = match decoded.filter(|_| *byte == b'%') {
            Some(decoded) => (decoded, after.get(2..).unwrap_or_default()),
            None => (*byte, after),
        };
        bytes.push(read);
        rest = left;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn looks_like_path(word: &str) -> bool {
    let is_drive = word.as_bytes().get(1..3) == Some(b":\\");
    is_drive || ["/", "~/", "./", "../"].iter().any(|start| word.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_terminals_write_them() {
        let check = |text: &str, expected: &[&str]| assert_eq!(paths(text), expected, "{text}");
        check("/tmp/a.png", &["/tmp/a.png"]);
        check("'/tmp/a b.png' ", &["/tmp/a b.png"]);
        check("/tmp/a\\ b.png /tmp/c.png", &["/tmp/a b.png", "/tmp/c.png"]);
        check("\"/tmp/it's\"\n~/x", &["/tmp/it's", "~/x"]);
        check("file:///tmp/a%20b%C3%A9.png", &["/tmp/a bé.png"]);
        check("file://localhost/tmp/100%", &["/tmp/100%"]);
        check("C:\\ships\\a.png", &["C:\\ships\\a.png"]);
        check("/tmp/a b.png", &["/tmp/a b.png"]);
        for text in ["", "see /tmp/a.png", "/tmp/a\nis a file", "a/b", "don't"] {
            check(text, &[]);
        }
    }
}
