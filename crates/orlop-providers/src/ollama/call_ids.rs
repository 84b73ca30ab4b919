//! Ids for tool calls of servers that give none. The same call has the same id whenever it is
//! read, so a result finds its call again; two calls have different ones, because the time of
//! their answers is a part of them.

use orlop_types::{Map, NativeItem, Value};

/// The internal metadata that holds the ids of an item's calls.
pub(super) const CALL_IDS: &str = "call_ids";

/// The id that a call has already.
pub(super) fn given(call: &Value) -> Option<&str> {
    call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty())
}

/// An id for the call number `index` of an answer: `seed` is its time, `call` the call's text.
pub(super) fn made(seed: &str, index: usize, call: &str) -> String {
    // FNV-1a: small, and the same in every version of Orlop.
    let bytes = seed.bytes().chain([0]).chain(call.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("call_{hash:016x}_{index}")
}

/// The calls of an item, each with an id.
pub(super) fn with_ids(item: &NativeItem) -> Vec<Map> {
    let held = item.metadata().get(CALL_IDS);
    let calls = item.get("tool_calls").and_then(Value::as_array);
    let with_id = |(index, call): (usize, &Value)| {
        let mut fields = call.as_object()?.clone();
        if given(call).is_none() {
            let kept = held.and_then(|ids| ids.get(index)?.as_str()).map(str::to_owned);
            let id = kept.unwrap_or_else(|| made("", index, item.wire()));
            fields.shift_remove("id");
            fields.shift_insert(0, "id".to_owned(), id.into());
        }
        Some(fields)
    };
    calls.into_iter().flatten().enumerate().filter_map(with_id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ids(item: &NativeItem) -> Vec<String> {
        with_ids(item).iter().map(|call| call["id"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_given_id_stays_a_kept_one_counts_and_others_are_made() {
        let call = json!({"function": {"name": "f", "arguments": {}}});
        let named = json!({"id": "a", "function": {"name": "f", "arguments": {}}});
        let item = NativeItem::from(json!({"role": "assistant", "tool_calls": [named, call, call],
            "_metadata": {CALL_IDS: ["x", "b"]}}));
        let ids = ids(&item);
        assert_eq!(ids[..2], ["a", "b"]);
        assert!(ids[2].starts_with("call_") && ids[2].ends_with("_2"), "{ids:?}");
        assert_eq!(with_ids(&item)[1]["function"], call["function"]);
    }

    #[test]
    fn made_ids_are_the_same_each_time_and_differ_by_answer_and_place() {
        assert_eq!(made("t", 0, "{}"), "call_caa652ee6db26561_0");
        let all = [made("t", 0, "a"), made("t", 1, "a"), made("u", 0, "a"), made("t", 0, "b")];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        let again = |call: Value| NativeItem::from(json!({"tool_calls": [call, call]}));
        let call = json!({"id": "", "function": {"name": "f"}});
        assert_eq!(ids(&again(call.clone())), ids(&again(call)));
    }
}
