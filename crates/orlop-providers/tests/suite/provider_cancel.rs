//! Ending requests of `openai_compatible` before their time: by token, by id, by dropping them;
//! and requests side by side.

use futures::StreamExt;
use futures::future::BoxFuture;
use orlop_core::*;
use orlop_providers::{OpenAiCompatible, TokioExecutor, openai};
use orlop_testkit::Gate;
use orlop_testkit::mock_model::{MockModel, Reply};
use orlop_testkit::scripted::{config, plain_session, texts};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn core() -> Core {
    let mut core = Core::new();
    core.register_provider(Arc::new(OpenAiCompatible::default()), Vec::new()).unwrap();
    core
}

fn config_for(server: &MockModel) -> Config {
    config(json!({ "provider": openai::NAME, "model": "m", "base_url": server.base_url() }))
}

async fn asked(text: &str) -> Session {
    plain_session(&[Message::user(text)]).await.unwrap()
}

/// A server whose first answer stops at the gate after `one`; all others are `ok`.
async fn held(gate: &Gate) -> MockModel {
    let server = MockModel::start().await.unwrap();
    server.reply(Reply::text(["one"]).wait(gate).then_text(["two"]));
    server.otherwise(|_| Reply::text(["ok"]));
    server
}

fn options(request_id: Option<&str>, cancellation: impl Cancellation + 'static) -> RequestOptions {
    RequestOptions {
        request_id: request_id.map(str::to_owned),
        cancellation: Some(Arc::new(cancellation)),
        ..RequestOptions::default()
    }
}

/// What comes next, or a failure of the test instead of a test without end.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), work).await.expect("it takes too long")
}

async fn next_text(events: &mut RequestStream) -> String {
    match soon(events.next()).await {
        Some(Ok(CoreEvent::Partial(partial))) => partial.content,
        other => panic!("no text: {other:?}"),
    }
}

/// The stream ends here, and cancelled.
async fn ends_cancelled(mut events: RequestStream) {
    let error = soon(events.next()).await.unwrap().unwrap_err();
    assert_eq!(error.class(), ErrorClass::Cancelled);
    assert!(soon(events.next()).await.is_none());
}

async fn works(core: &Core, session: &Session, config: &Config) {
    let response = soon(core.send_request(session, config, RequestOptions::default())).await;
    assert_eq!(texts(&response.unwrap().session), "hi|ok");
}

/// Cancels only through its callbacks: the request itself does not see it.
#[derive(Clone, Default)]
struct CallbacksOnly(CancelToken);

