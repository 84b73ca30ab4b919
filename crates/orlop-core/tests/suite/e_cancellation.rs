//! Ending a request early: the cancellation token, the callback that tells the provider, and
//! what is let go.

use futures::future::BoxFuture;
use futures::stream::{self};
use futures::{FutureExt, StreamExt};
use orlop_core::hooks::{Chunk, FinalizeChange, FinalizeInput, RequestChange, RequestInput};
use orlop_core::*;
use orlop_testkit::Gate;
use orlop_testkit::scripted::*;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Wake, Waker};

async fn asked() -> Session {
    plain_session(&[Message::user("hi")]).await.unwrap()
}

fn options(id: Option<&str>, token: Option<&CancelToken>) -> RequestOptions {
    RequestOptions {
        request_id: id.map(str::to_owned),
        cancellation: token.map(|token| Arc::new(token.clone()) as Arc<dyn Cancellation>),
        ..RequestOptions::default()
    }
}

struct OnDrop(Log);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.add("stream dropped");
    }
}

/// A core whose provider says "a" and never anything again; the log hears of cancellations and
/// when its stream is let go.
fn endless() -> (Core, Log) {
    let log = Log::new();
    let (streams, cancels) = (log.clone(), log.clone());
    let provider = Over::new(ScriptedProvider::default())
        .named("endless")
        .stream_api(move |_, _, _| {
            let held = OnDrop(streams.clone());
            let said = stream::iter([Ok(Chunk::partial(Partial::text("a")))]);
            Some(said.chain(stream::pending()).inspect(move |_| _ = &held).boxed())
        })
        .cancel_request(move |input| {
            cancels.add(format!("cancel({})", input.request_id));
            Ok(())
        });
    let mut core = Core::new();
    core.register_provider(Arc::new(provider), vec![]).unwrap();
    (core, log)
}

/// How many callbacks the token has while the provider is at work, and what cancelling tells it.
async fn check_callback(id: Option<&str>, with_token: bool, count: usize, told: &[&str]) {
    let (core, log) = endless();
    let token = CancelToken::new();
    let given = with_token.then_some(&token);
    let mut events = core.send_request_stream(&asked().await, &Config::empty(), options(id, given));
    assert!(matches!(events.next().await, Some(Ok(CoreEvent::Partial(_)))));
    assert_eq!(token.callback_count(), count);
    token.cancel();
    assert_eq!(log.take(), told);
}

#[tokio::test] // E-04
async fn the_provider_is_told_if_both_id_and_token_are_given() {
    check_callback(Some("r1"), true, 1, &["cancel(r1)"]).await;
    check_callback(None, true, 0, &[]).await;
    check_callback(Some("r1"), false, 0, &[]).await;
    check_callback(None, false, 0, &[]).await;
}

/// A token that takes no callbacks, or does not give them back.
struct Stubborn {
    token: CancelToken,
    refuses_to_add: bool,
}

impl Cancellation for Stubborn {
    fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }
    fn cancelled(&self) -> BoxFuture<'static, ()> {
        self.token.cancelled()
    }
    fn add_callback(&self, callback: Box<dyn FnOnce() + Send>) -> Result<CallbackId> {
        if self.refuses_to_add {
            return Err(Error::unavailable("no callbacks here"));
        }
        self.token.add_callback(callback)
    }
    fn remove_callback(&self, _: CallbackId) -> Result<()> {
        Err(Error::unavailable("what is added stays"))
    }
}

#[tokio::test] // E-05
async fn a_token_that_refuses_callbacks_does_not_disturb_the_request() {
    for refuses_to_add in [true, false] {
        let provider = ScriptedProvider::default();
        provider.reply(ScriptedReply::text(&["one"])).reply(ScriptedReply::text(&["two"]));
        let core = core_with(&provider).unwrap();
        let token = Arc::new(Stubborn { token: CancelToken::new(), refuses_to_add });
        let options = || RequestOptions {
            request_id: Some("r1".into()),
            cancellation: Some(token.clone()),
            ..RequestOptions::default()
        };
        let config = Config::empty();
        let first = core.send_request(&asked().await, &config, options()).await.unwrap();
        assert_eq!(texts(&first.session), "hi|one");
        let events = core.send_request_stream(&asked().await, &config, options());
        let events: Vec<_> = events.collect().await;
        assert!(matches!(events.last(), Some(Ok(CoreEvent::Final(_)))));

        // It still cancels.
        token.token.cancel();
        let error = core.send_request(&asked().await, &config, options()).await.unwrap_err();
        assert!(error.is_cancelled());
    }
}

