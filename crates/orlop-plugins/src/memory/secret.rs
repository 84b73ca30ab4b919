//! What must not be remembered: texts that look like passwords, keys or numbers of cards.

/// How keys of well-known services begin.
const PREFIXES: &[&str] = &[
    "sk-",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "akia",
    "asia",
    "aiza",
    "eyj",
    "hf_",
    "npm_",
    "pypi-",
    "ya29.",
];

/// What a secret is called.
const NAMES: &[&str] = &[
    "password",
    "passwort",
    "passphrase",
    "passcode",
    "api key",
    "api_key",
    "api-key",
    "apikey",
    "secret",
    "token",
    "private key",
    "access key",
    "credential",
    "pin",
];

/// Whether a text holds something that looks secret. It errs on the side of forgetting.
pub(super) fn looks_secret(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.contains("-----begin")
        || names_a_secret(&lower)
        || text.split_whitespace().any(is_key)
        || has_card_number(text)
}

/// Whether a name of a secret is followed by what it is: "password is x", "token: x", "pin = 1".
fn names_a_secret(text: &str) -> bool {
    NAMES.iter().any(|name| {
        text.match_indices(name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = &text[at + name.len()..];
            let alone = before.is_none_or(|c| !c.is_alphanumeric())
                && after.chars().next().is_none_or(|c| !c.is_alphabetic());
            let after = after.trim_start();
            alone && ["is ", ": ", ":", "=", "ist "].iter().any(|sign| after.starts_with(sign))
        })
    })
}

/// Whether a word is a key: it begins like one, or is long and of mixed letters and digits.
fn is_key(word: &str) -> bool {
    let word = word.trim_matches(|c: char| "\"'`,;()<>".contains(c));
    let lower = word.to_lowercase();
    if word.len() >= 12 && PREFIXES.iter().any(|prefix| lower.starts_with(prefix)) {
        return true;
    }
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-+=".contains(c));
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let letters = word.chars().filter(char::is_ascii_alphabetic).count();
    word.len() >= 24 && plain && digits >= 4 && letters >= 4
}

/// Whether there is a number as cards have it: 13 to 19 digits with a right check digit.
fn has_card_number(text: &str) -> bool {
    let parts = text.split(|c: char| !(c.is_ascii_digit() || c == ' ' || c == '-'));
    parts.into_iter().any(|part| {
        let digits: Vec<u32> = part.chars().filter_map(|c| c.to_digit(10)).collect();
        let sum = digits.iter().rev().enumerate().map(|(place, digit)| match place % 2 {
            0 => *digit,
            _ if *digit > 4 => digit * 2 - 9,
            _ => digit * 2,
        });
        (13..=19).contains(&digits.len()) && sum.sum::<u32>() % 10 == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_looks() {
        for secret in [
            "My password is hunter2",
            "API key: abc",
            "the token=xyz",
            "PIN: 1234",
            "Das Passwort ist geheim",
            "uses sk-abcdefghijklmnop",
            "key AKIAIOSFODNN7EXAMPLE",
            "ghp_0123456789abcdefghij",
            "eyJhbGciOiJIUzI1NiJ9.e30.x",
            "a1b2c3d4e5f60718293a4b5c6d7e",
            "-----BEGIN PRIVATE KEY-----",
            "card 4111 1111 1111 1111",
            "4111-1111-1111-1111",
        ] {
            assert!(looks_secret(secret), "{secret}");
        }
        for harmless in [
            "Uses a password manager.",
            "Works on tokenizers.",
            "Prefers pinned versions.",
            "Lives in Bremen.",
            "Project is in /home/ana/work/project-2024-final",
            "Phone calls only before 10:00",
            "Likes the secret garden",
            "Birthday is 1990-04-12",
            "Reads https://example.org/a1b2c3d4e5f60718293a4b5c6d7e",
        ] {
            assert!(!looks_secret(harmless), "{harmless}");
        }
    }
}
