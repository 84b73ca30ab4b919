//! Host plugins that fail: by an error, by a panic, by not answering in time.

use crate::common::*;
use expect_test::expect;
use orlop_app::*;
use orlop_core::hooks::{Handled, ToolGate};
use orlop_core::*;
use orlop_testkit::scripted::*;
use orlop_testkit::{Gate, logged};
use serde_json::json;
use std::sync::Arc;

/// How a hook fails.
#[derive(Debug, Clone, Copy)]
enum Failing {
    Error,
    Panic,
    Hang,
}

const WAYS: [Failing; 3] = [Failing::Error, Failing::Panic, Failing::Hang];

impl Failing {
    async fn fail<T>(self) -> Result<T> {
        match self {
            Self::Error => Err(Error::bad_state("out of order")),
            Self::Panic => panic!("out of order"),
            Self::Hang => hang().await,
        }
    }
}

/// `plugin` with one hook that fails.
fn breaking(plugin: ScriptedHost, hook: &str, how: Failing) -> ScriptedHost {
    match hook {
        "start" => plugin.start(move |_, _| how.fail()),
        "stop" => plugin.stop(move |_, _| how.fail()),
        "on_request_start" => plugin.on_request_start(move |_, _| how.fail()),
        "intercept_chat_request" => plugin.intercept_chat_request(move |_, _| how.fail()),
        "attachment_handler" => plugin.attachment_handler(move |_, _| how.fail()),
        "context_providers" => plugin.context_providers(move |_, _| how.fail()),
        "before_tool_call" => plugin.before_tool_call(move |_, _| how.fail()),
        "after_tool_call" => plugin.after_tool_call(move |_, _| how.fail()),
        "on_turn_persisted" => plugin.on_turn_persisted(move |_, _| how.fail()),
        "on_request_end" => plugin.on_request_end(move |_, _| how.fail()),
        other => panic!("{other}"),
    }
}

/// A plugin that logs the hooks of requests and of its own life.
fn witness(name: &'static str, log: &Log) -> ScriptedHost {
    macro_rules! note {
        ($hook:literal, $answer:expr) => {{
            let log = log.clone();
            move |_, _| {
                log.add(format!("{name}.{}", $hook));
                async move { Ok($answer) }
            }
        }};
    }
    ScriptedHost::new(name)
        .start(note!("start", ()))
        .stop(note!("stop", ()))
        .on_request_start(note!("on_request_start", ()))
        .intercept_chat_request(note!("intercept_chat_request", None))
        .attachment_handler(note!("attachment_handler", "a file came".to_owned()))
        .context_providers(note!("context_providers", vec!["it is noon".to_owned()]))
        .before_tool_call(note!("before_tool_call", ToolGate::Allow))
        .after_tool_call(note!("after_tool_call", None))
        .on_turn_persisted(note!("on_turn_persisted", ()))
        .on_request_end(note!("on_request_end", ()))
}

/// A scene in which every hook of a request is reached, and the asset to send with it.
async fn full_request(scene: Scene) -> (Host, Log, Scene, ChatRequest, AssetFolder) {
    let scene = scene.tool(echo("read"));
    scene
        .provider
        .reply(ScriptedReply::calls(&[("c1", "read", json!({"n": 1}))]))
        .reply(ScriptedReply::text(&["done"]));
    let folder = AssetFolder::new();
    let (host, failures) = open_door_with(&scene, &folder).await;
    let asset = folder.keep(host.app(), "a.txt", b"some text").await;
    let request = ChatRequest { attachments: vec![asset], ..chat_with("s", "hi", true) };
    (host, failures, scene, request, folder)
}

const SKIPPED: [&str; 7] = [
    "on_request_start",
    "intercept_chat_request",
    "attachment_handler",
    "context_providers",
    "before_tool_call",
    "after_tool_call",
    "on_turn_persisted",
];

