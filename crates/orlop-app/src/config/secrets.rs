//! Which values are secrets, and what is shown in their place.

use super::placeholder;
use orlop_core::Value;

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// Words that make a key the name of a secret.
const SECRET_WORDS: &[&str] =
    &["key", "token", "secret", "password", "passwd", "authorization", "credential"];

/// Keys that only look as if they named one.
const NO_SECRETS: &[&str] = &["prompt_cache_key"];

/// Sections whose values are all taken for secrets.
const SECRET_SECTIONS: &[&str] = &["headers", "env"];

/// Whether the key names a secret.
pub(super) fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| key.contains(word)) && !NO_SECRETS.contains(&key.as_str())
}

/// Whether everything below the key is a secret.
pub(super) fn is_secret_section(key: &str) -> bool {
    SECRET_SECTIONS.contains(&key.to_ascii_lowercase().as_str())
}

/// Masks every secret in a value that is written out; what is nothing but a placeholder stays.
pub(super) fn mask_written(value: &mut Value, secret: bool) {
    mask(value, secret, &|text| match placeholder::is_all_of(text) {
        true => text.to_owned(),
        false => MASK.to_owned(),
    });
}

/// Puts a mask in the place of every secret in a value, for readers it is not meant for.
pub fn without_secrets(value: &mut Value) {
    mask_all(value, false);
}

/// Masks every secret in a value.
pub(super) fn mask_all(value: &mut Value, secret: bool) {
    mask(value, secret, &|_| MASK.to_owned());
}

fn mask(value: &mut Value, secret: bool, masked: &dyn Fn(&str) -> String) {
    match value {
        Value::Object(table) => {
            let whole = secret;
            for (key, value) in table.iter_mut() {
                // A table is not a secret for its own name: server.tokens holds users, too.
                let secret = match value {
                    Value::Object(_) => whole || is_secret_section(key),
                    _ => whole || is_secret_key(key),
                };
                mask(value, secret, masked);
            }
        }
        Value::Array(items) => mask_list(items, secret, masked),
        Value::String(text) if secret && !text.is_empty() => *text = masked(text),
        Value::String(text) => *text = mask_url(text),
        // Counts such as max_tokens are no secrets; a number that is one is not told apart.
        Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

/// Lists may be command lines: `--token x` and `--token=x` are masked, too.
fn mask_list(items: &mut [Value], secret: bool, masked: &dyn Fn(&str) -> String) {
    let mut after_flag = false;
    for item in items {
        let flag = match item {
            Value::String(text) if !secret && text.starts_with('-') => Some(text.clone()),
            _ => None,
        };
        // The tables of a list under a secret's name are judged by their own keys.
        let inherits = secret && !item.is_object();
        match flag.as_deref().map(|flag| flag.split_once('=').unwrap_or((flag, ""))) {
            Some((name, value)) if is_secret_key(name) && !value.is_empty() => {
                *item = format!("{name}={}", masked(value)).into();
                after_flag = false;
            }
            Some((name, _)) => after_flag = is_secret_key(name),
            None => {
                mask(item, inherits || after_flag, masked);
                after_flag = false;
            }
        }
    }
}

/// The text with the password of a URL's user and secrets in its query masked.
pub(super) fn mask_url(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(authority_end);
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((user, _)) => format!("{user}:{MASK}@{host}"),
            // Where there are no user names, what stands there is a token.
            None if scheme.starts_with("http") => format!("{MASK}@{host}"),
            None => authority.to_owned(),
        },
        None => authority.to_owned(),
    };
    format!("{scheme}://{authority}{}", mask_query(rest))
}

fn mask_query(text: &str) -> String {
    let Some((path, query)) = text.split_once('?') else { return text.to_owned() };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_secret_key(name) => format!("{name}={MASK}"),
        _ => pair.to_owned(),
    });
    format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_masked_by_key_section_url_and_flag() {
        let mut value = json!({
            "api_key": "sk-1", "max_tokens": 9, "model": "m", "prompt_cache_key": "c", "Authorization": "Bearer x", "empty_key": "",
            "headers": { "X-Org": "acme" },
            "server": { "tokens": [{ "token": "t", "tenant": "acme" }] }, "tokens": ["a", "b"],
            "command": ["npx", "--api-key", "k", "--token=k", "--verbose", "k"],
        });
        mask_all(&mut value, false);
        assert_eq!(
            value,
            json!({
                "api_key": "***", "max_tokens": 9, "model": "m", "prompt_cache_key": "c", "Authorization": "***", "empty_key": "",
                "headers": { "X-Org": "***" },
                "server": { "tokens": [{ "token": "***", "tenant": "acme" }] }, "tokens": ["***", "***"],
                "command": ["npx", "--api-key", "***", "--token=***", "--verbose", "k"],
            })
        );
    }

    #[test]
    fn urls_lose_their_passwords() {
        let cases = [
            ("postgres://u:p@h/db", "postgres://u:***@h/db"),
            ("postgres://u:p@w@h:1/db?sslmode=on", "postgres://u:***@h:1/db?sslmode=on"),
            ("https://token@h", "https://***@h"),
            ("nats://u@h", "nats://u@h"),
            ("https://h/a?x=1&api_key=k", "https://h/a?x=1&api_key=***"),
            ("https://h/@x", "https://h/@x"),
            ("no url: a@b", "no url: a@b"),
        ];
        for (text, masked) in cases {
            assert_eq!(mask_url(text), masked);
        }
    }

    #[test]
    fn placeholders_are_not_secrets_but_their_defaults_may_be() {
        let mut value =
            json!({ "api_key": "${env:K}", "token": "${env:K:-sk-1}", "secret": "sk-1${env:K}" });
        mask_written(&mut value, false);
        assert_eq!(value, json!({ "api_key": "${env:K}", "token": "***", "secret": "***" }));
    }
}