/// Counts the callbacks while the provider is at work, in a feature's finalise, and at the end.
async fn check_callback_ends_with_io(io: Io, stream: bool, reply: ScriptedReply, expected: &str) {
    let (token, gate, log) = (CancelToken::new(), Gate::new(), Log::new());
    let count = {
        let (token, log) = (token.clone(), log.clone());
        move |when: &str| log.add(format!("{when}:{}", token.callback_count()))
    };
    let provider = ScriptedProvider::default().io(io);
    provider.reply(reply.waiting_for(&gate));
    let mut core = core_with(&provider).unwrap();
    let counted = count.clone();
    let feature = ScriptedFeature::new("watcher").finalize(move |_, _| {
        counted("finalise");
        Ok(FinalizeChange::default())
    });
    core.register_feature(Arc::new(feature)).unwrap();

    let (session, config) = (asked().await, Config::empty());
    let options = options(Some("r1"), Some(&token));
    let mut request = pin!(async {
        if stream {
            let mut events = core.send_request_stream(&session, &config, options);
            while let Some(Ok(CoreEvent::Partial(_))) = events.next().await {}
            count("end");
        } else {
            let _ = core.send_request(&session, &config, options).await;
            count("end");
        }
    });
    assert!(request.as_mut().now_or_never().is_none(), "the provider waits at the gate");
    count("io");
    gate.open();
    request.await;
    assert_eq!(log.text(), expected, "{io:?}, stream: {stream}");
}

#[tokio::test] // E-06
async fn the_callback_goes_when_provider_io_ends() {
    let fine = || ScriptedReply::text(&["a"]);
    let broken = || fine().failing(Error::provider("down"));
    for (io, stream) in [(Io::Call, false), (Io::Stream, false), (Io::Stream, true)] {
        check_callback_ends_with_io(io, stream, fine(), "io:1 finalise:0 end:0").await;
        check_callback_ends_with_io(io, stream, broken(), "io:1 end:0").await;
    }
}

#[tokio::test] // E-30
async fn dropping_a_stream_lets_everything_go() {
    let (core, log) = endless();
    let token = CancelToken::new();
    let options = || options(Some("r1"), Some(&token));
    let (session, config) = (asked().await, Config::empty());
    let mut events = core.send_request_stream(&session, &config, options());
    assert!(matches!(events.next().await, Some(Ok(CoreEvent::Partial(_)))));
    assert_eq!((token.callback_count(), log.lines().len()), (1, 0));
    drop(events);
    assert_eq!(token.callback_count(), 0);
    assert_eq!(log.take(), ["stream dropped"], "the provider is not told to cancel");

    // The same for the collected form, and for a stream nobody ever polled.
    assert!(core.send_request(&session, &config, options()).now_or_never().is_none());
    assert_eq!(token.callback_count(), 0);
    assert_eq!(log.take(), ["stream dropped"]);
    drop(core.send_request_stream(&session, &config, options()));
    assert_eq!(token.callback_count(), 0);
    token.cancel();
    assert!(log.lines().is_empty());
}

/// Notes that it was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Polls until the stream waits, cancels, and polls on: the texts shown before, and whether the
/// cancellation woke the waiting consumer and was the last thing it saw.
fn check_cancelled(mut events: RequestStream, token: &CancelToken, shown_before: &[&str]) {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut poll = || events.poll_next_unpin(&mut std::task::Context::from_waker(&waker));
    let mut shown = Vec::new();
    while let Poll::Ready(Some(Ok(CoreEvent::Partial(partial)))) = poll() {
        shown.push(partial.content);
    }
    assert_eq!(shown, shown_before);
    woken.0.store(false, Ordering::SeqCst);
    token.cancel();
    assert!(woken.0.load(Ordering::SeqCst), "cancelling wakes whoever waits for the answer");
    match poll() {
        Poll::Ready(Some(Err(error))) => assert_eq!(error.class(), ErrorClass::Cancelled),
        other => panic!("{other:?}"),
    }
    assert!(matches!(poll(), Poll::Ready(None)), "nothing follows the error");
}