#[tokio::test] // L-02, L-25
async fn a_hook_that_fails_is_reported_once_and_the_request_goes_on() {
    logged();
    for stream in [false, true] {
        for hook in SKIPPED.into_iter().chain(["on_request_end"]) {
            for how in WAYS {
                let log = Log::new();
                let broken = breaking(ScriptedHost::new("broken"), hook, how);
                let scene = Scene::default().host(broken).host(witness("next", &log));
                let (host, failures, scene, request, _folder) = full_request(scene).await;
                let case = format!("{hook} {how:?}");
                let events = chat_to_end(&host, ChatRequest { stream, ..request }).await;
                assert_eq!(events.last().unwrap().kind.name(), "final", "{case}");
                assert_eq!(said(host.app(), "s").await, r#"hi||{"n":1}|done"#, "{case}");
                // The plugin after it had its turn.
                assert!(log.count(&format!("next.{hook}")) > 0, "{case}");
                let seconds = hook_seconds(hook);
                let error = match how {
                    Failing::Error => "out of order".to_owned(),
                    Failing::Panic => "the plugin panicked: out of order".to_owned(),
                    Failing::Hang => format!("no answer within {seconds} s"),
                };
                let mut heard = failures.lines();
                assert!(heard.iter().all(|line| line.starts_with(&format!("broken.{hook}: "))));
                assert!(heard[0].ends_with(&error), "{case}: {heard:?}");
                // Context is asked before each of the two model calls, the others once.
                let times = if hook == "context_providers" { 2 } else { 1 };
                assert_eq!(heard.len(), times, "{case}: {heard:?}");
                heard.dedup();
                assert_eq!(heard.len(), 1, "{case}");
                assert_eq!(scene.provider.requests().len(), 2, "{case}");
                // The session is free.
                let lock = host.app().begin().acquire_session_lock("s").await.unwrap();
                lock.release().await;
            }
        }
    }
    let log = logged();
    for hook in SKIPPED {
        let wanted = format!("plugin=\"broken\" hook=\"{hook}\"");
        assert!(log.contains(&wanted), "{hook}");
    }
}

fn hook_seconds(name: &str) -> u64 {
    let spec = orlop_core::hooks::HOOKS
        .iter()
        .find(|spec| spec.kind == orlop_core::hooks::Kind::Host && spec.name == name);
    spec.unwrap().timeout.unwrap().as_secs()
}

#[test] // L-25
fn every_host_hook_has_a_limit() {
    let host =
        orlop_core::hooks::HOOKS.iter().filter(|spec| spec.kind == orlop_core::hooks::Kind::Host);
    assert_eq!(host.clone().count(), 10);
    assert!(host.clone().all(|spec| spec.timeout.is_some()));
}

#[tokio::test] // L-17, L-25
async fn a_failing_interceptor_of_a_critical_plugin_stops_the_request() {
    for stream in [false, true] {
        for how in WAYS {
            let log = Log::new();
            let guard = ScriptedHost::with_manifest(Manifest::host("guard", "1.0.0").critical());
            let guard = breaking(guard, "intercept_chat_request", how);
            let scene = Scene::says(&["no"]).host(guard).host(witness("next", &log));
            let (host, failures) = open_door(&scene).await;
            let error = host.chat(chat_with("s", "hi", stream)).await.err().unwrap();
            assert_eq!(error.plugin_name(), Some("guard"), "{how:?}");
            assert_eq!(failures.lines().len(), 1, "{how:?}");
            assert!(scene.provider.requests().is_empty());
            assert!(host.app().load_session("s").await.unwrap().is_none());
            expect!["next.start next.on_request_start next.on_request_end"].assert_eq(&log.text());
        }
    }
}

#[tokio::test] // L-25
async fn critical_says_nothing_of_other_hooks() {
    for hook in SKIPPED.into_iter().filter(|hook| *hook != "intercept_chat_request") {
        let guard = ScriptedHost::with_manifest(Manifest::host("guard", "1.0.0").critical());
        let scene = Scene::default().host(breaking(guard, hook, Failing::Error));
        let (host, failures, _scene, request, _folder) = full_request(scene).await;
        let events = chat_to_end(&host, request).await;
        assert_eq!(events.last().unwrap().kind.name(), "final", "{hook}");
        assert!(!failures.lines().is_empty(), "{hook}");
    }
}

#[tokio::test] // L-08, L-25
async fn after_a_failing_interceptor_the_next_one_answers() {
    let broken = breaking(ScriptedHost::new("broken"), "intercept_chat_request", Failing::Error);
    let next = ScriptedHost::new("next")
        .intercept_chat_request(|_, _| async { Ok(Some(Handled::text("here").into())) });
    let (host, failures) = open_door(&Scene::default().host(broken).host(next)).await;
    let chat = host.chat(chat_with("s", "hi", true)).await.unwrap();
    assert_eq!(chat.handled.as_ref().unwrap().text, "here");
    chat.ended().await;
    assert_eq!(failures.lines().len(), 1);
}

#[tokio::test] // L-05, L-23
async fn a_start_that_fails_takes_back_what_had_started() {
    for how in WAYS {
        let (log, failures) = (Log::new(), Log::new());
        let scene = Scene::default()
            .host(witness("a", &log))
            .host(witness("b", &log))
            .host(breaking(witness("broken", &log), "start", how))
            .host(witness("never", &log));
        let heard = failures.clone();
        let listen = move |failure: &HookFailure| {
            heard.add(format!("{} {}", failure.plugin, failure.hook));
        };
        let app = scene.start().await;
        let error = Host::start(app, Some(Arc::new(listen))).await.err().unwrap();
        assert_eq!(error.plugin_name(), Some("broken"));
        expect!["a.start b.start b.stop a.stop"].assert_eq(&log.text());
        assert_eq!(failures.lines(), ["broken start"]);
    }
}

#[tokio::test] // L-05, L-06
async fn taking_back_goes_on_after_a_stop_that_fails() {
    let (log, failures) = (Log::new(), Log::new());
    let scene = Scene::default()
        .host(witness("a", &log))
        .host(breaking(witness("b", &log), "stop", Failing::Hang))
        .host(breaking(witness("c", &log), "start", Failing::Error));
    let heard = failures.clone();
    let listen = move |failure: &HookFailure| {
        heard.add(format!("{}.{}", failure.plugin, failure.hook));
    };
    let started = Host::start(scene.start().await, Some(Arc::new(listen))).await;
    assert_eq!(started.err().unwrap().message(), "out of order");
    assert_eq!(log.text(), "a.start b.start a.stop");
    assert_eq!(failures.text(), "c.start b.stop");
}

#[tokio::test] // L-06
async fn a_stop_that_fails_does_not_keep_the_others() {
    logged();
    for how in WAYS {
        let log = Log::new();
        let scene = Scene::default()
            .host(witness("a", &log))
            .host(breaking(witness("unstoppable", &log), "stop", how))
            .host(witness("c", &log));
        let (host, failures) = open_door(&scene).await;
        log.take();
        host.stop().await;
        assert_eq!(log.text(), "c.stop a.stop", "{how:?}");
        assert_eq!(failures.lines().len(), 1, "{how:?}");
    }
    assert!(logged().contains("plugin=\"unstoppable\" hook=\"stop\""));
}

#[tokio::test] // L-25
async fn a_listener_that_panics_breaks_nothing() {
    let mut scene = Scene::says(&["ok"]);
    for hook in ["on_request_start", "context_providers", "on_turn_persisted", "on_request_end"] {
        let named = ScriptedHost::new(hook);
        scene = scene.host(breaking(named, hook, Failing::Error));
    }
    let log = Log::new();
    let heard = log.clone();
    let listen = move |failure: &HookFailure| {
        heard.add(failure.hook);
        panic!("the listener is broken");
    };
    let host = Host::start(scene.start().await, Some(Arc::new(listen))).await.unwrap();
    let events = chat_to_end(&host, chat_with("s", "hi", true)).await;
    assert_eq!(events.last().unwrap().kind.name(), "final");
    let hooks = "on_request_start context_providers on_turn_persisted on_request_end";
    assert_eq!(log.text(), hooks);
    host.app().begin().acquire_session_lock("s").await.unwrap().release().await;
}

#[tokio::test] // L-17, L-25
async fn a_cancelled_request_ends_like_any_other() {
    let (log, gate) = (Log::new(), Gate::new());
    let scene = Scene::default().host(witness("a", &log));
    scene.provider.reply(ScriptedReply::text(&["ok"]).waiting_for(&gate));
    let (host, failures) = open_door(&scene).await;
    let mut chat = host.chat(chat_with("s", "hi", true)).await.unwrap();
    gate.reached().await;
    log.take();
    host.app().cancel_request(&chat.request_id, "enough").await.unwrap();
    let mut last = None;
    while let Some(event) = chat.next().await {
        last = Some(event);
    }
    assert_eq!(last.unwrap().kind.name(), "request_cancelled");
    chat.ended().await;
    assert_eq!(log.text(), "a.on_turn_persisted a.on_request_end");
    assert_eq!(failures.text(), "");
}
