//! The body of a chat completion request, copied together from texts that exist already.

use crate::wire::body::fields;
use bytes::Bytes;
use orlop_types::{Map, NativeItem};

const MESSAGES: &str = "messages";
const TOOLS: &str = "tools";

/// `{...params, "messages": [...], "tools": [...]}`.
///
/// Messages and tools are copied as they are, so the cost is that of their bytes. `tools` is the
/// JSON text of a list. Of `params` the keys that the body fills itself are left out, and
/// `_metadata`, which never leaves the process; nor does that of the items.
///
/// ```
/// use orlop_providers::openai::request::body;
/// use orlop_types::{Map, NativeItem};
/// let hello = NativeItem::from_text(r#"{"role":"user","content":"hi"}"#)?;
/// let params = Map::from_iter([("model".to_owned(), "m".into())]);
/// assert_eq!(
///     body(&params, [&hello], None),
///     r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn body<'a, M>(params: &Map, messages: M, tools: Option<&str>) -> Bytes
where
    M: IntoIterator<Item = &'a NativeItem>,
    M::IntoIter: Clone,
{
    let messages = messages.into_iter();
    let fields = fields(params, |key| key == MESSAGES || (key == TOOLS && tools.is_some()));
    let size = messages.clone().map(|item| item.wire().len() + 1).sum::<usize>()
        + fields.len()
        + tools.map_or(0, |tools| tools.len() + TOOLS.len() + 4)
        + MESSAGES.len()
        + 8;
    let mut out = String::with_capacity(size);
    out.push('{');
    out.push_str(&fields);
    out.push_str("\"messages\":[");
    for (position, item) in messages.enumerate() {
        if position > 0 {
            out.push(',');
        }
        out.push_str(item.wire());
    }
    out.push(']');
    if let Some(tools) = tools {
        out.push_str(",\"tools\":");
        out.push_str(tools);
    }
    out.push('}');
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn params(value: Value) -> Map {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn items_and_tools_are_copied_as_they_are() {
        let items = [r#"{"role":"user","n":1.0}"#, r#"{"role":"assistant","s":"\u00e9"}"#]
            .map(|text| NativeItem::from_text(text).unwrap());
        let params =
            params(json!({"model": "a\"b", "temperature": 0.5, "messages": [1], "tools": [2]}));
        let body = body(&params, &items, Some(r#"[{"type":"function"}]"#));
        assert_eq!(
            body,
            r#"{"model":"a\"b","temperature":0.5,"messages":[{"role":"user","n":1.0},{"role":"assistant","s":"\u00e9"}],"tools":[{"type":"function"}]}"#
        );
        assert!(serde_json::from_slice::<Value>(&body).is_ok());
    }

    #[test]
    fn one_allocation_is_enough() {
        let items = vec![NativeItem::from(json!({"role": "user", "content": "x".repeat(50)})); 20];
        let body = body(&params(json!({"model": "m", "stream": true})), &items, Some("[]"));
        let written = Vec::from(body);
        assert!(
            written.capacity() < written.len() + 16,
            "{} {}",
            written.capacity(),
            written.len()
        );
    }

    #[test]
    fn without_anything_it_is_still_json() {
        assert_eq!(body(&Map::new(), &[], None), r#"{"messages":[]}"#);
        let params = params(json!({"tools": [1]}));
        assert_eq!(body(&params, &[], None), r#"{"tools":[1],"messages":[]}"#);
    }

    #[test]
    fn internal_metadata_stays_here() {
        let items = [
            NativeItem::from(json!({"role": "user", "_metadata": {"a": 1}})),
            NativeItem::from_text(r#"{"\u005fmetadata":{"b":1},"role":"assistant"}"#).unwrap(),
            NativeItem::from(json!({"role": "tool"})).with_metadata(params(json!({"c": 1}))),
        ];
        let body = body(&params(json!({"model": "m", "_metadata": {"d": 1}})), &items, None);
        assert_eq!(
            body,
            r#"{"model":"m","messages":[{"role":"user"},{"role":"assistant"},{"role":"tool"}]}"#
        );
    }
}
