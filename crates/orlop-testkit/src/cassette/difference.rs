//! Compares a request with a recorded one, and says where they differ.

use axum::http::Method;
use serde_json::{Value, json};

use super::ExchangeRequest;
use super::percent;
use super::redact::{MASK, Redactor};

/// A request that came in, ready to be compared.
pub(super) struct Received {
    method: Method,
    path: String,
    query: Option<String>,
    text: String,
    body: Value,
}

impl Received {
    /// `path` is the path with its query.
    pub(super) fn new(method: Method, path: &str, body: &[u8]) -> Self {
        let (path, query) = split_query(path);
        let text = String::from_utf8_lossy(body).into_owned();
        let json = serde_json::from_str(&text).ok();
        let body = json.unwrap_or_else(|| if text.is_empty() { Value::Null } else { json!(text) });
        Self { method, path, query, text, body }
    }

    /// How it is named in messages.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// One place where the two differ.
#[derive(Debug)]
pub(super) struct Difference {
    at: String,
    recorded: Option<Value>,
    received: Option<Value>,
}

impl Difference {
    /// How far apart this makes the two: another method or path weighs more than any body.
    pub(super) fn weight(&self) -> usize {
        match self.at.as_str() {
            "method" | "path" => 1_000_000,
            _ => 1,
        }
    }

    /// `body/model: recorded "a", received nothing`.
    pub(super) fn describe(&self) -> String {
        let (recorded, received) = (shorten(&self.recorded), shorten(&self.received));
        format!("{}: recorded {recorded}, received {received}", self.at)
    }
}

/// All differences; none if the request matches.
///
/// `***` in the recording stands for a removed secret, so it matches any text. A recording without
/// a query matches every query, because many recordings do not keep it.
pub(super) fn differences(recorded: &ExchangeRequest, received: &Received) -> Vec<Difference> {
    let mut found = Vec::new();
    compare_text("method", &recorded.method, received.method.as_str(), &mut found);
    let (path, query) = split_query(&recorded.path);
    // A recording that lost its path is taken for one of the root.
    let path = if path.is_empty() { "/" } else { path.as_str() };
    compare_text("path", path, &received.path, &mut found);
    if let Some(query) = query {
        let received = received.query.as_deref().unwrap_or_default();
        compare_text("query", &query, received, &mut found);
    }
    match &recorded.body {
        // A recorded string is the body itself, as text. It may happen to be JSON.
        Value::String(text) if !matches_masked(text, &received.text) => {
            let json = serde_json::from_str(text).unwrap_or_else(|_| recorded.body.clone());
            compare_json("body", &json, &received.body, &mut found);
        }
        Value::String(_) => {}
        json => compare_json("body", json, &received.body, &mut found),
    }
    found
}

/// The path and the query, decoded, without the parameters that are never recorded.
fn split_query(path: &str) -> (String, Option<String>) {
    let path = Redactor::default().path(path);
    match path.split_once('?') {
        Some((path, query)) => (percent::decode(path), Some(percent::decode(query))),
        None => (percent::decode(&path), None),
    }
}

fn compare_text(at: &str, recorded: &str, received: &str, found: &mut Vec<Difference>) {
    if !matches_masked(recorded, received) {
        found.push(Difference {
            at: at.to_owned(),
            recorded: Some(json!(recorded)),
            received: Some(json!(received)),
        });
    }
}

fn compare_json(at: &str, recorded: &Value, received: &Value, found: &mut Vec<Difference>) {
    match (recorded, received) {
        (Value::Object(recorded), Value::Object(received)) => {
            for (name, value) in recorded {
                let at = format!("{at}/{name}");
                match received.get(name) {
                    Some(other) => compare_json(&at, value, other, found),
                    None => found.push(Difference {
                        at,
                        recorded: Some(value.clone()),
                        received: None,
                    }),
                }
            }
            for (name, value) in received.iter().filter(|(name, _)| !recorded.contains_key(*name)) {
                found.push(Difference {
                    at: format!("{at}/{name}"),
                    recorded: None,
                    received: Some(value.clone()),
                });
            }
        }
        (Value::Array(recorded), Value::Array(received)) => {
            for place in 0..recorded.len().max(received.len()) {
                let at = format!("{at}/{place}");
                match (recorded.get(place), received.get(place)) {
                    (Some(value), Some(other)) => compare_json(&at, value, other, found),
                    (value, other) => found.push(Difference {
                        at,
                        recorded: value.cloned(),
                        received: other.cloned(),
                    }),
                }
            }
        }
        (Value::String(recorded), Value::String(received)) => {
            compare_text(at, recorded, received, found);
        }
        (Value::Number(recorded), Value::Number(received))
            // JSON does not tell 1 from 1.0.
            if recorded == received || recorded.as_f64() == received.as_f64() => {}
        (recorded, received) if recorded == received => {}
        (recorded, received) => found.push(Difference {
            at: at.to_owned(),
            recorded: Some(recorded.clone()),
            received: Some(received.clone()),
        }),
    }
}

/// Whether the texts are equal, with any text allowed where the recording has a mask.
fn matches_masked(recorded: &str, received: &str) -> bool {
    if recorded == received {
        return true;
    }
    let Some((start, rest)) = recorded.split_once(MASK) else { return false };
    let Some(mut left) = received.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = rest.split(MASK).collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        // The first place is as good as any, since a mask takes whatever is left over.
        let Some((_, after)) = left.split_once(piece) else { return false };
        left = after;
    }
    left.ends_with(end)
}

