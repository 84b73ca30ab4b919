//! The provider `scripted` in a core: replies, tool calls, delays, failures, shapes of history.

use expect_test::{Expect, expect};
use futures::StreamExt;
use orlop_core::*;
use orlop_providers::scripted::Scripted;
use orlop_testkit::scripted::{ScriptedTool, config, plain_session, texts};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

fn core() -> Core {
    let mut core = Core::new();
    core.register_provider(Arc::new(Scripted::default()), Vec::new()).unwrap();
    core
}

fn playing(script: Value) -> Config {
    config(json!({ "provider": "scripted", "model": "m", "script": script }))
}

async fn asked(text: &str) -> Session {
    plain_session(&[Message::user(text)]).await.unwrap()
}

async fn events(core: &Core, session: &Session, config: &Config) -> Vec<Result<CoreEvent>> {
    core.send_request_stream(session, config, RequestOptions::default()).collect().await
}

fn render(events: &[Result<CoreEvent>]) -> String {
    let line = |event: &Result<CoreEvent>| match event {
        Ok(CoreEvent::Partial(partial)) => serde_json::to_string(partial).unwrap(),
        Ok(CoreEvent::Final(response)) => {
            let native = response.session.native().unwrap().items();
            let items = native.iter().map(|item| format!("\n  item {item:?}"));
            let messages = response.messages.iter();
            let messages = messages.map(|message| format!("\n  message {}", message.to_json()));
            format!("final{}{}", items.collect::<String>(), messages.collect::<String>())
        }
        Err(error) => format!("{error:?} (retryable {})", error.retryable()),
    };
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

async fn check(script: Value, expected: Expect) {
    let (core, config, session) = (core(), playing(script), asked("hi").await);
    let streamed = events(&core, &session, &config).await;
    expected.assert_eq(&render(&streamed));
    let called = core.send_request(&session, &config, RequestOptions::default()).await;
    match (streamed.last().unwrap(), &called) {
        (Ok(CoreEvent::Final(streamed)), Ok(called)) => {
            assert_eq!(streamed.session, called.session, "called and streamed");
            called.session.verify().unwrap();
        }
        (Err(streamed), Err(called)) => assert_eq!(streamed.message(), called.message()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test] // M-30, C-11, C-17, C-18
async fn a_reply_streams_reasoning_text_and_calls() {
    check(
        json!([{
            "reasoning": ["let me ", "see"], "text": ["I ", "look."],
            "tool_calls": [{"name": "look", "arguments": {"at": "sky"}}, {"id": "x", "name": "raw", "arguments": "{broken"}],
            "usage": {"input_tokens": 5, "output_tokens": 7, "cache_read_tokens": 2},
        }]),
        expect![[r#"
            {"role":"assistant","content":"","metadata":{"reasoning":"let me "}}
            {"role":"assistant","content":"","metadata":{"reasoning":"see"}}
            {"role":"assistant","content":"I "}
            {"role":"assistant","content":"look."}
            {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":0,"id":"call_1_1","type":"function","function":{"name":"look","arguments":"{\"at\":\"sky\"}"}}]}}
            {"role":"assistant","content":"","metadata":{"tool_calls":[{"index":1,"id":"x","type":"function","function":{"name":"raw","arguments":"{broken"}}]}}
            final
              item {"role":"user","content":"hi"}
              item {"role":"assistant","reasoning":"let me see","content":"I look.","calls":[{"id":"call_1_1","name":"look","arguments":{"at":"sky"}},{"id":"x","name":"raw","arguments":"{broken"}],"metadata":{"finish_reason":"tool_calls","model":"m","usage":{"input_tokens":5,"output_tokens":7,"total_tokens":12,"cache_read_tokens":2}}} + {"model": String("m"), "usage": Object {"input_tokens": Number(5), "output_tokens": Number(7), "total_tokens": Number(12), "cache_read_tokens": Number(2)}}
              message {"role":"assistant","content":"I look.","metadata":{"tool_calls":[{"id":"call_1_1","name":"look","arguments":{"at":"sky"}},{"id":"x","name":"raw","arguments":"{broken"}],"reasoning":"let me see","finish_reason":"tool_calls","model":"m","usage":{"input_tokens":5,"output_tokens":7,"total_tokens":12,"cache_read_tokens":2},"native_indices":[1]}}"#]],
    )
    .await;
}

#[tokio::test] // M-30
async fn echo_says_what_was_said() {
    check(json!([{"text": "You said: ", "echo": true}]), expect![[r#"
        {"role":"assistant","content":"You said: "}
        {"role":"assistant","content":"hi"}
        final
          item {"role":"user","content":"hi"}
          item {"role":"assistant","content":"You said: hi","metadata":{"finish_reason":"stop","model":"m"}}
          message {"role":"assistant","content":"You said: hi","metadata":{"finish_reason":"stop","model":"m","native_indices":[1]}}"#]]).await;
}

#[tokio::test] // M-30
async fn failures_come_before_or_within_an_answer() {
    check(
        json!([{"error": {"status": 429, "message": "slow down"}}]),
        expect![[r#"provider: slow down (plugin "scripted", hook stream_api) (retryable true)"#]],
    )
    .await;
    check(
        json!([{"text": ["one", "two", "three"], "error": {"class": "unavailable", "after": 2, "retryable": false}}]),
        expect![[r#"
            {"role":"assistant","content":"one"}
            {"role":"assistant","content":"two"}
            unavailable: the script fails here (plugin "scripted", hook stream_api) (retryable false)"#]],
    )
    .await;
}

#[tokio::test] // M-30
async fn the_script_of_a_file_and_its_mistakes() {
    check(json!("no/such/script.toml"), expect![[r#"bad_argument: no/such/script.toml: the script cannot be read: No such file or directory (os error 2); set script to a file that can (plugin "scripted", hook get_tags) (retryable false)"#]]).await;
    check(json!([{"txt": "hello"}]), expect![[r#"bad_argument: script.replies[0].txt: unknown key; the keys here are when, text, echo, reasoning, tool_calls, usage, finish_reason, delay_ms, pace_ms, error (plugin "scripted", hook get_tags) (retryable false)"#]]).await;
}

#[tokio::test] // M-30
async fn a_failure_may_pass_after_some_tries() {
    let (core, session) = (core(), asked("hi").await);
    let config = playing(json!([{"text": "there", "error": {"status": 503, "times": 2}}]));
    for _ in 0..2 {
        for _ in 0..2 {
            let failed = core.send_request(&session, &config, RequestOptions::default()).await;
            assert_eq!(failed.unwrap_err().provider_status(), Some(503));
        }
        let passed = core.send_request(&session, &config, RequestOptions::default()).await;
        assert_eq!(texts(&passed.unwrap().session), "hi|there");
    }
}

/// Talks until the script has no calls left; gives what each core said, made anew for every turn.
async fn conversation(script: Value) -> (Core, Config, Session) {
    let config = playing(script);
    let mut session = asked("what is the weather?").await;
    loop {
        let mut core = core();
        let tool = ScriptedTool::new("weather").offering(&["weather"]);
        core.register_tool(Arc::new(tool)).unwrap();
        let response =
            core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
        // As another process would find it.
        session = Session::from_json(response.session.to_json()).unwrap();
        session.verify().unwrap();
        let calls = session::extract_tool_calls(&response.messages);
        if calls.is_empty() {
            return (core, config, session);
        }
        let results =
            core.execute_tool_calls(calls, &config, &CallContext::new("test")).await.unwrap();
        for result in results {
            session = core.add_message(&session, result, &config).await.unwrap();
        }
    }
}

const SHAPES: [&str; 4] = ["single", "split", "merged", "mixed"];

fn weather(shape: &str) -> Value {
    json!({ "native": shape, "replies": [
        {"reasoning": "hm", "text": "I look.", "tool_calls": [{"name": "weather"}, {"name": "weather"}]},
        {"text": "", "tool_calls": [{"name": "weather"}]},
        {"reasoning": "ah", "text": "It rains."},
    ]})
}

#[tokio::test] // M-30, C-15, C-16
async fn a_tool_loop_goes_on_in_every_process_and_shape() {
    for shape in SHAPES {
        let (core, config, session) = conversation(weather(shape)).await;
        let texts: Vec<&str> =
            session.messages().iter().map(|m| m.text()).filter(|text| !text.is_empty()).collect();
        assert_eq!(texts.first(), Some(&"what is the weather?"), "{shape}");
        assert_eq!(texts.last(), Some(&"It rains."), "{shape}");
        let ids: Vec<Value> = session
            .messages()
            .iter()
            .filter_map(|message| message.metadata().get("tool_call_id").cloned())
            .collect();
        assert_eq!(ids, ["call_1_1", "call_1_2", "call_2_1"], "{shape}");

        // The script is over.
        let session = core.add_message(&session, Message::user("and?"), &config).await.unwrap();
        let over = core.send_request(&session, &config, RequestOptions::default()).await;
        let words = "the script has 3 replies, and this is turn 4";
        assert!(over.unwrap_err().message().starts_with(words), "{shape}");
    }
}

fn said(session: &Session) -> Vec<String> {
    let line = |message: &Message| format!("{} {}", message.role().as_str(), message.text());
    session.messages().iter().map(line).collect()
}

/// Whether a message before `at` and one after it come from the same item.
fn shares_items(session: &Session, at: usize) -> bool {
    let messages: Vec<&Message> = session.messages().iter().collect();
    let items = |messages: &[&Message]| -> Vec<usize> {
        messages.iter().filter_map(|m| m.native_indices().positions()).flatten().collect()
    };
    let (before, after) = (items(&messages[..at]), items(&messages[at..]));
    before.iter().any(|item| after.contains(item))
}

#[tokio::test] // M-30, B-37, B-49
async fn sessions_of_every_shape_are_cut_joined_and_rebuilt() {
    for shape in SHAPES {
        let (core, config, session) = conversation(weather(shape)).await;
        let count = session.messages().len() as i64;
        let shared = (1..count as usize).filter(|at| shares_items(&session, *at)).count();
        assert_eq!(shared > 0, matches!(shape, "merged" | "mixed"), "{shape}");
        for at in 0..=count {
            let cut = core.split_session(&session, Slice::range(0, at), Some(&config)).await;
            cut.kept.verify().unwrap();
            cut.removed.verify().unwrap();
            let joined = core.join_sessions(&cut.kept, &cut.removed, Some(&config)).await.unwrap();
            joined.verify().unwrap();
            // An item that messages on both sides share goes to neither.
            if (1..count).contains(&at) && !shares_items(&session, at as usize) {
                assert_eq!(said(&joined), said(&session), "{shape} cut at {at}");
                assert_eq!(joined.native(), session.native(), "{shape} cut at {at}");
            }
        }
        // History made anew from the messages has the shape of conversion, and says the same.
        let rebuilt = core
            .rebuild_native_history(&session, Some(&config), None, None, &Default::default())
            .await
            .unwrap();
        rebuilt.verify().unwrap();
        assert_eq!(said(&rebuilt), said(&session), "{shape}");
        let over = core.add_message(&rebuilt, Message::user("and?"), &config).await.unwrap();
        let over = core.send_request(&over, &config, RequestOptions::default()).await;
        assert!(over.unwrap_err().message().contains("turn 4"), "{shape}");
    }
}

#[tokio::test] // C-11, C-12, M-30
async fn either_form_of_io_is_enough() {
    for io in ["both", "call", "stream"] {
        let config = playing(json!({"io": io, "replies": [{"text": ["a", "b"]}]}));
        let (core, session) = (core(), asked("hi").await);
        let streamed = events(&core, &session, &config).await;
        assert_eq!(streamed.len(), if io == "call" { 1 } else { 3 }, "{io}");
        let called = core.send_request(&session, &config, RequestOptions::default()).await;
        let Some(Ok(CoreEvent::Final(streamed))) = streamed.last() else { panic!("{io}") };
        assert_eq!(texts(&streamed.session), "hi|ab", "{io}");
        assert_eq!(streamed.session, called.unwrap().session, "{io}");
    }
}

#[tokio::test(start_paused = true)] // M-30
async fn time_passes_before_and_between_pieces() {
    let (core, session) = (core(), asked("hi").await);
    let config = playing(json!([{"text": ["a", "b", "c"], "delay_ms": 500, "pace_ms": 30}]));
    let start = Instant::now();
    let mut stream = core.send_request_stream(&session, &config, RequestOptions::default());
    let mut seen = Vec::new();
    while let Some(event) = stream.next().await {
        event.unwrap();
        seen.push(start.elapsed().as_millis());
    }
    assert_eq!(seen, [500, 530, 560, 560]);
    let start = Instant::now();
    core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_millis(560));
}

#[tokio::test(start_paused = true)] // C-24, M-30
async fn a_slow_reply_can_be_cancelled() {
    let (core, session) = (core(), asked("hi").await);
    let config = playing(json!([{"text": ["a", "b"], "pace_ms": 3_600_000}]));
    let token = CancelToken::new();
    let options = || RequestOptions {
        request_id: Some("r".to_owned()),
        cancellation: Some(Arc::new(token.clone())),
        ..RequestOptions::default()
    };
    let start = Instant::now();
    let mut stream = core.send_request_stream(&session, &config, options());
    assert!(matches!(stream.next().await, Some(Ok(CoreEvent::Partial(_)))));
    token.cancel();
    assert!(stream.next().await.unwrap().unwrap_err().is_cancelled());
    assert!(stream.next().await.is_none());
    assert!(start.elapsed() < Duration::from_secs(1));
    let called = core.send_request(&session, &config, options()).await;
    assert!(called.unwrap_err().is_cancelled());
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[test]
fn without_a_runtime_only_delays_fail() {
    let session = futures::executor::block_on(asked("hi"));
    let send = |script: Value| {
        let (core, config) = (core(), playing(script));
        let options = RequestOptions::default();
        futures::executor::block_on(core.send_request(&session, &config, options))
    };
    assert_eq!(texts(&send(json!(["yes"])).unwrap().session), "hi|yes");
    let error = send(json!([{"text": "yes", "delay_ms": 1}])).unwrap_err();
    assert!(error.message().contains("delay_ms"), "{error}");
}

#[tokio::test] // C-13, C-06, M-30
async fn models_and_tags_are_those_of_the_script() {
    let core = core();
    let config = playing(json!({
        "models": ["m", {"id": "n", "context_window": 10}], "tags": ["vision"], "replies": ["a"],
    }));
    let ids: Vec<Value> =
        core.fetch_models(&config).await.unwrap().iter().map(|model| model["id"].clone()).collect();
    assert_eq!(ids, ["m", "n"]);
    assert_eq!(core.tags_for(&config).await.unwrap(), ["vision"]);
    let plain = playing(json!(["a"]));
    assert_eq!(core.tags_for(&plain).await.unwrap(), ["chat", "streaming", "tools"]);
}
