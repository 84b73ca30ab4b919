//! Asking on from a response that the server stored, in place of sending the history again.
//!
//! That is right only while the history is still what the server has seen. So beside the last item
//! of a response stands, besides its id, a digest of all items up to it.

use orlop_types::{Map, NativeItem, Seq, Value};
use serde_json::json;
use std::hash::{DefaultHasher, Hash, Hasher};

const CONTEXT: &str = "context";

/// The response to ask on from.
#[derive(Debug, PartialEq)]
pub(super) struct Previous {
    pub(super) id: String,
    /// Where its own items begin.
    pub(super) answer: usize,
    /// Where the items begin that the server does not have yet.
    pub(super) start: usize,
}

impl Previous {
    /// The last response of the history, if nothing before its end was changed since and something
    /// follows it.
    pub(super) fn of<'a>(items: impl Iterator<Item = &'a NativeItem>) -> Option<Self> {
        let items: Vec<&NativeItem> = items.collect();
        let is_end = |item: &&NativeItem| item.metadata().contains_key("response_id");
        let end = items.iter().rposition(is_end)?;
        let metadata = items.get(end)?.metadata();
        let context = metadata.get(CONTEXT)?;
        let answer = usize::try_from(context.get("items")?.as_u64()?).ok()?;
        let digest = digest(items.iter().take(end + 1).copied());
        let same = context.get("digest")?.as_str()? == digest && answer <= end;
        let id = metadata.get("response_id")?.as_str()?.to_owned();
        (same && end + 1 < items.len()).then_some(Self { id, answer, start: end + 1 })
    }
}

/// `answer` with the digest that [`Previous::of`] asks for, given what it answers.
pub(super) fn remember(mut answer: Vec<NativeItem>, asked: &Seq<NativeItem>) -> Vec<NativeItem> {
    let digest = digest(asked.iter().chain(&answer));
    if let Some(last) = answer.pop() {
        let mut metadata: Map = last.metadata().clone();
        let context: Value = json!({ "items": asked.len(), "digest": digest });
        metadata.insert(CONTEXT.to_owned(), context);
        answer.push(last.with_metadata(metadata));
    }
    answer
}

fn digest<'a>(items: impl Iterator<Item = &'a NativeItem>) -> String {
    let mut hasher = DefaultHasher::new();
    items.for_each(|item| item.wire().hash(&mut hasher));
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(value: Value) -> NativeItem {
        value.into()
    }

    /// A question, an answer of two items, and what comes then.
    fn history() -> Seq<NativeItem> {
        let asked: Seq<NativeItem> =
            [item(json!({"role": "user", "content": "hi"}))].into_iter().collect();
        let facts = json!({"response_id": "resp_1", "finish_reason": "stop"});
        let answer = vec![
            item(json!({"type": "reasoning", "summary": []})),
            item(
                json!({"type": "message", "role": "assistant", "content": "a", "_metadata": facts}),
            ),
        ];
        let answer = remember(answer, &asked);
        let next = item(json!({"role": "user", "content": "and?"}));
        asked.iter().cloned().chain(answer).chain([next]).collect()
    }

    #[test]
    fn the_last_response_is_gone_on_from() {
        let expected = Previous { id: "resp_1".to_owned(), answer: 1, start: 3 };
        assert_eq!(Previous::of(history().iter()), Some(expected));
    }

    #[test]
    fn a_history_that_was_changed_is_sent_again() {
        for position in 0..3 {
            let items: Vec<NativeItem> = history().iter().cloned().collect();
            let mut changed = items.clone();
            let mut value = changed[position].to_json();
            value["x"] = true.into();
            changed[position] = value.into();
            assert_eq!(Previous::of(changed.iter()), None, "{position}");
            let mut shorter = items.clone();
            shorter.remove(position);
            assert_eq!(Previous::of(shorter.iter()), None, "{position}");
        }
    }

    #[test]
    fn without_a_response_or_anything_new_there_is_none() {
        let items: Vec<NativeItem> = history().iter().cloned().collect();
        assert_eq!(Previous::of(items[..3].iter()), None);
        assert_eq!(Previous::of(items[..1].iter()), None);
        // A response that nobody meant to go on from.
        let plain = item(json!({"role": "assistant", "_metadata": {"response_id": "r"}}));
        assert_eq!(Previous::of([&plain, &items[3]].into_iter()), None);
    }
}