fn shorten(value: &Option<Value>) -> String {
    const LONGEST: usize = 120;

    let Some(value) = value else { return "nothing".to_owned() };
    let text = Redactor::default().json(value).to_string();
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use axum::http::Method;
    use serde_json::{Value, json};

    use super::{ExchangeRequest, Received, differences, matches_masked};

    fn described(recorded: Value, received: &str) -> Vec<String> {
        let recorded =
            ExchangeRequest { method: "POST".to_owned(), path: "/v1/x".to_owned(), body: recorded };
        let received = Received::new(Method::POST, "/v1/x?alt=sse", received.as_bytes());
        differences(&recorded, &received).iter().map(super::Difference::describe).collect()
    }

    #[test]
    fn equal_json_matches_in_any_order_and_spelling() {
        let recorded = json!({"a": 1, "b": {"c": [1.0, "x"], "d": null}});
        let received = r#"{ "b": {"d":null,"c":[1,"x"]}, "a":1.0 }"#;
        assert!(described(recorded, received).is_empty());
    }

    #[test]
    fn differences_name_the_place() {
        let recorded = json!({"a": 1, "b": [true, "x"], "c": 0});
        let received = r#"{"a":2,"b":[true],"d":{}}"#;
        assert_eq!(
            described(recorded, received),
            [
                "body/a: recorded 1, received 2",
                r#"body/b/1: recorded "x", received nothing"#,
                "body/c: recorded 0, received nothing",
                "body/d: recorded nothing, received {}",
            ]
        );
    }

    #[test]
    fn a_recorded_string_is_the_text_of_the_body() {
        assert!(described(json!("a=1&b=2"), "a=1&b=2").is_empty());
        assert!(described(json!(r#"{"a":1}"#), r#"{ "a": 1 }"#).is_empty());
        assert!(described(json!(""), "").is_empty());
        assert!(described(Value::Null, "").is_empty());
        assert!(!described(json!("a=1"), "a=2").is_empty());
        assert!(!described(Value::Null, "{}").is_empty());
    }

    #[test]
    fn a_query_counts_if_it_was_recorded() {
        let of = |path: &str, body: Value| ExchangeRequest {
            method: "GET".to_owned(),
            path: path.to_owned(),
            body,
        };
        let received = Received::new(Method::GET, "/a%7Bb%7D?alt=sse&key=1", b"");
        assert!(differences(&of("/a{b}", Value::Null), &received).is_empty());
        assert!(differences(&of("/a{b}?alt=sse", Value::Null), &received).is_empty());
        assert_eq!(differences(&of("/a{b}?alt=json", Value::Null), &received).len(), 1);
    }

    #[test]
    fn a_mask_matches_what_was_removed() {
        assert!(matches_masked("my key *** is", "my key abc is"));
        assert!(matches_masked("***-***-", "a-b-c-"));
        assert!(matches_masked("***", ""));
        assert!(!matches_masked("my key *** is", "my key abc was"));
        assert!(!matches_masked("a***a", "a"));
    }
}
