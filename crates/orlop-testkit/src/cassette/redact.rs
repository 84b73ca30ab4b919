//! Removes secrets from what is about to be written or printed.
//!
//! It rather masks too much than too little. What it cannot see is a secret that a model spells out
//! over several events of a stream.

use std::ops::Range;

use axum::http::HeaderValue;
use serde_json::Value;

use super::percent;

/// What stands in place of a secret.
pub(crate) const MASK: &str = "***";

/// Headers whose values are secret.
const SECRET_HEADERS: [&str; 8] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "x-goog-api-key",
    "api-key",
    "x-auth-token",
    "cookie",
    "set-cookie",
];

/// Query parameters whose values are secret.
const SECRET_PARAMETERS: [&str; 5] = ["key", "api_key", "apikey", "api-key", "access_token"];

/// How the keys of well-known services begin, and how many characters must follow at least.
const KEY_PREFIXES: [(&str, usize); 7] = [
    ("sk-", 4),
    ("AIza", 16),
    ("gsk_", 16),
    ("hf_", 16),
    ("ghp_", 16),
    ("github_pat_", 16),
    ("xai-", 16),
];

/// Shorter values are not searched for in bodies, where they would be found in ordinary words.
const SHORTEST_HEADER_SECRET: usize = 8;

pub(crate) fn is_secret_header(name: &str) -> bool {
    SECRET_HEADERS.iter().any(|secret| secret.eq_ignore_ascii_case(name))
}

/// The printable form of a header: `Bearer ***` for a credential, with its scheme if it has one.
pub(crate) fn header(name: &str, value: &HeaderValue) -> String {
    let value = String::from_utf8_lossy(value.as_bytes());
    if !is_secret_header(name) {
        return Redactor::default().text(&value);
    }
    match value.split_once(' ') {
        Some((scheme, _)) if name.to_ascii_lowercase().ends_with("authorization") => {
            format!("{scheme} {MASK}")
        }
        _ => MASK.to_owned(),
    }
}

/// The secrets that a header carries: a token without its scheme, the values of cookies.
pub(crate) fn secrets_in_header(name: &str, value: &HeaderValue) -> Vec<String> {
    if !is_secret_header(name) {
        return Vec::new();
    }
    let value = String::from_utf8_lossy(value.as_bytes());
    value
        .split([' ', ';'])
        .flat_map(|part| [part, part.split_once('=').map_or("", |(_, value)| value)])
        .chain([value.as_ref()])
        .filter(|secret| secret.len() >= SHORTEST_HEADER_SECRET)
        .map(str::to_owned)
        .collect()
}

/// The values of secret query parameters in a path.
pub(crate) fn secrets_in_query(path: &str) -> Vec<String> {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    query
        .split('&')
        .filter(|parameter| is_secret_parameter(parameter))
        .filter_map(|parameter| parameter.split_once('='))
        .map(|(_, value)| percent::decode(value))
        .filter(|secret| secret.len() >= SHORTEST_HEADER_SECRET)
        .collect()
}

fn is_secret_parameter(parameter: &str) -> bool {
    let name = percent::decode(parameter.split('=').next().unwrap_or_default());
    SECRET_PARAMETERS.iter().any(|secret| secret.eq_ignore_ascii_case(&name))
}

/// Masks what looks like a key, and the secrets it was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redactor {
    secrets: Vec<Vec<u8>>,
}

