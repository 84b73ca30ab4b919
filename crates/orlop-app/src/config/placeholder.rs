//! `${env:NAME}` and `${env:NAME:-default}` in a text; `$${env:NAME}` stands for itself.

/// How a placeholder begins.
const OPENING: &str = "${env:";
/// How often a default may hold a placeholder with a default.
const MAX_NESTING: usize = 8;
/// The longest text that may come out.
const MAX_TEXT: usize = 1 << 20;

/// Why a text could not be resolved.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The variable is not set and there is no default.
    Undefined(String),
    /// It is not a placeholder that can be understood.
    Malformed(&'static str),
}

/// Whether the text holds a placeholder, even if it is one that cannot be understood.
pub(super) fn is_in(text: &str) -> bool {
    text.match_indices(OPENING).any(|(at, _)| !text[..at].ends_with('$'))
}

/// Whether the text is one placeholder and nothing else, not even a default.
pub(super) fn is_all_of(text: &str) -> bool {
    let name = text.strip_prefix(OPENING).and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| !name.contains(['$', '{', '}', ':']))
}

/// The text with every placeholder replaced.
pub(super) fn resolve<'a>(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<&'a str>,
) -> Result<String, Failure> {
    resolve_nested(text, lookup, 0)
}

/// The variables that stand in for parts of the text and are set.
pub(super) fn variables<'a>(text: &str, lookup: &dyn Fn(&str) -> Option<&'a str>) -> Vec<String> {
    let found = std::cell::RefCell::new(Vec::new());
    let recording = |name: &str| {
        let value = lookup(name)?;
        let mut found = found.borrow_mut();
        if !found.iter().any(|held| held == name) {
            found.push(name.to_owned());
        }
        Some(value)
    };
    let _ = resolve(text, &recording);
    found.into_inner()
}

fn resolve_nested<'a>(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<&'a str>,
    nesting: usize,
) -> Result<String, Failure> {
    if nesting > MAX_NESTING {
        return Err(Failure::Malformed("has defaults within defaults too deep"));
    }
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(OPENING) {
        let (before, from) = rest.split_at(at);
        let inner = &from[OPENING.len()..];
        if let Some(before) = before.strip_suffix('$') {
            resolved.push_str(before);
            resolved.push_str(OPENING);
            rest = inner;
            continue;
        }
        resolved.push_str(before);
        let end = closing(inner).ok_or(Failure::Malformed("has a placeholder without its end"))?;
        let (name, default) = match inner[..end].split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (&inner[..end], None),
        };
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || "${}:=".contains(c)) {
            return Err(Failure::Malformed("has a placeholder without a proper name"));
        }
        // As in a shell, an empty variable is replaced by the default, too.
        match (lookup(name), default) {
            (None, None) => return Err(Failure::Undefined(name.to_owned())),
            (None | Some(""), Some(default)) => {
                resolved.push_str(&resolve_nested(default, lookup, nesting + 1)?);
            }
            (Some(value), _) => resolved.push_str(value),
        }
        if resolved.len() > MAX_TEXT {
            return Err(Failure::Malformed("becomes longer than a mebibyte"));
        }
        rest = &inner[end + 1..];
    }
    resolved.push_str(rest);
    Ok(resolved)
}

/// Where the brace is that closes a placeholder whose inner part is `text`.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' if open == 0 => return Some(at),
            b'}' => open -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: Expect) {
        let lookup = |name: &str| match name {
            "A" => Some("1"),
            "EMPTY" => Some(""),
            "TRICK" => Some("${env:A}"),
            _ => None,
        };
        let outcome = match resolve(text, &lookup) {
            Ok(text) => text,
            Err(failure) => format!("{failure:?}"),
        };
        expected.assert_eq(&outcome);
    }

    #[test] // I-37
    fn placeholders_are_replaced_wherever_they_are() {
        check("plain", expect!["plain"]);
        check("${env:A}/${env:A}x", expect!["1/1x"]);
        check("${env:NONE:-b}${env:A:-b}${env:EMPTY:-c}[${env:EMPTY}]", expect!["b1c[]"]);
        check("${env:NONE:-}", expect![""]);
        check("${env:NONE:-http://h:1/{id}}", expect!["http://h:1/{id}"]);
        check("${env:NONE:-${env:NADA:-${env:A}}}", expect!["1"]);
        check("$${env:A} $$${env:A} $A ${A} ${env}", expect!["${env:A} $${env:A} $A ${A} ${env}"]);
        check("${env:TRICK}", expect!["${env:A}"]);
    }

    #[test] // I-37
    fn what_cannot_be_replaced_fails() {
        check("x${env:NONE}", expect![[r#"Undefined("NONE")"#]]);
        check("${env:NONE:-${env:NADA}}", expect![[r#"Undefined("NADA")"#]]);
        check("${env:A", expect![[r#"Malformed("has a placeholder without its end")"#]]);
        check("${env:}", expect![[r#"Malformed("has a placeholder without a proper name")"#]]);
        check("${env:A B}", expect![[r#"Malformed("has a placeholder without a proper name")"#]]);
        let deep = "${env:N:-".repeat(5_000) + &"}".repeat(5_000);
        check(&deep, expect![[r#"Malformed("has defaults within defaults too deep")"#]]);
        let long = "x".repeat(1 << 16);
        let grown = resolve(&"${env:L}".repeat(100), &|_| Some(long.as_str()));
        assert_eq!(grown, Err(Failure::Malformed("becomes longer than a mebibyte")));
    }

    #[test]
    fn the_variables_in_use_are_known() {
        let lookup = |name: &str| (name != "NONE").then_some("v");
        assert_eq!(variables("${env:A}${env:NONE:-${env:B}}${env:A}", &lookup), ["A", "B"]);
        assert!(is_in("x${env:A}") && !is_in("$${env:A}"));
        assert!(
            is_all_of("${env:A}") && !is_all_of("${env:A:-b}") && !is_all_of("${env:A}${env:B}")
        );
    }
}