#[tokio::test] // E-31
async fn cancelling_ends_a_stream_whose_provider_never_speaks_again() {
    let (core, log) = endless();
    let token = CancelToken::new();
    let options = options(Some("r1"), Some(&token));
    let events = core.send_request_stream(&asked().await, &Config::empty(), options);
    check_cancelled(events, &token, &["a"]);
    assert_eq!(log.lines(), ["cancel(r1)", "stream dropped"]);
}

#[tokio::test] // E-31
async fn the_providers_stream_is_let_go_with_the_error_not_with_the_stream_object() {
    let (core, log) = endless();
    let token = CancelToken::new();
    let options = options(None, Some(&token));
    let mut events = core.send_request_stream(&asked().await, &Config::empty(), options);
    events.next().await.unwrap().unwrap();
    token.cancel();
    assert!(events.next().await.unwrap().unwrap_err().is_cancelled());
    assert_eq!(log.lines(), ["stream dropped"]);
}

/// Never answers one of its hooks.
struct Stuck {
    in_finalize: bool,
}

impl Plugin for Stuck {
    fn manifest(&self) -> Manifest {
        Manifest::new("stuck", "1")
    }
}

impl Feature for Stuck {
    fn initialize_request<'a>(
        &'a self,
        _: &'a RequestInput,
        _: &'a Context,
    ) -> Answer<'a, RequestChange> {
        match self.in_finalize {
            false => Answer::later(std::future::pending()),
            true => Answer::default(),
        }
    }

    fn finalize<'a>(&'a self, _: &'a FinalizeInput, _: &'a Context) -> Answer<'a, FinalizeChange> {
        Answer::later(std::future::pending())
    }
}

#[tokio::test] // E-31
async fn cancelling_ends_a_request_that_waits_for_a_plugin() {
    for (in_finalize, shown) in [(false, &[][..]), (true, &["a"])] {
        let provider = ScriptedProvider::default();
        provider.reply(ScriptedReply::text(&["a"]));
        let mut core = core_with(&provider).unwrap();
        core.register_feature(Arc::new(Stuck { in_finalize })).unwrap();
        let token = CancelToken::new();
        let options = options(Some("r1"), Some(&token));
        let events = core.send_request_stream(&asked().await, &Config::empty(), options);
        check_cancelled(events, &token, shown);
        let asked_the_model = provider.log().count("stream_api") == 1;
        assert_eq!(asked_the_model, in_finalize);
    }
}

#[tokio::test] // E-31
async fn cancelling_ends_the_collected_form() {
    for io in [Io::Call, Io::Stream] {
        let gate = Gate::new();
        let provider = ScriptedProvider::default().io(io);
        provider.reply(ScriptedReply::text(&["a"]).waiting_for(&gate));
        let core = core_with(&provider).unwrap();
        let token = CancelToken::new();
        let session = asked().await;
        let config = Config::empty();
        let options = options(Some("r1"), Some(&token));
        let mut request = pin!(core.send_request(&session, &config, options));
        assert!(request.as_mut().now_or_never().is_none());
        token.cancel();
        let outcome = request.now_or_never().expect("it ends at once");
        assert_eq!(outcome.unwrap_err().class(), ErrorClass::Cancelled);
        assert_eq!(provider.log().count("cancel(r1)"), 1);
    }
}

#[tokio::test] // E-31
async fn a_cancelled_token_starts_nothing_and_cancelling_later_changes_nothing() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["a"]));
    let core = core_with(&provider).unwrap();
    let (session, config) = (asked().await, Config::empty());
    let cancelled = CancelToken::new();
    cancelled.cancel();
    let error = core.send_request(&session, &config, options(None, Some(&cancelled))).await;
    assert!(error.unwrap_err().is_cancelled());
    assert!(provider.requests().is_empty());

    let token = CancelToken::new();
    let mut events = core.send_request_stream(&session, &config, options(None, Some(&token)));
    while !matches!(events.next().await, Some(Ok(CoreEvent::Final(_)))) {}
    token.cancel();
    assert!(events.next().await.is_none());
}
