//! What the tests of all wires have in common: events, streams and items as text to compare.

use super::{Reader, Step, events};
use crate::secret::Secret;
use crate::sse::{Framing, SseEvent};
use bytes::Bytes;
use expect_test::Expect;
use futures::executor::block_on;
use futures::{StreamExt, stream};
use orlop_types::{Error, Message, NativeItem, Result, Value};
use proptest::prelude::*;

/// The events of `chunks`, one a line: `event|data`, errors as `!message`, and `end` before what
/// only the end completes.
pub(crate) fn framed<'a>(
    mut parser: impl Framing,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<String> {
    fn line(event: SseEvent<'_>) -> String {
        match event.event {
            Some(name) => format!("{name}|{:?}", event.data),
            None => format!("{:?}", event.data),
        }
    }
    let mut seen = Vec::new();
    for chunk in chunks {
        parser.push(chunk);
        loop {
            match parser.next_event() {
                Ok(Some(event)) => seen.push(line(event)),
                Ok(None) => break,
                Err(error) => {
                    seen.push(format!("!{}", error.message()));
                    return seen;
                }
            }
        }
    }
    if let Ok(Some(event)) = parser.finish() {
        seen.push(format!("end {}", line(event)));
    }
    seen
}

/// Checks the events of an input, read at once and byte by byte.
pub(crate) fn check_framed<F: Framing + Default>(input: impl AsRef<[u8]>, expected: Expect) {
    let whole = framed(F::default(), [input.as_ref()]);
    assert_eq!(framed(F::default(), input.as_ref().chunks(1)), whole, "byte by byte");
    expected.assert_eq(&whole.join("\n"));
}

/// `bytes` cut at `cuts`, each taken modulo the length.
pub(crate) fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = cuts.iter().map(|at| at % (bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let mut start = 0;
    ends.into_iter().map(|end| &bytes[std::mem::replace(&mut start, end)..end]).collect()
}

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

/// Checks what a connection that breaks leaves of an answer: behind `open`, and behind `stop`.
pub(crate) fn check_break<R: Reader>(open: &str, stop: &str, early: Expect, late: Expect) {
    let text = |text: &str| Ok(Bytes::copy_from_slice(text.as_bytes()));
    let broken = || Err(Error::provider("the answer ended early"));
    early.assert_eq(&steps::<R>(vec![text(open), broken()]));
    late.assert_eq(&steps::<R>(vec![text(open), text(stop), broken()]));
}

/// The fragments that a body shows, one a line, and what it ends in.
pub(crate) fn shown<R: Reader>(body: String) -> (String, Result<Vec<NativeItem>>) {
    let steps = events::<R, _>(stream::iter([Ok(Bytes::from(body))]));
    let (mut seen, mut end) = (String::new(), None);
    for step in block_on(steps.collect::<Vec<_>>()) {
        assert!(end.is_none(), "nothing follows the end: {step:?}");
        match step {
            Ok(Step::Partial(partial)) => seen.push_str(&format!("{partial:?}\n")),
            Ok(Step::Final(items)) => end = Some(Ok(items)),
            Err(error) => end = Some(Err(error)),
        }
    }
    (seen, end.expect("an answer ends in items or an error"))
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

/// The messages of a list.
pub(crate) fn messages(list: Value) -> Vec<Message> {
    let list = list.as_array().unwrap().iter().cloned();
    list.map(|message| Message::from_json(message).unwrap()).collect()
}

/// The items of a list.
pub(crate) fn items(list: Value) -> Vec<NativeItem> {
    list.as_array().unwrap().iter().cloned().map(NativeItem::from).collect()
}

/// Checks the items that a list of messages amounts to.
pub(crate) fn check_to(
    to_native: fn(&[Message]) -> Vec<NativeItem>,
    list: Value,
    expected: Expect,
) {
    let seen = to_native(&messages(list));
    expected.assert_eq(&seen.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>().join("\n"));
}

/// [`Wire::from_native`](super::Wire::from_native) of a wire.
type FromNative = fn(&[NativeItem]) -> Vec<(Message, Vec<usize>)>;

/// Checks the messages that a list of items amounts to, with their positions.
pub(crate) fn check_from(from_native: FromNative, list: Value, expected: Expect) {
    let seen: Vec<String> = from_native(&items(list))
        .into_iter()
        .map(|(message, positions)| format!("{positions:?} {}", message.to_json()))
        .collect();
    expected.assert_eq(&seen.join("\n"));
}
