//! What the bodies of requests have in common.

use orlop_types::native::INTERNAL_METADATA;
use orlop_types::{Map, Value};

/// The settings of a request as the inside of a JSON object, each with a comma behind it: without
/// those that the body fills itself, and without `_metadata`, which never leaves the process.
pub(crate) fn fields(params: &Map, is_filled: impl Fn(&str) -> bool) -> String {
    let given = params.iter().filter(|(key, _)| *key != INTERNAL_METADATA && !is_filled(key));
    given.map(|(key, value)| format!("{}:{value},", Value::from(key.as_str()))).collect()
}
