//! What changes in a file, as a unified diff for people.

use similar::{ChangeTag, TextDiff};
use std::time::Duration;

/// The longest diff that is shown.
const MAX_DIFF: usize = 64 * 1024;

/// How long finding a short diff may take; after that a longer one will do.
const PATIENCE: Duration = Duration::from_millis(300);

/// What changes in a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Difference {
    /// A unified diff.
    pub(crate) text: String,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

impl Difference {
    /// From one content to another; `None` is a file that is not there.
    pub(crate) fn between(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Self {
        let name = |side: &str, content: Option<&[u8]>| match content {
            Some(_) => format!("{side}/{path}"),
            None => "/dev/null".to_owned(),
        };
        let (from, to) = (name("a", before), name("b", after));
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        if super::text::is_binary(before) || super::text::is_binary(after) {
            let text = format!("--- {from}\n+++ {to}\n(binary content)\n");
            return Self { text, ..Self::default() };
        }
        let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
        let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(&before, &after);
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
        let text = diff.unified_diff().context_radius(3).header(&from, &to).to_string();
        Self { text: cut(visible(&text)), added, removed }
    }

    /// `+3 -1`.
    pub(crate) fn counts(&self) -> String {
        format!("+{} -{}", self.added, self.removed)
    }
}

/// Control characters are written out: a terminal must not obey them, and nobody should overlook
/// them. The line ends of other systems are no news.
fn visible(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut seen = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => seen.push(c),
            c if c.is_control() => seen.extend(c.escape_default()),
            c => seen.push(c),
        }
    }
    seen
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_DIFF {
        let end = text.floor_char_boundary(MAX_DIFF);
        let end = text[..end].rfind('\n').map_or(end, |line| line + 1);
        let left = text[end..].lines().count();
        text.truncate(end);
        text.push_str(&format!("(the diff goes on for {left} lines that are not shown)\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn it_is_a_unified_diff_with_counts() {
        let diff = Difference::between("x.rs", Some(b"a\nb\nc\n"), Some(b"a\nB\nc\nd"));
        expect![[r#"
            --- a/x.rs
            +++ b/x.rs
            @@ -1,3 +1,4 @@
             a
            -b
            +B
             c
            +d
            \ No newline at end of file
        "#]]
        .assert_eq(&diff.text);
        assert_eq!(diff.counts(), "+2 -1");
        let new = Difference::between("n", None, Some(b"a\n"));
        assert!(new.text.starts_with("--- /dev/null\n+++ b/n\n"));
        let long = Difference::between("n", None, Some("line\n".repeat(100_000).as_bytes()));
        assert!(long.text.len() < MAX_DIFF + 100 && long.text.contains("lines that are not shown"));
        assert_eq!(long.added, 100_000);
        let escapes = Difference::between("e", None, Some(b"\x1b[2J\r\nb\r"));
        assert!(escapes.text.contains("+\\u{1b}[2J\n+b\\r"), "{}", escapes.text);
        assert!(Difference::between("b", None, Some(b"\0")).text.contains("binary"));
    }
}
