//! What the real servers refuse: the rules that a conversation has to keep, API by API. A mistake
//! is told in the words of the real server where they are known.

pub(super) mod chat;
pub(super) mod gemini;
pub(super) mod messages;
pub(super) mod ollama;
pub(super) mod responses;

use serde_json::Value;

use super::api::{Api, Frame};
use super::request::RecordedRequest;

/// Whether a request keeps the rules of the API that it speaks.
pub(super) fn check(api: Api, request: &RecordedRequest) -> Result<(), String> {
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| format!("We could not parse the JSON body of your request: {error}"))?;
    ensure(body.is_object(), || "the body is no JSON object".to_owned())?;
    // No API knows it: it is what Orlop keeps for itself.
    if let Some(path) = find_key(&body, "_metadata", String::new()) {
        return Err(format!("Unknown parameter: '{path}'."));
    }
    let frame = Frame::new(request, 0);
    api.speech().check(&body, &frame.model)
}

/// `Err` with the message unless it holds.
fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

/// The list under `key`, empty if it is missing; anything else there is refused.
fn list<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], String> {
    match &value[key] {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        other => Err(format!("{key}: expected an array, got {other}")),
    }
}

/// The text under `key`, which must not be empty.
fn text<'a>(value: &'a Value, key: &str, place: &str) -> Result<&'a str, String> {
    let text = value[key].as_str().filter(|text| !text.is_empty());
    text.ok_or_else(|| format!("{place}.{key}: expected a text that is not empty"))
}

/// Whether a name or id is made of these characters only, and short enough.
fn is_plain(name: &str, longest: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= longest && name.bytes().all(plain)
}

fn find_key(value: &Value, wanted: &str, path: String) -> Option<String> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(key, value)| {
            let path = format!("{path}.{key}");
            if key == wanted { Some(path) } else { find_key(value, wanted, path) }
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(position, item)| find_key(item, wanted, format!("{path}[{position}]"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::api::Api;
    use super::super::request::RecordedRequest;
    use super::check;
    use crate::cassette::ExchangeRequest;
    use crate::fixtures::{Fixtures, skip};

    /// What differs between a recording and the mock: signatures are those of the real servers, ids
    /// are removed, and the newest models take what others refuse.
    fn is_known(mistake: &str) -> bool {
        let known = ["signature", "could not be verified", "Expected an ID", "got 'system'"];
        known.iter().any(|words| mistake.contains(words))
    }

    /// Whether a recording asks for something else than an answer.
    fn is_other(request: &ExchangeRequest) -> bool {
        let other = ["count_tokens", "compact"].iter().any(|route| request.path.ends_with(route));
        other || !request.body.is_object() || !request.body["encoding_format"].is_null()
    }

    #[test]
    fn what_the_real_servers_took_breaks_no_rule() {
        let Some(fixtures) = Fixtures::open() else {
            return skip("rules of the mock server", "ORLOP_FIXTURES is not set");
        };
        let (mut checked, mut mistakes) = (0, Vec::new());
        for (api, folder) in [
            (Api::Chat, "openai-chat"),
            (Api::Responses, "openai-responses"),
            (Api::Messages, "anthropic-messages"),
            (Api::Gemini, "gemini-generate"),
            (Api::Ollama, "ollama-chat"),
        ] {
            for fixture in
                fixtures.exchanges(folder).filter(|it| it.exchange.response.status == 200)
            {
                let request = &fixture.exchange.request;
                if is_other(request) {
                    continue;
                }
                checked += 1;
                let request = RecordedRequest {
                    method: "POST".to_owned(),
                    path: request.path.clone(),
                    query: None,
                    headers: Default::default(),
                    body: request.body.to_string().into(),
                };
                match check(api, &request) {
                    Err(mistake) if !is_known(&mistake) => {
                        mistakes.push(format!("{}: {mistake}", fixture.file));
                    }
                    _ => {}
                }
            }
        }
        assert!(checked > 1000, "only {checked} requests were seen");
        assert!(mistakes.is_empty(), "{} mistakes:\n{}", mistakes.len(), mistakes.join("\n"));
    }
}