impl Redactor {
    /// Masks these secrets as well, also where JSON or a URL writes them differently.
    pub(crate) fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut forms = Vec::new();
        for secret in secrets {
            let in_json = Value::from(secret.as_str()).to_string();
            forms.push(in_json.as_bytes()[1..in_json.len() - 1].to_vec());
            forms.push(percent::encode(&secret).into_bytes());
            forms.push(secret.into_bytes());
        }
        forms.retain(|form| !form.is_empty());
        forms.sort();
        forms.dedup();
        Self { secrets: forms }
    }

    pub(crate) fn text(&self, text: &str) -> String {
        // A secret or a key begins and ends between characters, so the rest stays UTF-8.
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    pub(crate) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut masked = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for secret in self.secret_ranges(bytes) {
            masked.extend_from_slice(&bytes[at..secret.start]);
            masked.extend_from_slice(MASK.as_bytes());
            at = secret.end;
        }
        masked.extend_from_slice(&bytes[at..]);
        masked
    }

    /// Masks every string and every name in a JSON value.
    pub(crate) fn json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| (self.text(name), self.json(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Removes secret parameters from the query of a path, and masks the rest like any text.
    pub(crate) fn path(&self, path: &str) -> String {
        let Some((path, query)) = path.split_once('?') else { return self.text(path) };
        let kept: Vec<&str> =
            query.split('&').filter(|parameter| !is_secret_parameter(parameter)).collect();
        let path = self.text(path);
        if kept.is_empty() { path } else { format!("{path}?{}", self.text(&kept.join("&"))) }
    }

    /// Where the secrets are, in order, those that overlap or touch taken together.
    fn secret_ranges(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = (0..bytes.len())
            .flat_map(|at| {
                let told = self.secrets.iter().filter(move |told| bytes[at..].starts_with(told));
                let told = told.map(move |told| at..at + told.len());
                told.chain(key_at(bytes, at)).chain(bearer_token_at(bytes, at))
            })
            .collect();
        found.sort_by_key(|range| range.start);

        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in found {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }
}

fn key_at(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let (prefix, _) = KEY_PREFIXES.into_iter().find(|(prefix, shortest)| {
        bytes[at..].starts_with(prefix.as_bytes())
            && length_of(&bytes[at + prefix.len()..], is_key_byte) >= *shortest
    })?;
    let after = at + prefix.len();
    starts_a_word(bytes, at).then(|| at..after + length_of(&bytes[after..], is_key_byte))
}

/// The token after `Bearer`, in any case.
fn bearer_token_at(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    const SCHEME: &[u8] = b"bearer";
    const SHORTEST_TOKEN: usize = 4;

    if !bytes.get(at..at + SCHEME.len())?.eq_ignore_ascii_case(SCHEME) {
        return None;
    }
    let spaces: [&[u8]; 3] = [b" ", b"+", b"%20"];
    let mut start = at + SCHEME.len();
    while let Some(space) = spaces.iter().find(|space| bytes[start..].starts_with(space)) {
        start += space.len();
    }
    let length = length_of(&bytes[start..], is_token_byte);
    (start > at + SCHEME.len() && length >= SHORTEST_TOKEN).then(|| start..start + length)
}

/// Whether no letter or digit stands before, other than as the end of an escape: the `n` of `\n`
/// is no part of the word after it.
fn starts_a_word(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    match before {
        [] => true,
        [.., last] if !last.is_ascii_alphanumeric() => true,
        [.., b'\\', _] => true,
        _ => {
            let tail = |length: usize| before.len().checked_sub(length).map(|from| &before[from..]);
            tail(3).is_some_and(|tail| tail[0] == b'%' && is_hex(&tail[1..]))
                || tail(6).is_some_and(|tail| tail.starts_with(b"\\u") && is_hex(&tail[2..]))
        }
    }
}

fn length_of(bytes: &[u8], belongs: fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| belongs(**byte)).count()
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn is_token_byte(byte: u8) -> bool {
    is_key_byte(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Redactor, header, secrets_in_header, secrets_in_query};

    /// Put together here, so that no key stands in the sources, not even a false one.
    fn key() -> String {
        ["s", "k-", "proj-", "0a1B2c_3D"].concat()
    }

    fn masked(text: &str) -> String {
        Redactor::default().text(text)
    }

    #[test]
    fn keys_are_masked_wherever_a_word_begins() {
        let key = key();
        assert_eq!(masked(&key), "***");
        assert_eq!(masked(&format!("a {key}, b")), "a ***, b");
        assert_eq!(masked(&format!("x_{key}.")), "x_***.");
        assert_eq!(masked(&format!(r#""line\n{key}""#)), r#""line\n***""#);
        assert_eq!(masked(&format!(r#""\u0022{key}""#)), r#""\u0022***""#);
        assert_eq!(masked(&format!("k%3D{key}")), "k%3D***");
    }

    #[test]
    fn words_that_only_contain_the_letters_stay() {
        for text in ["measure-risk-in-treasuries", "task-handling", "a desk-bound sk- sk-it", "ä"]
        {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn the_token_after_bearer_is_masked() {
        let token = ["abc.", "DEF/", "ghi=="].concat();
        assert_eq!(
            masked(&format!("Authorization: Bearer {token}\"")),
            "Authorization: Bearer ***\""
        );
        assert_eq!(masked(&format!("bearer%20{token}")), "bearer%20***");
        assert_eq!(masked("Bearer ***"), "Bearer ***");
        assert_eq!(masked("the bearer of news"), "the bearer of news");
    }

    #[test]
    fn a_told_secret_is_masked_in_every_spelling() {
        let redactor = Redactor::new(["pass \"word\"".to_owned(), "pass".to_owned()]);
        assert_eq!(redactor.text("a pass \"word\" b"), "a *** b");
        assert_eq!(redactor.text(r#"{"a":"pass \"word\""}"#), r#"{"a":"***"}"#);
        assert_eq!(redactor.text("/x?p=pass%20%22word%22"), "/x?p=***");
        assert_eq!(
            redactor.json(&json!({"pass": ["pass", 1, null]})),
            json!({"***": ["***", 1, null]})
        );
        assert_eq!(redactor.bytes(b"\xffpass\xfe"), b"\xff***\xfe");
    }

    #[test]
    fn secrets_that_overlap_leave_nothing_between_them() {
        let redactor = Redactor::new(["abcd".to_owned(), "cdef".to_owned(), "ef 1".to_owned()]);
        assert_eq!(redactor.text("xabcdef 12"), "x***2");
        let redactor = Redactor::new(["tail of it".to_owned()]);
        assert_eq!(redactor.text(&format!("Bearer {}tail of it!", "1234")), "Bearer ***!");
    }

    #[test]
    fn secret_parameters_vanish_from_the_query() {
        let redactor = Redactor::default();
        assert_eq!(redactor.path("/v1/models?key=1&alt=sse&API_KEY=2"), "/v1/models?alt=sse");
        assert_eq!(redactor.path("/v1/models?%6Bey=1&access_token=x"), "/v1/models");
        assert_eq!(redactor.path("/v1/models"), "/v1/models");
        assert_eq!(secrets_in_query("/a?key=12%3345678&alt=sse"), ["12345678"]);
    }

    #[test]
    fn headers_keep_the_scheme_and_nothing_else() -> Result<(), Box<dyn std::error::Error>> {
        let secret = ["one", "two", "three"].concat();
        assert_eq!(header("authorization", &format!("Bearer {secret}").parse()?), "Bearer ***");
        assert_eq!(header("X-Api-Key", &secret.parse()?), "***");
        assert_eq!(header("accept", &"text/html".parse()?), "text/html");
        let cookie = format!("id={secret}; a=b").parse()?;
        assert!(secrets_in_header("cookie", &cookie).contains(&secret));
        assert!(secrets_in_header("accept", &cookie).is_empty());
        Ok(())
    }
}
