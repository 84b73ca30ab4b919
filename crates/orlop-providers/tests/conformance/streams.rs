//! Streams in pieces, cut, slow and cancelled.

use crate::answers::{CALLS, assert_same};
use crate::stage::{Stage, Told, arguments, asked, shown, soon, stage};
use crate::subject::{Read, Subject};
use bytes::Bytes;
use futures::StreamExt;
use orlop_core::{
    CancelToken, CoreEvent, Error, ErrorClass, NativeItem, Partial, RequestOptions, RequestStream,
};
use orlop_testkit::Gate;
use orlop_testkit::mock_model::{Completion, Reply};
use orlop_testkit::scripted::texts;
use std::sync::Arc;

/// An answer with something of everything.
fn sample() -> Reply<Completion> {
    Reply::text(["Grü", "ße"])
        .reasoning("hm")
        .then_tool_calls([CALLS[0], CALLS[2]])
        .split_arguments(2)
        .interleaved()
}

fn bytes_of(subject: &Subject, reply: &Reply<Completion>) -> Bytes {
    reply.streamed(subject.http().api, subject.model)
}

/// Everything that was shown: text, reasoning, arguments.
fn all_shown(partials: &[Partial]) -> (String, String, Vec<String>) {
    let reasoning = partials.iter().map(|partial| partial.reasoning.as_str()).collect();
    (shown(partials), reasoning, arguments(partials))
}

fn wires(items: &[NativeItem]) -> Vec<&str> {
    items.iter().map(NativeItem::wire).collect()
}

pub(crate) async fn split_at_every_byte(subject: &Subject) {
    let (http, bytes) = (subject.http(), bytes_of(subject, &sample()));
    let whole = (http.read)(vec![Ok(bytes.clone())]).await;
    let items = whole.end.unwrap();
    let same = |read: Read, place: &str| {
        assert_eq!(all_shown(&read.partials), all_shown(&whole.partials), "split at {place}");
        assert_eq!(read.end.unwrap(), items, "split at {place}");
    };
    for place in 1..bytes.len() {
        let pieces = vec![Ok(bytes.slice(..place)), Ok(bytes.slice(place..))];
        same((http.read)(pieces).await, &place.to_string());
    }
    let single = (0..bytes.len()).map(|place| Ok(bytes.slice(place..=place)));
    same((http.read)(single.collect()).await, "every byte");

    // The same through a connection, a byte a write.
    let hi = asked("hi").await;
    let expected = stage(subject, [sample()]).await.streamed(&hi).await;
    let Told { response: expected, .. } = expected.map_err(|(_, error)| error).unwrap();
    let stage = stage(subject, []).await;
    let script = bytes.iter().fold(Reply::script(), |script, byte| script.raw([*byte]));
    stage.server().reply(script);
    let told = stage.streamed(&hi).await.map_err(|(_, error)| error).unwrap();
    assert_same(&told.response.session, &expected.session);
}

pub(crate) async fn cut_at_every_byte(subject: &Subject) {
    let (http, bytes) = (subject.http(), bytes_of(subject, &sample()));
    let whole = (http.read)(vec![Ok(bytes.clone())]).await;
    let items = whole.end.unwrap();
    let (text, reasoning, _) = all_shown(&whole.partials);
    let mut complete = 0;
    for place in 0..bytes.len() {
        let broken = || Err(Error::provider("broken").with_retryable(true));
        let start = bytes.slice(..place);
        for pieces in [vec![Ok(start.clone())], vec![Ok(start.clone()), broken()]] {
            let read = (http.read)(pieces).await;
            let (shown, thought, _) = all_shown(&read.partials);
            assert!(text.starts_with(&shown) && reasoning.starts_with(&thought), "cut at {place}");
            match read.end {
                // Only what it cost may be lost.
                Ok(read) => {
                    assert_eq!(wires(&read), wires(&items), "cut at {place}");
                    complete += 1;
                }
                Err(error) => {
                    assert!(error.retryable(), "cut at {place}: {error}");
                    assert_eq!(error.class(), ErrorClass::Provider, "cut at {place}: {error}");
                }
            }
        }
    }
    assert!(complete < bytes.len(), "{complete} cuts of {} went unnoticed", bytes.len());
}

