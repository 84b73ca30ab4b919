//! One HTTP request to a model server, ready to be sent and sent again.

use crate::secret::Secret;
use bytes::Bytes;
use orlop_types::{Error, Result};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use std::fmt;

/// A request. `Debug` shows neither headers nor the body, where keys and conversations are.
#[derive(Clone)]
pub struct Call {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    secret: Secret,
}

impl Call {
    /// Asks for `path` below `base_url`. A query in `base_url` stays behind the path.
    pub fn get(base_url: &str, path: &str) -> Result<Self> {
        let url = endpoint(base_url, path)?;
        let headers = HeaderMap::new();
        Ok(Self { method: Method::GET, url, headers, body: Bytes::new(), secret: Secret::none() })
    }

    /// Sends a JSON body to `path` below `base_url`.
    pub fn post(base_url: &str, path: &str, body: Bytes) -> Result<Self> {
        let mut call = Self::get(base_url, path)?;
        call.method = Method::POST;
        call.body = body;
        call.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(call)
    }

    /// With `name=value` in the query. Never for keys: addresses are shown and logged.
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.url.query_pairs_mut().append_pair(name, value);
        self
    }

    /// Says that an event stream is welcome.
    pub fn accept_events(mut self) -> Self {
        self.headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        self
    }

    /// With the key as a bearer token; an empty one sends no header. From here on the key is
    /// masked in everything that comes of the call.
    pub fn bearer(mut self, secret: Secret) -> Result<Self> {
        if !secret.is_empty() {
            let value = HeaderValue::from_str(&format!("Bearer {}", secret.expose()));
            self.headers.insert(AUTHORIZATION, sensitive(value, "api_key")?);
        }
        self.secret = secret;
        Ok(self)
    }

    /// With the key in a header of its own, as some servers want it; masked like a bearer token.
    pub fn key_header(self, name: &str, secret: Secret) -> Result<Self> {
        let call = if secret.is_empty() { self } else { self.header(name, secret.expose())? };
        Ok(Self { secret, ..call })
    }

    /// With one more header. No value is shown in `Debug` output, and that of a header that
    /// carries a key is masked like a bearer token.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self> {
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
            Error::bad_argument(format!("{name:?} cannot be the name of an HTTP header"))
        })?;
        if let Some(credential) = credential(key.as_str(), value) {
            self.secret = self.secret.and(credential);
        }
        self.headers.insert(key, sensitive(HeaderValue::from_str(value), name)?);
        Ok(self)
    }

    /// The key that the call carries.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Scheme, host and port of the server: safe to show.
    pub(super) fn server(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({} {}{})", self.method, self.server(), self.url.path())
    }
}

/// The part of a header's value that is a key, judged by the header's name.
fn credential<'a>(name: &str, value: &'a str) -> Option<&'a str> {
    const SHORTEST: usize = 6;
    let words = ["auth", "key", "token", "secret", "password", "cookie"];
    let names_one = words.iter().any(|word| name.contains(word));
    let credential = match value.split_once(' ') {
        // `Bearer` and the like may be shown.
        Some((_, credential)) if name.ends_with("authorization") => credential,
        _ => value,
    };
    // What is shorter is a switch or a number; masking it would tear other words apart.
    (names_one && credential.len() >= SHORTEST).then_some(credential)
}

fn sensitive<E>(value: std::result::Result<HeaderValue, E>, key: &str) -> Result<HeaderValue> {
    let mut value = value.map_err(|_| {
        Error::bad_argument(format!(
            "{key:?} has a character that an HTTP header cannot carry; \
             check it for line breaks and quotation marks"
        ))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The address of `path` below `base_url`.
fn endpoint(base_url: &str, path: &str) -> Result<Url> {
    let refuse = |why: &str| {
        Error::bad_argument(format!(
            "base_url {base_url:?} is no address of a model server: {why}; \
             write it like https://host/v1"
        ))
    };
    let mut url = Url::parse(base_url.trim()).map_err(|error| refuse(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("it is not http or https"));
    }
    match url.path_segments_mut() {
        Ok(mut segments) => {
            segments.pop_if_empty().extend(path.split('/').filter(|part| !part.is_empty()));
        }
        Err(()) => return Err(refuse("it has no path")),
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(base_url: &str, expected: &str) {
        assert_eq!(endpoint(base_url, "chat/completions").unwrap().as_str(), expected);
    }

    #[test]
    fn the_path_goes_below_the_base_url() {
        check("https://host/v1", "https://host/v1/chat/completions");
        check("https://host/v1/", "https://host/v1/chat/completions");
        check(" http://127.0.0.1:1234 ", "http://127.0.0.1:1234/chat/completions");
        check("https://host/d?api-version=1", "https://host/d/chat/completions?api-version=1");
    }

    #[test]
    fn a_query_goes_behind_that_of_the_base_url() {
        for (base_url, expected) in [
            ("https://host/v1", "https://host/v1/models?limit=1000"),
            ("https://host/v1?version=1", "https://host/v1/models?version=1&limit=1000"),
        ] {
            let call = Call::get(base_url, "models").unwrap().query("limit", "1000");
            assert_eq!(call.url.as_str(), expected);
        }
    }

    #[test]
    fn an_address_that_is_none_is_named() {
        for base_url in ["", "host/v1", "ftp://host", "mailto:a@b"] {
            let error = endpoint(base_url, "models").unwrap_err();
            assert!(error.message().contains("like https://host/v1"), "{error}");
        }
    }

    #[test]
    fn headers_that_carry_a_key_are_known() {
        let key = ["some", "-key"].concat();
        for name in ["api-key", "x-goog-api-key", "cookie", "x-amz-security-token"] {
            assert_eq!(credential(name, &key), Some(key.as_str()), "{name}");
        }
        assert_eq!(credential("authorization", &format!("Bearer {key}")), Some(key.as_str()));
        assert_eq!(credential("x-trace", &key), None);
        assert_eq!(credential("x-auth-mode", "1"), None);
    }

    #[test]
    fn debug_output_has_no_key() {
        let key = ["se", "cret", "-key"].concat();
        let call = Call::post("https://host/v1", "x", Bytes::from_static(b"{}"))
            .and_then(|call| call.bearer(Secret::new(key.clone())))
            .and_then(|call| call.header("x-api-key", &key))
            .unwrap();
        assert_eq!(format!("{call:?}"), "Call(POST https://host/v1/x)");
        assert!(!format!("{:?}", call.headers).contains(&key));
    }

    #[test]
    fn a_key_with_a_line_break_is_refused_without_being_shown() {
        let key = ["se", "cret", "\n"].concat();
        let call = Call::get("https://host", "x").unwrap();
        let error = call.bearer(Secret::new(key)).unwrap_err();
        assert!(error.message().contains("api_key") && !error.message().contains("secret"));
    }
}
