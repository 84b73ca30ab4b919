//! Text and addresses from plugins, made harmless: what is left can be written to a terminal or
//! put into a page as data.

use url::Url;

/// The text without anything a terminal would act on: escape sequences go as a whole, other
/// control characters and bidirectional overrides one by one. Newlines and tabs stay, and a
/// carriage return, which could overwrite what was printed before, is a newline.
///
/// ```
/// use orlop_app::ui::plain_text;
/// assert_eq!(plain_text("\u{1b}[31mred\u{1b}[0m\u{7}"), "red");
/// ```
pub fn plain_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = rest.as_str();
        let after = match c {
            '\n' | '\t' => {
                plain.push(c);
                after
            }
            '\r' => {
                plain.push('\n');
                after.strip_prefix('\n').unwrap_or(after)
            }
            '\u{1b}' => after_escape(after),
            '\u{9b}' => after_control_sequence(after),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => after_string(after),
            c if c.is_control() || reorders(c) => after,
            c => {
                plain.push(c);
                after
            }
        };
        rest = after.chars();
    }
    plain
}

/// The text on one line, without spaces around it: titles, labels and names.
pub fn plain_line(text: &str) -> String {
    plain_text(text).replace(['\n', '\t'], " ").trim().to_owned()
}

/// The address if it is one of the web (`http` or `https`), in the form in which it is opened.
/// Control characters inside, which some readers skip and others do not, make it none.
///
/// ```
/// use orlop_app::ui::web_url;
/// assert_eq!(web_url(" HTTPS://Example.test/a b "), Some("https://example.test/a%20b".into()));
/// assert_eq!(web_url("JavaScript:alert(1)"), None);
/// ```
pub fn web_url(text: &str) -> Option<String> {
    let text = text.trim();
    if text.chars().any(|c| c.is_control() || reorders(c)) {
        return None;
    }
    let url = Url::parse(text).ok()?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return None;
    }
    let opened = url.as_str();
    // "https://example.test" is not changed for the slash that it stands for.
    let same = opened.strip_suffix('/') == Some(text);
    Some(if same { text } else { opened }.to_owned())
}

/// Embeddings, overrides and isolates, with which text reads differently from what it is.
fn reorders(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn after_escape(rest: &str) -> &str {
    let body = rest.trim_start_matches(|c| matches!(c, ' '..='/'));
    let mut chars = body.chars();
    match chars.next() {
        Some('[') if body.len() == rest.len() => after_control_sequence(chars.as_str()),
        Some(']' | 'P' | 'X' | '^' | '_') if body.len() == rest.len() => {
            after_string(chars.as_str())
        }
        Some('0'..='~') => chars.as_str(),
        _ => rest,
    }
}

/// Behind parameters and the final letter; one that does not end is shown.
fn after_control_sequence(rest: &str) -> &str {
    let body = rest.trim_start_matches(|c| matches!(c, '0'..='?'));
    let body = body.trim_start_matches(|c| matches!(c, ' '..='/'));
    let mut chars = body.chars();
    match chars.next() {
        Some('@'..='~') => chars.as_str(),
        _ => rest,
    }
}

/// Behind the end of a string for the terminal, such as a window title. Only the next control
/// character can end it, so that each character is looked at twice at most.
fn after_string(rest: &str) -> &str {
    let Some(end) = rest.find(char::is_control) else { return rest };
    let mut chars = rest.get(end..).unwrap_or_default().chars();
    match chars.next() {
        Some('\u{7}' | '\u{9c}') => chars.as_str(),
        Some('\u{1b}') => chars.as_str().strip_prefix('\\').unwrap_or(rest),
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&plain_text(text));
    }

    #[test] // G-30
    fn escape_sequences_are_removed_as_a_whole() {
        check("\u{1b}[1;31mred\u{1b}[0m and \u{9b}4mline", expect!["red and line"]);
        check("\u{1b}]0;owned\u{7}title", expect!["title"]);
        check("\u{1b}]8;;http://evil.test\u{1b}\\link\u{1b}]8;;\u{1b}\\", expect!["link"]);
        check("\u{1b}]52;c;ZXZpbA==\u{9c}clipboard", expect!["clipboard"]);
        check("\u{1b}P1$r\u{1b}\\a\u{90}b\u{9c}c", expect!["ac"]);
        check("\u{1b}(Bset, \u{1b}creset, \u{1b}7save", expect!["set, reset, save"]);
        check("\u{1b}[2J\u{1b}[Hclear", expect!["clear"]);
    }

    #[test] // G-30
    fn what_does_not_end_stays_readable() {
        check("\u{1b}]0;never ends", expect!["0;never ends"]);
        check("\u{1b}[12", expect!["12"]);
        check("end\u{1b}", expect!["end"]);
        check(
            "\u{1b}]a\nb\u{7}",
            expect![[r#"
            a
            b"#]],
        );
    }

    #[test] // G-30
    fn control_characters_and_overrides_are_removed() {
        check("a\u{8}b\0c\u{7f}d\u{85}e\u{202e}f\u{2066}g", expect!["abcdefg"]);
        check(
            "shown\rhidden",
            expect![[r#"
            shown
            hidden"#]],
        );
        assert_eq!(plain_text("one\r\ntwo\tthree"), "one\ntwo\tthree");
        assert_eq!(plain_text("שלום, größe 👋🏽"), "שלום, größe 👋🏽");
        assert_eq!(plain_line(" a\n\u{1b}[1mb\t "), "a b");
    }

    #[test] // G-30
    fn many_sequences_that_do_not_end_take_no_time() {
        for introducer in ["\u{1b}]", "\u{9d}", "\u{1b}[1;", "\u{1b}("] {
            let text = introducer.repeat(200_000);
            let begun = std::time::Instant::now();
            assert!(plain_text(&text).len() < text.len());
            assert!(begun.elapsed().as_secs() < 5, "{introducer:?}");
        }
    }

    #[test] // G-28, G-30
    fn only_web_addresses_pass() {
        let bad = [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " \u{1}javascript:alert(1)",
            "java\nscript:alert(1)",
            "java\tscript:alert(1)",
            "https\n://example.test",
            "https://example.test/\u{202e}gpj.exe",
            "data:text/html,x",
            "file:///etc/passwd",
            "vbscript:x",
            "ftp://example.test",
            "mailto:a@b.c",
            "//example.test",
            "example.test",
            "https://",
            "http:",
            "",
        ];
        for text in bad {
            assert_eq!(web_url(text), None, "{text:?}");
        }
        let good = [
            ("https://example.test", "https://example.test"),
            ("http://localhost:8080/a?b=c#d", "http://localhost:8080/a?b=c#d"),
            ("HTTP://EXAMPLE.test/", "http://example.test/"),
            ("https://exämple.test/", "https://xn--exmple-cua.test/"),
            ("https://a.test/\"><script>", "https://a.test/%22%3E%3Cscript%3E"),
        ];
        for (text, opened) in good {
            assert_eq!(web_url(text).as_deref(), Some(opened));
        }
    }
}