pub(crate) async fn cut_connection(subject: &Subject) {
    let bytes = bytes_of(subject, &sample());
    let hi = asked("hi").await;
    let expected = stage(subject, [sample()]).await.streamed(&hi).await;
    let Told { response: expected, .. } = expected.map_err(|(_, error)| error).unwrap();
    let stage = stage(subject, []).await;
    stage.server().otherwise(|_| Reply::script().cut());
    let ends: Vec<usize> = bytes
        .windows(2)
        .enumerate()
        .filter(|(_, two)| two[0] == b'\n')
        .map(|(place, _)| place + 1)
        .collect();
    assert!(ends.len() > 3);
    for place in ends {
        stage.server().reply(Reply::script().raw(&bytes[..place]).cut());
        match stage.streamed(&hi).await {
            Ok(told) => {
                assert_eq!(texts(&told.response.session), texts(&expected.session));
            }
            Err((_, error)) => {
                assert!(error.message().starts_with("the answer ended early"), "{place}: {error}");
                assert!(error.retryable(), "cut at {place}: {error}");
            }
        }
    }
}

fn start(stage: &Stage, session: &orlop_core::Session, token: &CancelToken) -> RequestStream {
    let options =
        RequestOptions { cancellation: Some(Arc::new(token.clone())), ..RequestOptions::default() };
    stage.core.send_request_stream(session, &stage.config, options)
}

async fn next_text(events: &mut RequestStream) -> String {
    match soon(events.next()).await {
        Some(Ok(CoreEvent::Partial(partial))) => partial.content,
        other => panic!("no text: {other:?}"),
    }
}

pub(crate) async fn slow_stream(subject: &Subject) {
    let gates = [Gate::new(), Gate::new()];
    let reply = Reply::text(["one "]).wait(&gates[0]).then_text(["two "]).wait(&gates[1]);
    let stage = stage(subject, [reply.then_text(["three"])]).await;
    let mut events = start(&stage, &asked("hi").await, &CancelToken::new());
    // The server stands at a closed gate while the piece before it is shown.
    assert_eq!(next_text(&mut events).await, "one ");
    gates[0].open();
    assert_eq!(next_text(&mut events).await, "two ");
    gates[1].open();
    assert_eq!(next_text(&mut events).await, "three");
    let Some(Ok(CoreEvent::Final(response))) = soon(events.next()).await else { panic!("no end") };
    assert_eq!(texts(&response.session), "hi|one two three");
    assert_eq!(stage.server().disconnects(), 0);
}

/// A stage whose first answer stops at a gate after `one`, with the stream that has shown it.
async fn held(subject: &Subject, token: &CancelToken) -> (Stage, RequestStream) {
    let gate = Gate::new();
    let stopped = Reply::text(["one"]).wait(&gate).then_text(["two"]);
    let stage = stage(subject, [stopped, Reply::text(["ok"])]).await;
    let mut events = start(&stage, &asked("hi").await, token);
    assert_eq!(next_text(&mut events).await, "one");
    soon(gate.reached()).await;
    assert_eq!(stage.server().disconnects(), 0);
    (stage, events)
}

async fn goes_on(stage: &Stage) {
    soon(stage.server().wait_for_disconnect()).await;
    let response = stage.whole(&asked("hi").await).await.unwrap();
    assert_eq!(texts(&response.session), "hi|ok");
}

pub(crate) async fn cancel_stream(subject: &Subject) {
    let token = CancelToken::new();
    let (stage, mut events) = held(subject, &token).await;
    token.cancel();
    let error = soon(events.next()).await.unwrap().unwrap_err();
    assert_eq!(error.class(), ErrorClass::Cancelled);
    assert!(soon(events.next()).await.is_none());
    goes_on(&stage).await;
}

pub(crate) async fn dropped_stream(subject: &Subject) {
    let (stage, events) = held(subject, &CancelToken::new()).await;
    drop(events);
    goes_on(&stage).await;
}

pub(crate) async fn cancel_whole(subject: &Subject) {
    let (gate, token) = (Gate::new(), CancelToken::new());
    let replies = [Reply::text(["never"]).hold(&gate), Reply::text(["ok"])];
    let stage = stage(subject, replies).await;
    let hi = asked("hi").await;
    let options =
        RequestOptions { cancellation: Some(Arc::new(token.clone())), ..RequestOptions::default() };
    let request = stage.core.send_request(&hi, &stage.config, options);
    let cancel = async {
        soon(gate.reached()).await;
        token.cancel();
    };
    let (response, ()) = futures::join!(soon(request), cancel);
    assert_eq!(response.unwrap_err().class(), ErrorClass::Cancelled);
    goes_on(&stage).await;
}
