//! The body of a request, copied together from texts that exist already.

use super::assemble::open_container;
use super::fields::{Fields, push_string, quoted};
use super::turns::{Ended, Turns};
use bytes::Bytes;
use orlop_types::native::INTERNAL_METADATA;
use orlop_types::{Map, NativeItem, Value};

/// How long the server keeps what it read, so that the next request costs less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cache {
    /// Not at all.
    Off,
    /// For minutes, as is usual.
    #[default]
    Minutes,
    /// For an hour, at a higher price.
    Hour,
}

impl Cache {
    /// The mark behind which the server caches.
    fn mark(self) -> Option<&'static str> {
        match self {
            Self::Off => None,
            Self::Minutes => Some(r#"{"type":"ephemeral"}"#),
            Self::Hour => Some(r#"{"type":"ephemeral","ttl":"1h"}"#),
        }
    }
}

const MARK: &str = "cache_control";

/// `{...params, "messages": [...], "system": ..., "tools": [...], "cache_control": ...}`.
///
/// Items and tools are copied as they are, so the cost is that of their bytes; `tools` is the JSON
/// text of a list, to which the tools of `params` are added. Instructions go into `system`, and
/// messages are put together where the API insists on it. Nothing is marked for the cache if a
/// mark is there already: then the caller knows better.
///
/// ```
/// use orlop_providers::anthropic::request::{Cache, body};
/// use orlop_types::{Map, NativeItem};
/// let brief = NativeItem::from_text(r#"{"role":"system","content":"be brief"}"#)?;
/// let hello = NativeItem::from_text(r#"{"role":"user","content":"hi"}"#)?;
/// let params = Map::from_iter([("model".to_owned(), "m".into())]);
/// assert_eq!(
///     body(&params, [&brief, &hello], None, Cache::Off),
///     r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"system":"be brief"}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn body<'a, M>(params: &Map, items: M, tools: Option<&str>, cache: Cache) -> Bytes
where
    M: IntoIterator<Item = &'a NativeItem>,
    M::IntoIter: Clone,
{
    let items = items.into_iter();
    let tools = all_tools(tools, params.get("tools"));
    let size = items.clone().map(|item| item.wire().len() + 1).sum::<usize>();
    let mut out = String::with_capacity(size + tools.as_ref().map_or(0, String::len) + 1024);
    out.push('{');
    for (key, value) in params {
        match key.as_str() {
            "messages" | "system" | "tools" | INTERNAL_METADATA => continue,
            // The API refuses a choice among no tools.
            "tool_choice" if tools.is_none() => continue,
            _ => {}
        }
        push_string(&mut out, key);
        out.push_str(&format!(":{value},"));
    }
    out.push_str("\"messages\":[");
    let mut turns = Turns::new(&mut out);
    items.for_each(|item| turns.push(item));
    let Ended { instructions, answer, marked } = turns.end();
    out.push(']');
    let system = system(params.get("system"), &instructions);
    let texts = [system.as_deref(), tools.as_deref()];
    let marked = marked
        || params.contains_key(MARK)
        || texts.into_iter().flatten().any(|text| text.contains("\"cache_control\":"));
    let mark = cache.mark().filter(|_| !marked);
    let has_system = system.is_some();
    if let Some(system) = system {
        out.push_str(",\"system\":");
        push_marked(&mut out, &system, mark);
    }
    if let Some(tools) = tools {
        out.push_str(",\"tools\":");
        // The server reads tools before instructions, so one mark does for both. Tools that it
        // loads later must not have one.
        let is_last = !has_system && !tools.contains("\"defer_loading\":true");
        push_marked(&mut out, &tools, mark.filter(|_| is_last));
    }
    if let Some(mark) = mark {
        out.push_str(&format!(",\"{MARK}\":{mark}"));
    }
    let container = answer.and_then(open_container).filter(|_| !params.contains_key("container"));
    if let Some(id) = container {
        out.push_str(&format!(",\"container\":{}", quoted(id)));
    }
    out.push('}');
    out.into()
}

/// The text of one list of tools out of two.
fn all_tools(tools: Option<&str>, more: Option<&Value>) -> Option<String> {
    let more = more.filter(|more| more.is_array()).map(Value::to_string);
    let inside = |list: &str| Some(list.strip_prefix('[')?.strip_suffix(']')?.to_owned());
    let lists = [tools.and_then(inside), more.as_deref().and_then(inside)];
    let lists: Vec<String> =
        lists.into_iter().flatten().filter(|list| !list.trim().is_empty()).collect();
    (!lists.is_empty()).then(|| format!("[{}]", lists.join(",")))
}

/// The text of all instructions: a string if there is one, else a list of blocks.
fn system(own: Option<&Value>, items: &[&NativeItem]) -> Option<String> {
    let own = own.map(Value::to_string);
    let contents: Vec<&str> = own
        .as_deref()
        .into_iter()
        .chain(items.iter().filter_map(|item| content(item)))
        .filter(|content| !["\"\"", "[]", "null"].contains(content))
        .collect();
    match contents.as_slice() {
        [] => None,
        [only] => Some((*only).to_owned()),
        several => {
            let blocks: Vec<String> = several.iter().map(|content| blocks(content)).collect();
            Some(format!("[{}]", blocks.join(",")))
        }
    }
}

/// The text of an item's content.
fn content(item: &NativeItem) -> Option<&str> {
    let Fields(fields) = serde_json::from_str(item.wire()).ok()?;
    fields.into_iter().find_map(|(key, value)| (key == "content").then(|| value.get()))
}

/// The blocks of a content, without the brackets around them.
fn blocks(content: &str) -> String {
    match content.strip_prefix('[').and_then(|content| content.strip_suffix(']')) {
        Some(blocks) => blocks.to_owned(),
        None => format!(r#"{{"type":"text","text":{content}}}"#),
    }
}

/// Appends a content or a list, with a mark in its last object.
fn push_marked(out: &mut String, text: &str, mark: Option<&str>) {
    let Some(mark) = mark else { return out.push_str(text) };
    let blocks = blocks(text);
    match blocks.strip_suffix('}') {
        Some(blocks) => out.push_str(&format!("[{blocks},\"{MARK}\":{mark}}}]")),
        None => out.push_str(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn items(items: Value) -> Vec<NativeItem> {
        items.as_array().unwrap().iter().cloned().map(NativeItem::from).collect()
    }

    fn check(params: Value, list: Value, tools: Option<&str>, cache: Cache, expected: Expect) {
        let body = body(params.as_object().unwrap(), &items(list), tools, cache);
        assert!(serde_json::from_slice::<Value>(&body).is_ok());
        expected.assert_eq(std::str::from_utf8(&body).unwrap());
    }

    fn hi() -> Value {
        json!({"role": "user", "content": "hi"})
    }

    #[test]
    fn instructions_stand_at_the_top() {
        let first = json!({"role": "system", "content": "a\"b"});
        let second = json!({"content": [{"type": "text", "text": "c"}], "role": "system"});
        check(
            json!({}),
            json!([first, hi()]),
            None,
            Cache::Off,
            expect![[r#"{"messages":[{"role":"user","content":"hi"}],"system":"a\"b"}"#]],
        );
        check(
            json!({}),
            json!([first, hi(), second]),
            None,
            Cache::Off,
            expect![[
                r#"{"messages":[{"role":"user","content":"hi"}],"system":[{"type":"text","text":"a\"b"},{"type":"text","text":"c"}]}"#
            ]],
        );
        check(
            json!({"system": "own"}),
            json!([first, hi()]),
            None,
            Cache::Off,
            expect![[
                r#"{"messages":[{"role":"user","content":"hi"}],"system":[{"type":"text","text":"own"},{"type":"text","text":"a\"b"}]}"#
            ]],
        );
        check(
            json!({}),
            json!([{"role": "system", "content": ""}, hi()]),
            None,
            Cache::Off,
            expect![[r#"{"messages":[{"role":"user","content":"hi"}]}"#]],
        );
    }

    #[test]
    fn the_end_of_what_stays_the_same_is_marked_for_the_cache() {
        let system = json!({"role": "system", "content": "be brief"});
        let tools = Some(r#"[{"name":"f"},{"name":"g"}]"#);
        check(
            json!({}),
            json!([system, hi()]),
            tools,
            Cache::Minutes,
            expect![[
                r#"{"messages":[{"role":"user","content":"hi"}],"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"f"},{"name":"g"}],"cache_control":{"type":"ephemeral"}}"#
            ]],
        );
        check(
            json!({}),
            json!([hi()]),
            tools,
            Cache::Hour,
            expect![[
                r#"{"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"f"},{"name":"g","cache_control":{"type":"ephemeral","ttl":"1h"}}],"cache_control":{"type":"ephemeral","ttl":"1h"}}"#
            ]],
        );
        check(
            json!({}),
            json!([hi()]),
            Some(r#"[{"name":"f","defer_loading":true}]"#),
            Cache::Minutes,
            expect![[
                r#"{"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"f","defer_loading":true}],"cache_control":{"type":"ephemeral"}}"#
            ]],
        );
    }

    #[test]
    fn marks_of_others_are_not_added_to() {
        let mark = json!({"type": "ephemeral"});
        let marked = json!({"role": "user", "content": [{"type": "text", "text": "a", "cache_control": mark}]});
        let system = json!({"role": "system", "content": [{"type": "text", "text": "a", "cache_control": mark}]});
        check(
            json!({}),
            json!([marked]),
            None,
            Cache::Minutes,
            expect![[
                r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}"#
            ]],
        );
        check(
            json!({}),
            json!([system, hi()]),
            None,
            Cache::Minutes,
            expect![[
                r#"{"messages":[{"role":"user","content":"hi"}],"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}"#
            ]],
        );
        check(
            json!({"cache_control": mark}),
            json!([hi()]),
            None,
            Cache::Hour,
            expect![[
                r#"{"cache_control":{"type":"ephemeral"},"messages":[{"role":"user","content":"hi"}]}"#
            ]],
        );
        // Words about marks are none.
        let words = json!({"role": "system", "content": "{\"cache_control\":1}"});
        check(
            json!({}),
            json!([words, hi()]),
            None,
            Cache::Minutes,
            expect![[
                r#"{"messages":[{"role":"user","content":"hi"}],"system":[{"type":"text","text":"{\"cache_control\":1}","cache_control":{"type":"ephemeral"}}],"cache_control":{"type":"ephemeral"}}"#
            ]],
        );
    }

    #[test]
    fn tools_of_the_server_stand_with_the_others() {
        let params = json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}], "tool_choice": {"type": "auto"}});
        check(
            params.clone(),
            json!([hi()]),
            Some(r#"[{"name":"f"}]"#),
            Cache::Off,
            expect![[
                r#"{"tool_choice":{"type":"auto"},"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"f"},{"type":"web_search_20250305","name":"web_search"}]}"#
            ]],
        );
        check(
            params,
            json!([hi()]),
            None,
            Cache::Off,
            expect![[
                r#"{"tool_choice":{"type":"auto"},"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"web_search_20250305","name":"web_search"}]}"#
            ]],
        );
        check(
            json!({"tool_choice": {"type": "any"}, "_metadata": {}, "messages": [1]}),
            json!([hi()]),
            None,
            Cache::Off,
            expect![[r#"{"messages":[{"role":"user","content":"hi"}]}"#]],
        );
    }

    #[test]
    fn an_unfinished_answer_goes_on_in_its_container() {
        let answer = |reason: &str| {
            json!({"role": "assistant", "content": "a", "_metadata": {
                "finish_reason": reason, "message": {"container": {"id": "c1"}}}})
        };
        check(
            json!({}),
            json!([hi(), answer("pause")]),
            None,
            Cache::Off,
            expect![[
                r#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"a"}],"container":"c1"}"#
            ]],
        );
        check(
            json!({"container": "own"}),
            json!([hi(), answer("tool_calls"), hi()]),
            None,
            Cache::Off,
            expect![[
                r#"{"container":"own","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"a"},{"role":"user","content":"hi"}]}"#
            ]],
        );
        check(
            json!({}),
            json!([hi(), answer("stop"), hi()]),
            None,
            Cache::Off,
            expect![[
                r#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"a"},{"role":"user","content":"hi"}]}"#
            ]],
        );
    }
}
