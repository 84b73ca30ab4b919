//! How much of the context window a conversation takes: what the model server counted last, and an
//! estimate of what came after.

use super::NAME;
use orlop_core::{Message, NativeItem, Seq, Session, Value};

/// How many bytes of text make a token, roughly.
const BYTES: u64 = 4;
/// What an image or a file takes, roughly.
const PART: u64 = 1_500;
/// What a message takes beside its text.
const FRAME: u64 = 4;

/// The tokens of a text, roughly.
pub(super) fn estimate_text(text: &str) -> u64 {
    text.len() as u64 / BYTES
}

/// The tokens of a message, roughly.
pub(super) fn estimate(message: &Message) -> u64 {
    let text = estimate_text;
    let content = match message.content() {
        Value::String(said) => text(said),
        Value::Null => 0,
        other => text(&other.to_string()),
    };
    let calls: u64 =
        message.tool_calls().map(|call| text(&Value::Object(call.clone()).to_string())).sum();
    let parts: u64 = message
        .multipart_content()
        .iter()
        .map(|part| part.get("text").and_then(Value::as_str).map_or(PART, text))
        .sum();
    FRAME + content + calls + parts
}

/// The tokens of a session with this native history. Where the model server counts, that takes no
/// longer for a long one than for a short one.
pub(super) fn tokens(session: &Session, native: &Seq<NativeItem>) -> u64 {
    of_messages(session.messages().iter(), native, is_compacted(session))
}

/// The same with what is sent beside the messages, such as tools. A model server that counts has
/// counted it already.
pub(super) fn tokens_with(session: &Session, native: &Seq<NativeItem>, beside: u64) -> u64 {
    let is_counted = counted(native, is_compacted(session)).is_some();
    tokens(session, native) + if is_counted { 0 } else { beside }
}

fn is_compacted(session: &Session) -> bool {
    session.metadata().contains_key("compaction_count")
}

fn of_messages<'a>(
    messages: impl DoubleEndedIterator<Item = &'a Message>,
    native: &Seq<NativeItem>,
    is_compacted: bool,
) -> u64 {
    match counted(native, is_compacted) {
        Some((place, tokens)) => {
            let is_newer = |message: &&Message| {
                let places = message.native_indices().positions().unwrap_or_default();
                places.iter().min().is_some_and(|first| *first > place)
            };
            let newer: u64 = messages.rev().take_while(is_newer).map(estimate).sum();
            tokens + newer
        }
        None => messages.map(estimate).sum(),
    }
}

/// The newest count of the model server that is about this history: its place, and the tokens up to
/// there. What was counted before a compaction counts what is gone.
fn counted(native: &Seq<NativeItem>, is_compacted: bool) -> Option<(usize, u64)> {
    let (place, usage) = native
        .iter()
        .enumerate()
        .rev()
        .find_map(|(place, item)| Some((place, item.metadata().get("usage")?.as_object()?)))?;
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    let tokens = count("input_tokens")? + count("output_tokens").unwrap_or(0);
    let kept_to = |(place, item): (usize, &NativeItem)| {
        let kept = item.metadata().get(NAME)?.get("kept")?.as_u64()?;
        Some(place as u64 + kept)
    };
    let is_gone = is_compacted
        && native.iter().enumerate().rev().find_map(kept_to).is_some_and(|to| place as u64 <= to);
    (!is_gone).then_some((place, tokens))
}

#[cfg(test)]
mod tests {
    use super::*;
    use orlop_core::{Map, NativeIndices};
    use serde_json::json;

    fn item(metadata: Value) -> NativeItem {
        let metadata: Map = metadata.as_object().cloned().unwrap();
        NativeItem::from(json!({ "say": "x" })).with_metadata(metadata)
    }

    fn check(items: Vec<Value>, expected: u64) {
        let items: Vec<NativeItem> = items.into_iter().map(item).collect();
        let messages: Vec<Message> = (0..items.len())
            .map(|at| Message::user("12345678").with_native_indices(NativeIndices::new([at])))
            .collect();
        assert_eq!(of_messages(messages.iter(), &Seq::from(items), true), expected);
    }

    #[test]
    fn what_the_server_counted_is_trusted_and_the_rest_is_estimated() {
        let usage = json!({ "usage": { "input_tokens": 900, "output_tokens": 100 } });
        check(vec![json!({}), json!({})], 12);
        check(vec![json!({}), usage.clone()], 1_000);
        check(vec![json!({}), usage.clone(), json!({})], 1_006);
        let snapshot = |kept: u64| json!({ "compaction": { "kept": kept } });
        check(vec![snapshot(1), usage.clone(), json!({})], 18);
        check(vec![snapshot(1), json!({}), usage], 1_000);
    }

    #[test]
    fn files_count_as_such_and_not_by_their_bytes() {
        let part = |part: Value| part.as_object().cloned().unwrap();
        let image = part(json!({ "type": "image", "data": "x".repeat(100_000) }));
        let text = part(json!({ "type": "text", "text": "x".repeat(400) }));
        let message = Message::user("").with_multipart_content(vec![image, text]);
        assert_eq!(estimate(&message), 4 + 1_500 + 100);
    }
}
