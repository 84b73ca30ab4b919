//! The body of a request, copied together from texts that exist already.

use crate::wire::body::fields;
use bytes::Bytes;
use orlop_types::Map;
use serde_json::Value;
use std::borrow::Cow;

const INPUT: &str = "input";
const TOOLS: &str = "tools";

/// `{...params, "input": [...], "tools": [...]}`.
///
/// `items` are copied as they are. `tools` is the JSON text of a list; tools among `params`, which
/// the server runs itself, come behind them.
///
/// ```
/// use orlop_providers::responses::request::body;
/// use orlop_types::Map;
/// let params = Map::from_iter([("model".to_owned(), "m".into())]);
/// let hello = r#"{"type":"message","role":"user","content":"hi"}"#;
/// assert_eq!(
///     body(&params, &[hello.into()], None),
///     r#"{"model":"m","input":[{"type":"message","role":"user","content":"hi"}]}"#
/// );
/// ```
pub fn body(params: &Map, items: &[Cow<'_, str>], tools: Option<&str>) -> Bytes {
    let fields = fields(params, |key| matches!(key, INPUT | TOOLS));
    let tools = all_tools(params, tools);
    let size = items.iter().map(|item| item.len() + 1).sum::<usize>()
        + fields.len()
        + tools.as_ref().map_or(0, |tools| tools.len() + 9)
        + 12;
    let mut out = String::with_capacity(size);
    out.push('{');
    out.push_str(&fields);
    out.push_str("\"input\":[");
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        out.push_str(item);
    }
    out.push(']');
    if let Some(tools) = tools {
        out.push_str(",\"tools\":");
        out.push_str(&tools);
    }
    out.push('}');
    out.into()
}

/// The tools that are run here, and then those of the server.
fn all_tools<'a>(params: &Map, here: Option<&'a str>) -> Option<Cow<'a, str>> {
    let there = params.get(TOOLS).and_then(Value::as_array).filter(|tools| !tools.is_empty());
    let open = here.and_then(|tools| tools.trim_end().strip_suffix(']'));
    match (open, there) {
        (Some(open), Some(there)) => {
            let mut tools = open.to_owned();
            for tool in there {
                if !tools.ends_with('[') {
                    tools.push(',');
                }
                tools.push_str(&tool.to_string());
            }
            Some((tools + "]").into())
        }
        (None, Some(there)) => Some(Value::from(there.clone()).to_string().into()),
        (_, None) => here.map(Cow::Borrowed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn params(value: Value) -> Map {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn everything_is_copied_as_it_is() {
        let params =
            params(json!({"model": "a\"b", "input": [1], "_metadata": {}, "store": false}));
        let items = [r#"{"n":1.0}"#.into(), r#"{"s":"\u00e9"}"#.into()];
        assert_eq!(
            body(&params, &items, Some(r#"[{"type":"function"}]"#)),
            r#"{"model":"a\"b","store":false,"input":[{"n":1.0},{"s":"\u00e9"}],"tools":[{"type":"function"}]}"#
        );
    }

    #[test]
    fn tools_of_the_server_come_behind_those_run_here() {
        let params = params(json!({"tools": [{"type": "web_search"}, {"type": "x"}]}));
        for (here, expected) in [
            (Some(r#"[{"n":1.0}]"#), r#"[{"n":1.0},{"type":"web_search"},{"type":"x"}]"#),
            (Some("[]"), r#"[{"type":"web_search"},{"type":"x"}]"#),
            (None, r#"[{"type":"web_search"},{"type":"x"}]"#),
        ] {
            let body = body(&params, &[], here);
            assert_eq!(body, format!(r#"{{"input":[],"tools":{expected}}}"#));
        }
    }

    #[test]
    fn one_allocation_is_enough() {
        let items = vec![Cow::Owned("x".repeat(50)); 20];
        let body = body(&params(json!({"model": "m", "stream": true})), &items, Some("[]"));
        let written = Vec::from(body);
        assert!(written.capacity() < written.len() + 16, "{}", written.capacity());
    }
}
