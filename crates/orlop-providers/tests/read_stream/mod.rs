//! What a recorded stream comes to.

use futures::executor::block_on;
use futures::{Stream, StreamExt};
use orlop_providers::wire::Step;
use orlop_types::{Error, NativeItem, Result, Value};
use std::collections::BTreeMap;

/// What a stream came to.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    /// Per call: id, name and arguments, added up from the fragments.
    pub(crate) calls: BTreeMap<u64, (String, String, String)>,
    pub(crate) end: Result<Vec<NativeItem>, Error>,
}

/// Reads a stream to its end, behind which nothing may follow.
pub(crate) fn read(steps: impl Stream<Item = Result<Step>>) -> Read {
    let (mut text, mut reasoning) = (String::new(), String::new());
    let mut calls: BTreeMap<u64, (String, String, String)> = BTreeMap::new();
    let mut end = None;
    for step in block_on(steps.collect::<Vec<_>>()) {
        assert!(end.is_none(), "nothing follows the end");
        match step {
            Ok(Step::Partial(partial)) => {
                assert!(!partial.is_empty());
                text.push_str(&partial.content);
                reasoning.push_str(&partial.reasoning);
                for call in &partial.tool_calls {
                    let held = calls.entry(call["index"].as_u64().unwrap()).or_default();
                    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                    held.0.push_str(&word(&call["id"]));
                    held.1.push_str(&word(&call["function"]["name"]));
                    held.2.push_str(call["function"]["arguments"].as_str().unwrap());
                }
            }
            Ok(Step::Final(items)) => end = Some(Ok(items)),
            Err(error) => end = Some(Err(error)),
        }
    }
    Read { text, reasoning, calls, end: end.expect("a stream ends in items or an error") }
}
