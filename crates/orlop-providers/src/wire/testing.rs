//! What the tests of all wires have in common: streams and items as text to compare.

use super::{Reader, Step, events};
use crate::secret::Secret;
use bytes::Bytes;
use expect_test::Expect;
use futures::executor::block_on;
use futures::{StreamExt, stream};
use orlop_types::{Message, NativeItem, Result, Value};
use proptest::prelude::*;

fn render(step: &Result<Step>) -> String {
    match step {
        Ok(Step::Partial(partial)) => serde_json::to_string(partial).unwrap(),
        Ok(Step::Final(items)) => {
            let items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
            format!("final {}", items.join("\n      "))
        }
        Err(error) => {
            let body = error.provider_body().map(|body| format!(" body {body}"));
            let body = body.unwrap_or_default();
            format!("{error:?} (retryable {}){body}", error.retryable())
        }
    }
}

/// The steps of an answer, one a line. The key is `key`.
pub(crate) fn steps<R: Reader>(chunks: Vec<Result<Bytes>>) -> String {
    let secret = Secret::new(["k", "ey"].concat());
    let steps = events::<R, _>(stream::iter(chunks)).with_secret(secret);
    let steps: Vec<_> = block_on(steps.collect());
    steps.iter().map(render).collect::<Vec<_>>().join("\n")
}

/// Checks the steps of a body, read at once and byte by byte.
pub(crate) fn check<R: Reader>(body: &str, expected: Expect) {
    let whole = steps::<R>(vec![Ok(Bytes::copy_from_slice(body.as_bytes()))]);
    let bytes = body.as_bytes().chunks(1).map(|byte| Ok(Bytes::copy_from_slice(byte)));
    assert_eq!(steps::<R>(bytes.collect()), whole, "byte by byte");
    expected.assert_eq(&whole);
}

/// Events of which each line is the data.
pub(crate) fn body_of(lines: &str) -> String {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| format!("event: x\ndata: {line}\n\n")).collect()
}

/// Bytes of a body that are other ones: where, and which.
pub(crate) type Damage = Vec<(prop::sample::Index, u8)>;

pub(crate) fn damage() -> impl Strategy<Value = Damage> {
    proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6)
}

/// Whatever happens to a body, its answer ends once.
pub(crate) fn ends_once<R: Reader>(
    body: &str,
    damage: Damage,
    size: usize,
) -> Result<(), TestCaseError> {
    let mut body = body.as_bytes().to_vec();
    for (at, byte) in damage {
        let at = at.index(body.len());
        body[at] = byte;
    }
    let chunks = body.chunks(size).map(|part| Ok(Bytes::copy_from_slice(part)));
    let steps = events::<R, _>(stream::iter(chunks.collect::<Vec<_>>()));
    let steps = block_on(steps.collect::<Vec<_>>());
    let ends = |step: &&Result<Step>| !matches!(step, Ok(Step::Partial(_)));
    prop_assert_eq!(steps.iter().filter(ends).count(), 1);
    prop_assert!(steps.last().is_some_and(|step| ends(&step)));
    Ok(())
}

/// [`Wire::from_native`](super::Wire::from_native) of a wire.
type FromNative = fn(&[NativeItem]) -> Vec<(Message, Vec<usize>)>;

/// Checks the messages that items amount to, with their positions.
pub(crate) fn check_from(from_native: FromNative, items: Value, expected: Expect) {
    let items: Vec<NativeItem> =
        items.as_array().unwrap().iter().cloned().map(NativeItem::from).collect();
    let seen: Vec<String> = from_native(&items)
        .into_iter()
        .map(|(message, positions)| format!("{positions:?} {}", message.to_json()))
        .collect();
    expected.assert_eq(&seen.join("\n"));
}
