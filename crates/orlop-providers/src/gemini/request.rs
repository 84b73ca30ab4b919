//! The body of a request, copied together from texts that exist already.

use super::history::{Pieces, pieces};
use crate::wire::body::fields;
use bytes::Bytes;
use orlop_types::{Map, NativeItem, Value};

const INSTRUCTIONS: &str = "systemInstruction";
const TOOLS: &str = "tools";

/// `{...params, "systemInstruction": {...}, "contents": [...], "tools": [...]}`.
///
/// Items and tools are copied as they are. `tools` is the JSON text of a list of function
/// declarations, which goes behind the tools of `params`. Of `params` the keys that the body fills
/// itself are left out, `model`, which stands in the address, and `_metadata`.
///
/// ```
/// use orlop_providers::gemini::request::body;
/// use orlop_types::{Map, NativeItem};
/// let hello = NativeItem::from_text(r#"{"role":"user","parts":[{"text":"hi"}]}"#)?;
/// assert_eq!(
///     body(&Map::new(), [&hello], None),
///     r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn body<'a>(
    params: &Map,
    items: impl IntoIterator<Item = &'a NativeItem>,
    tools: Option<&str>,
) -> Bytes {
    let Pieces { instructions, contents } = pieces(items);
    let mut head = fields(params, |key| match key {
        "model" | "contents" => true,
        INSTRUCTIONS => !instructions.is_empty(),
        TOOLS => tools.is_some(),
        _ => false,
    });
    if !instructions.is_empty() {
        head.push_str(&format!("\"{INSTRUCTIONS}\":{{\"parts\":[{instructions}]}},"));
    }
    if let Some(tools) = tools {
        let others = params.get(TOOLS).and_then(Value::as_array).into_iter().flatten();
        let others: String = others.map(|tool| format!("{tool},")).collect();
        head.push_str(&format!("\"{TOOLS}\":[{others}{{\"functionDeclarations\":{tools}}}],"));
    }
    let size = contents.iter().map(|content| content.len() + 1).sum::<usize>();
    let mut out = String::with_capacity(head.len() + size + 16);
    out.push('{');
    out.push_str(&head);
    out.push_str("\"contents\":[");
    for (position, content) in contents.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        out.push_str(content);
    }
    out.push_str("]}");
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn params(value: Value) -> Map {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn items_and_tools_are_copied_as_they_are() {
        let items = [
            r#"{"role":"system","parts":[{"text":"a"}]}"#,
            r#"{"parts":[{"text":"\u00e9","n":1.0}],"role":"user"}"#,
            r#"{"parts":[{"text":"b"}],"role":"system"}"#,
        ]
        .map(|text| NativeItem::from_text(text).unwrap());
        let params = params(json!({
            "model": "m", "generationConfig": {"topK": 1}, "contents": [1], "_metadata": {"x": 1},
            "systemInstruction": {"parts": []}, "tools": [{"googleSearch": {}}],
        }));
        let body = body(&params, &items, Some(r#"[{"name":"f"}]"#));
        assert_eq!(
            body,
            r#"{"generationConfig":{"topK":1},"systemInstruction":{"parts":[{"text":"a"},{"text":"b"}]},"tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"f"}]}],"contents":[{"parts":[{"text":"\u00e9","n":1.0}],"role":"user"}]}"#
        );
        assert!(serde_json::from_slice::<Value>(&body).is_ok());
    }

    #[test]
    fn what_the_conversation_does_not_fill_is_left_to_the_settings() {
        let params = params(json!({"systemInstruction": {"parts": [1]}, "tools": [2]}));
        assert_eq!(
            body(&params, &[], None),
            r#"{"systemInstruction":{"parts":[1]},"tools":[2],"contents":[]}"#
        );
    }
}