impl Cancellation for CallbacksOnly {
    fn is_cancelled(&self) -> bool {
        false
    }
    fn cancelled(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
    fn add_callback(&self, callback: Box<dyn FnOnce() + Send>) -> Result<CallbackId> {
        self.0.add_callback(callback)
    }
    fn remove_callback(&self, id: CallbackId) -> Result<()> {
        self.0.remove_callback(id)
    }
}

#[tokio::test] // E-31
async fn a_token_ends_a_stream_with_and_without_an_id() {
    for request_id in [Some("r1"), None] {
        let gate = Gate::new();
        let server = held(&gate).await;
        let (core, config, session) = (core(), config_for(&server), asked("hi").await);
        let token = CancelToken::new();
        let mut events =
            core.send_request_stream(&session, &config, options(request_id, token.clone()));
        assert_eq!(next_text(&mut events).await, "one");
        assert_eq!(server.disconnects(), 0);
        token.cancel();
        ends_cancelled(events).await;
        assert_eq!(token.callback_count(), 0);
        soon(server.wait_for_disconnect()).await;
        works(&core, &session, &config).await;
    }
}

#[tokio::test] // C-24, M-02
async fn an_id_ends_a_stream() {
    let gate = Gate::new();
    let server = held(&gate).await;
    let (core, config, session) = (core(), config_for(&server), asked("hi").await);
    let token = CallbacksOnly::default();
    let mut events =
        core.send_request_stream(&session, &config, options(Some("r1"), token.clone()));
    assert_eq!(next_text(&mut events).await, "one");
    token.0.cancel();
    ends_cancelled(events).await;
    soon(server.wait_for_disconnect()).await;
    works(&core, &session, &config).await;
}

#[tokio::test] // C-24, M-02
async fn an_id_ends_its_own_request_only() {
    let gates = [Gate::new(), Gate::new()];
    let server = MockModel::start().await.unwrap();
    for gate in &gates {
        server.reply(Reply::text(["one "]).wait(gate).then_text(["two"]));
    }
    let (core, config, session) = (core(), config_for(&server), asked("hi").await);
    let tokens = [CallbacksOnly::default(), CallbacksOnly::default()];
    let start = async |id: &str, token: &CallbacksOnly| {
        let mut events =
            core.send_request_stream(&session, &config, options(Some(id), token.clone()));
        next_text(&mut events).await;
        events
    };
    let first = start("r1", &tokens[0]).await;
    let mut second = start("r2", &tokens[1]).await;
    tokens[0].0.cancel();
    ends_cancelled(first).await;
    gates[1].open();
    assert_eq!(next_text(&mut second).await, "two");
    assert!(matches!(soon(second.next()).await, Some(Ok(CoreEvent::Final(_)))));
    // The request is over; its id is unknown now, which does no harm.
    tokens[1].0.cancel();
}

#[tokio::test] // C-24
async fn an_id_that_is_used_twice_ends_both() {
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let server = MockModel::start().await.unwrap();
    for gate in &gates {
        server.reply(Reply::text(["one"]).wait(gate).then_text(["two"]));
    }
    let (core, config, session) = (core(), config_for(&server), asked("hi").await);
    let token = CallbacksOnly::default();
    let mut started = Vec::new();
    for _ in &gates {
        let mut events =
            core.send_request_stream(&session, &config, options(Some("r1"), token.clone()));
        assert_eq!(next_text(&mut events).await, "one");
        started.push(events);
    }
    // One that ends does not take the id away from the others.
    drop(started.remove(0));
    token.0.cancel();
    for events in started {
        ends_cancelled(events).await;
    }
    soon(server.wait_for_disconnects(3)).await;
}

async fn check_collected(options: RequestOptions, cancel: impl FnOnce()) {
    let (server, gate) = (MockModel::start().await.unwrap(), Gate::new());
    server.reply(Reply::text(["late"]).hold(&gate)).reply(Reply::text(["ok"]));
    let (core, config, session) = (core(), config_for(&server), asked("hi").await);
    let request = core.send_request(&session, &config, options);
    let cancelling = async {
        gate.reached().await;
        cancel();
    };
    let (result, ()) = soon(async { tokio::join!(request, cancelling) }).await;
    assert_eq!(result.unwrap_err().class(), ErrorClass::Cancelled);
    soon(server.wait_for_disconnect()).await;
    works(&core, &session, &config).await;
}

#[tokio::test] // E-31, C-24
async fn a_request_that_does_not_stream_ends_too() {
    for id in [Some("r1"), None] {
        let token = CancelToken::new();
        check_collected(options(id, token.clone()), || token.cancel()).await;
    }
    let token = CallbacksOnly::default();
    check_collected(options(Some("r1"), token.clone()), || token.0.cancel()).await;
}

#[tokio::test]
async fn a_request_that_is_cancelled_before_it_begins_sends_nothing() {
    let server = MockModel::start().await.unwrap();
    let (core, config, session) = (core(), config_for(&server), asked("hi").await);
    let token = CancelToken::new();
    token.cancel();
    ends_cancelled(core.send_request_stream(&session, &config, options(Some("r1"), token))).await;
    assert!(server.requests().is_empty());
}

#[tokio::test] // E-30
async fn dropping_a_stream_leaves_the_server() {
    let gate = Gate::new();
    let server = held(&gate).await;
    let (core, config, session) = (core(), config_for(&server), asked("hi").await);
    let token = CancelToken::new();
    let mut events =
        core.send_request_stream(&session, &config, options(Some("r1"), token.clone()));
    assert_eq!(next_text(&mut events).await, "one");
    assert_eq!(token.callback_count(), 1);
    drop(events);
    assert_eq!(token.callback_count(), 0);
    soon(server.wait_for_disconnect()).await;
    works(&core, &session, &config).await;
}

#[tokio::test] // E-31
async fn waiting_to_try_again_can_be_cancelled() {
    let server = MockModel::start().await.unwrap();
    server.reply(Reply::status(429).header("retry-after", "50"));
    server.otherwise(|_| Reply::text(["ok"]));
    let (core, config, session) = (core(), config_for(&server), asked("hi").await);
    let token = CancelToken::new();
    let events = core.send_request_stream(&session, &config, options(None, token.clone()));
    let cancelling = async {
        server.wait_for_request(1).await;
        token.cancel();
    };
    tokio::join!(ends_cancelled(events), cancelling);
    works(&core, &session, &config).await;
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test] // E-31
async fn a_blocking_request_can_be_cancelled_from_elsewhere() {
    let gate = Gate::new();
    let server = held(&gate).await;
    let (config, session) = (config_for(&server), asked("hi").await);
    let token = CancelToken::new();
    let options = options(Some("r1"), token.clone());
    let blocking = tokio::task::spawn_blocking(move || {
        let core = Blocking::new(core(), TokioExecutor::new().unwrap());
        let events = core.send_request_stream(&session, &config, options);
        events.map(|event| event.map(|_| ())).collect::<Vec<_>>()
    });
    soon(gate.reached()).await;
    token.cancel();
    let mut events = soon(blocking).await.unwrap();
    assert_eq!(events.pop().unwrap().unwrap_err().class(), ErrorClass::Cancelled);
    soon(server.wait_for_disconnect()).await;
}

#[tokio::test] // E-30
async fn dropping_a_blocking_stream_leaves_the_server() {
    let gate = Gate::new();
    let server = held(&gate).await;
    let (config, session) = (config_for(&server), asked("hi").await);
    let core = Blocking::new(core(), TokioExecutor::new().unwrap());
    let blocking = tokio::task::spawn_blocking(move || {
        let mut events = core.send_request_stream(&session, &config, RequestOptions::default());
        assert!(matches!(events.next(), Some(Ok(CoreEvent::Partial(_)))));
        drop(events);
        core
    });
    // The executor lives on and has nothing more to do.
    let _core = soon(blocking).await.unwrap();
    soon(server.wait_for_disconnect()).await;
}

#[tokio::test] // C-10
async fn streams_side_by_side_do_not_mix() {
    let gates = [Gate::new(), Gate::new()];
    let server = MockModel::start().await.unwrap();
    let answers = gates.clone();
    server.otherwise(move |request| {
        let who = request.json()["messages"][0]["content"].as_str().unwrap().to_owned();
        let gate = &answers[usize::from(who == "b")];
        Reply::text([format!("{who}1 ")]).wait(gate).then_text([format!("{who}2")])
    });
    let (core, config) = (core(), config_for(&server));
    let start = async |who: &str| {
        let session = asked(who).await;
        core.send_request_stream(&session, &config, RequestOptions::default())
    };
    let (mut a, mut b) = (start("a").await, start("b").await);
    assert_eq!(next_text(&mut a).await, "a1 ");
    assert_eq!(next_text(&mut b).await, "b1 ");
    for (events, gate, who) in [(&mut b, &gates[1], "b"), (&mut a, &gates[0], "a")] {
        gate.open();
        assert_eq!(next_text(events).await, format!("{who}2"));
        let end = soon(events.next()).await;
        let Some(Ok(CoreEvent::Final(response))) = end else { panic!("{end:?}") };
        assert_eq!(texts(&response.session), format!("{who}|{who}1 {who}2"));
    }
}
