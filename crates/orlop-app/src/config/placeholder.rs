//! `${env:NAME}` and `${env:NAME:-default}` in a text; `$${env:NAME}` stands for itself. The same
//! with `${credential:NAME}`, the token of a stored login.

use std::borrow::Cow;

/// How placeholders begin.
const OPENINGS: [&str; 2] = ["${env:", "${credential:"];
/// How often a default may hold a placeholder with a default.
const MAX_NESTING: usize = 8;
/// The longest text that may come out.
const MAX_TEXT: usize = 1 << 20;

/// What a placeholder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name<'a> {
    Variable(&'a str),
    Credential(&'a str),
}

/// Gives the value of a name, if it has one, or says why it cannot be used.
pub(super) type Lookup<'l, 'v> = dyn Fn(Name<'_>) -> Result<Option<Cow<'v, str>>, String> + 'l;

/// Why a text could not be resolved.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The variable is not set and there is no default.
    Undefined(String),
    /// Nobody logged in under this name and there is no default.
    NoCredential(String),
    /// There is a login, but it cannot be used.
    Unusable(String),
    /// It is not a placeholder that can be understood.
    Malformed(&'static str),
}

/// Whether the text holds a placeholder, even if it is one that cannot be understood.
pub(super) fn is_in(text: &str) -> bool {
    OPENINGS.iter().any(|opening| occurs(text, opening))
}

/// Whether the text holds the token of a stored login.
pub(super) fn holds_credential(text: &str) -> bool {
    occurs(text, OPENINGS[1])
}

fn occurs(text: &str, opening: &str) -> bool {
    text.match_indices(opening).any(|(at, _)| !text[..at].ends_with('$'))
}

/// Whether the text is one placeholder and nothing else, not even a default.
pub(super) fn is_all_of(text: &str) -> bool {
    let rest = OPENINGS.iter().find_map(|opening| text.strip_prefix(opening));
    let name = rest.and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| !name.contains(['$', '{', '}', ':']))
}

/// The text with every placeholder replaced.
pub(super) fn resolve(text: &str, lookup: &Lookup<'_, '_>) -> Result<String, Failure> {
    resolve_nested(text, lookup, 0)
}

/// The variables that stand in for parts of the text and are set.
pub(super) fn variables(text: &str, lookup: &Lookup<'_, '_>) -> Vec<String> {
    let found = std::cell::RefCell::new(Vec::new());
    let recording = |name: Name<'_>| {
        let value = lookup(name)?;
        let mut found = found.borrow_mut();
        if let (Name::Variable(name), Some(_)) = (name, &value)
            && !found.iter().any(|held| held == name)
        {
            found.push(name.to_owned());
        }
        Ok(value)
    };
    let _ = resolve(text, &recording);
    found.into_inner()
}

/// The logins that stand in for parts of the text, whether or not they are there.
pub(super) fn credentials(text: &str) -> Vec<String> {
    let found = std::cell::RefCell::new(Vec::new());
    let recording = |name: Name<'_>| {
        if let Name::Credential(name) = name {
            found.borrow_mut().push(name.to_owned());
        }
        // What is empty makes way for its default, in which there may be others.
        Ok(Some(Cow::from("")))
    };
    let _ = resolve(text, &recording);
    found.into_inner()
}

/// Whether nothing but these variables stands in for parts of the text.
pub(super) fn needs_only(text: &str, variables: &[&str]) -> bool {
    let others = std::cell::Cell::new(false);
    let looking = |name: Name<'_>| {
        let is_known = matches!(name, Name::Variable(name) if variables.contains(&name));
        others.set(others.get() || !is_known);
        // What is empty makes way for its default, in which there may be others.
        Ok(Some(Cow::from("")))
    };
    resolve(text, &looking).is_ok() && !others.get()
}

/// Where the next placeholder begins, and how.
fn next_opening(text: &str) -> Option<(usize, &'static str)> {
    let found = OPENINGS.iter().filter_map(|opening| Some((text.find(opening)?, *opening)));
    found.min()
}

fn resolve_nested(text: &str, lookup: &Lookup<'_, '_>, nesting: usize) -> Result<String, Failure> {
    if nesting > MAX_NESTING {
        return Err(Failure::Malformed("has defaults within defaults too deep"));
    }
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, opening)) = next_opening(rest) {
        let (before, from) = rest.split_at(at);
        let inner = &from[opening.len()..];
        if let Some(before) = before.strip_suffix('$') {
            resolved.push_str(before);
            resolved.push_str(opening);
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
        let is_credential = opening == OPENINGS[1];
        let wanted = if is_credential { Name::Credential(name) } else { Name::Variable(name) };
        let value = lookup(wanted).map_err(Failure::Unusable)?;
        // As in a shell, an empty variable is replaced by the default, too.
        match (value.as_deref(), default) {
            (None, None) if is_credential => return Err(Failure::NoCredential(name.to_owned())),
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
        let lookup = |name: Name<'_>| match name {
            Name::Variable("A") => Ok(Some("1".into())),
            Name::Variable("EMPTY") => Ok(Some("".into())),
            Name::Variable("TRICK") => Ok(Some("${env:A}".into())),
            Name::Credential("acme") => Ok(Some("token".into())),
            Name::Credential("old") => Err("has expired".to_owned()),
            _ => Ok(None),
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

    #[test] // M-19
    fn logins_are_replaced_as_variables_are() {
        check("Bearer ${credential:acme} ${env:A}", expect!["Bearer token 1"]);
        check("$${credential:acme} ${credential}", expect!["${credential:acme} ${credential}"]);
        check("${credential:none:-${env:A}}", expect!["1"]);
        check("${credential:none}", expect![[r#"NoCredential("none")"#]]);
        check("${credential:old:-x}", expect![[r#"Unusable("has expired")"#]]);
        check("${credential:acme", expect![[r#"Malformed("has a placeholder without its end")"#]]);
        assert!(is_in("${credential:a}") && is_all_of("${credential:a}"));
        assert!(
            holds_credential("x${credential:a}") && !holds_credential("$${credential:a}${env:A}")
        );
        let text = "x${credential:a}${env:A:-${credential:b:-$${credential:c}}}${credential:d";
        assert_eq!(credentials(text), ["a", "b"]);
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
        let grown = resolve(&"${env:L}".repeat(100), &|_| Ok(Some(long.as_str().into())));
        assert_eq!(grown, Err(Failure::Malformed("becomes longer than a mebibyte")));
    }

    #[test]
    fn the_variables_in_use_are_known() {
        let lookup = |name: Name<'_>| Ok((name != Name::Variable("NONE")).then_some("v".into()));
        assert_eq!(variables("${env:A}${env:NONE:-${env:B}}${env:A}", &lookup), ["A", "B"]);
        assert!(is_in("x${env:A}") && !is_in("$${env:A}"));
        assert!(
            is_all_of("${env:A}") && !is_all_of("${env:A:-b}") && !is_all_of("${env:A}${env:B}")
        );
    }
}
