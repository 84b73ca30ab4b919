//! A key that reaches the wire and nothing else: no `Debug` output, no error, no log shows it.

use orlop_types::Error;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What stands in place of a secret.
pub const MASK: &str = "***";

/// An API key, or none if it is empty, and what else must not be shown. Cloning is cheap.
///
/// ```
/// use orlop_providers::Secret;
/// let secret = Secret::new(["open", "sesame"].concat());
/// assert_eq!(format!("{secret:?}"), "Secret(***)");
/// assert_eq!(secret.mask("the key opensesame is wrong"), "the key *** is wrong");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    key: Arc<str>,
    /// Further texts to mask.
    others: Arc<[String]>,
}

impl Secret {
    /// Keeps `key`.
    pub fn new(key: impl Into<Arc<str>>) -> Self {
        Self { key: key.into(), others: Arc::default() }
    }

    /// No key: nothing is sent, nothing is masked.
    pub fn none() -> Self {
        Self::new("")
    }

    /// The same key, with `text` masked, too.
    pub fn and(&self, text: &str) -> Self {
        let others = self.others.iter().cloned().chain([text.to_owned()]);
        Self { key: self.key.clone(), others: others.collect() }
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.key.is_empty()
    }

    /// The key itself, for the request that carries it.
    pub fn expose(&self) -> &str {
        &self.key
    }

    /// What must not be shown, the longest first: one may be a part of another.
    fn texts(&self) -> Vec<&str> {
        let texts = self.others.iter().map(String::as_str).chain([&*self.key]);
        let mut texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        texts
    }

    /// The length of the longest text that is masked.
    pub(crate) fn longest(&self) -> usize {
        self.texts().first().map_or(0, |text| text.len())
    }

    /// `text` with `***` wherever a secret stands, also where a server wrote its slashes as `\/`.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        for secret in self.texts() {
            for spelling in [secret, &secret.replace('/', "\\/")] {
                if masked.contains(spelling) {
                    masked = masked.replace(spelling, MASK).into();
                }
            }
        }
        masked
    }

    /// `error` with its sentence and the kept answer of the server masked.
    pub fn mask_error(&self, error: Error) -> Error {
        let masked =
            Error::new(error.class(), self.mask(error.message())).with_retryable(error.retryable());
        let masked = masked.with_retry_after(error.retry_after());
        let masked =
            if error.is_context_overflow() { masked.with_context_overflow() } else { masked };
        match error.provider_body() {
            Some(body) => masked.with_provider_body(error.provider_status(), self.mask(body)),
            None => masked,
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "Secret(none)" } else { "Secret(***)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_masked_in_every_spelling() {
        let secret = Secret::new(["ab/", "cd"].concat());
        assert_eq!(secret.mask("x ab/cd y ab\\/cd ab/c"), "x *** y *** ab/c");
        assert_eq!(Secret::none().mask("x"), "x");
    }

    #[test]
    fn several_secrets_are_masked_the_longest_first() {
        let key = ["a", "bc"].concat();
        let secret = Secret::new(key.clone()).and(&format!("x{key}x")).and("");
        assert_eq!(secret.mask(&format!("{key} x{key}x")), "*** ***");
        assert_eq!((secret.expose(), secret.longest()), (key.as_str(), 5));
    }

    #[test]
    fn a_masked_error_keeps_its_kind() {
        let secret = Secret::new(["k", "e", "y"].concat());
        let error = Error::provider("bad key")
            .with_provider_body(Some(401), "{\"was\":\"key\"}")
            .with_retryable(true);
        let masked = secret.mask_error(error);
        assert_eq!(masked.message(), "bad ***");
        assert_eq!(masked.provider_body(), Some("{\"was\":\"***\"}"));
        assert_eq!((masked.provider_status(), masked.retryable()), (Some(401), true));
    }
}
