//! Ids of calls to which the server gave none. They are kept beside the item and never sent.

use orlop_types::{Map, NativeItem, Value};
use std::hash::{BuildHasher, RandomState};

/// Where an item keeps the ids of its calls, in order; null for a call that has its own.
pub(super) const CALL_IDS: &str = "call_ids";

/// What the ids begin with that were made here.
const MADE: &str = "orlop-call-";

/// Whether an id was made here and means nothing to the server.
pub(super) fn is_made(id: &str) -> bool {
    id.starts_with(MADE)
}

/// The id of the call number `index` of what `seed` says.
pub(super) fn made(seed: &str, index: usize) -> String {
    format!("{MADE}{:016x}-{index}", fnv(seed))
}

/// Something to make ids of where the server names nothing that is unique.
pub(super) fn random_seed() -> String {
    RandomState::new().hash_one(0).to_string()
}

/// FNV-1a: the same in every version, as ids have to be.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The function call of a part.
pub(super) fn function_call(part: &Map) -> Option<&Map> {
    part.get("functionCall")?.as_object()
}

/// The id of each call of an item: the server's, the one kept beside it, or one made of its text.
pub(super) fn of_item<'a>(
    item: &NativeItem,
    calls: impl Iterator<Item = &'a Map>,
) -> impl Iterator<Item = String> {
    let kept = item.metadata().get(CALL_IDS).and_then(Value::as_array);
    calls.enumerate().map(move |(index, part)| {
        let own = function_call(part).and_then(|call| call.get("id")?.as_str());
        let kept = || kept?.get(index)?.as_str();
        match own.filter(|id| !id.is_empty()).or_else(kept) {
            Some(id) => id.to_owned(),
            None => made(item.wire(), index),
        }
    })
}
