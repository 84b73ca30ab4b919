//! What a collector gets: a real one on a port of this machine, which reads what is sent to it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../orlop-app/tests/common/mod.rs"]
mod common;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use common::*;
use expect_test::{Expect, expect};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyKind;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use orlop_app::config::{AppConfig, RuntimeEnv, TelemetrySection, Vars};
use orlop_app::{Application, Scope};
use orlop_core::{CallContext, Error};
use orlop_telemetry::Telemetry;
use orlop_testkit::scripted::*;
use prost::Message;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// A collector, and what it got.
struct Collector {
    endpoint: String,
    got: Arc<Mutex<Vec<(HeaderMap, ExportTraceServiceRequest)>>>,
}

impl Collector {
    async fn open(status: StatusCode) -> Self {
        let got = Arc::new(Mutex::new(Vec::new()));
        let kept = got.clone();
        let take = move |headers: HeaderMap, body: Bytes| async move {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            kept.lock().unwrap().push((headers, request));
            status
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/v1/traces", post(take));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { endpoint, got }
    }

    fn section(&self) -> TelemetrySection {
        TelemetrySection {
            otlp_endpoint: Some(self.endpoint.clone()),
            headers: BTreeMap::from([("x-key".to_owned(), "secret".to_owned())]),
            service_name: "test".to_owned(),
            hooks: false,
        }
    }

    /// All spans, in the order they began.
    fn spans(&self) -> Vec<Span> {
        let got = self.got.lock().unwrap();
        let resources = got.iter().flat_map(|(_, request)| request.resource_spans.clone());
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        let mut spans: Vec<Span> = scopes.flat_map(|scope| scope.spans).collect();
        spans.sort_by_key(|span| span.start_time_unix_nano);
        spans
    }
}

async fn start(scene: &Scene, telemetry: &Arc<Telemetry>) -> Application {
    let env = RuntimeEnv::from_vars(Vars::new());
    let config = AppConfig::from_text(Path::new("orlop.toml"), &scene.config, env).unwrap();
    let builder = Application::builder(config, scene.store.clone());
    let builder = builder.plugins(scene.plugins.clone()).watcher(telemetry.clone());
    builder.start().await.unwrap()
}

fn scene() -> Scene {
    let scene = Scene::default().tool(echo("read"));
    scene.provider.reply(ScriptedReply::calls(&[("c1", "read", json!({ "secret": "words" }))]));
    let usage = json!({ "input_tokens": 7, "output_tokens": 3, "cache_read_tokens": 2 });
    let said =
        json!({ "who": "assistant", "say": "secret answer", "_metadata": { "usage": usage } });
    scene.provider.reply(ScriptedReply::items(vec![said]));
    scene
}

fn value(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(AnyKind::StringValue(text)) => text.clone(),
        Some(AnyKind::IntValue(number)) => number.to_string(),
        Some(AnyKind::ArrayValue(list)) => {
            list.values.iter().map(value_of).collect::<Vec<_>>().join(",")
        }
        other => format!("{other:?}"),
    }
}

fn value_of(it: &AnyValue) -> String {
    value(Some(it))
}

fn attributes(attributes: &[KeyValue]) -> String {
    let shown = attributes.iter().map(|it| format!("{}={}", it.key, value(it.value.as_ref())));
    shown.collect::<Vec<_>>().join(" ")
}

fn check(spans: &[Span], expected: Expect) {
    let shown = spans.iter().map(|span| {
        let kind = ["-", "internal", "server", "client"][usize::try_from(span.kind).unwrap()];
        format!("{} ({kind})\n    {}\n", span.name, attributes(&span.attributes))
    });
    expected.assert_eq(&shown.collect::<String>());
}

#[tokio::test]
async fn a_turn_with_a_tool_is_told_in_the_words_of_the_conventions() {
    let collector = Collector::open(StatusCode::OK).await;
    let telemetry = Arc::new(Telemetry::of(&collector.section()).unwrap().unwrap());
    let app = start(&scene(), &telemetry).await;
    let request =
        orlop_app::Request { request_id: Some("r".to_owned()), ..ask("s", "secret question") };
    events_of(&app, request).await;
    telemetry.close().await;
    let spans = collector.spans();
    check(
        &spans,
        expect![[r#"
        invoke_agent default (internal)
            gen_ai.operation.name=invoke_agent gen_ai.provider.name=scripted gen_ai.agent.id=default gen_ai.agent.name=default gen_ai.conversation.id=s orlop.request_id=r orlop.tenant=local gen_ai.request.model=m gen_ai.usage.input_tokens=7 gen_ai.usage.output_tokens=3 gen_ai.usage.cache_read.input_tokens=2
        chat m (client)
            gen_ai.operation.name=chat gen_ai.provider.name=scripted gen_ai.request.model=m gen_ai.conversation.id=s
        execute_tool read (internal)
            gen_ai.operation.name=execute_tool gen_ai.tool.name=read gen_ai.tool.type=function gen_ai.tool.call.id=c1 gen_ai.conversation.id=s
        chat m (client)
            gen_ai.operation.name=chat gen_ai.provider.name=scripted gen_ai.request.model=m gen_ai.usage.input_tokens=7 gen_ai.usage.output_tokens=3 gen_ai.usage.cache_read.input_tokens=2 gen_ai.conversation.id=s
    "#]],
    );
    let turn = &spans[0];
    for below in &spans[1..] {
        assert_eq!((&below.trace_id, &below.parent_span_id), (&turn.trace_id, &turn.span_id));
        assert!(below.end_time_unix_nano <= turn.end_time_unix_nano);
    }
    assert_eq!((turn.trace_id.len(), turn.span_id.len(), turn.parent_span_id.len()), (16, 8, 0));
    let got = collector.got.lock().unwrap();
    let (headers, request) = &got[0];
    assert_eq!(headers["content-type"], "application/x-protobuf");
    assert_eq!(headers["x-key"], "secret");
    let resource = request.resource_spans[0].resource.clone().unwrap();
    assert!(attributes(&resource.attributes).contains("service.name=test"));
    // What was said is nobody's business.
    assert!(!format!("{request:?}").contains("secret"));
    assert_eq!(telemetry.lost(), 0);
}

#[tokio::test]
async fn a_failure_and_the_caller_are_told() {
    let collector = Collector::open(StatusCode::OK).await;
    let section = TelemetrySection { hooks: true, ..collector.section() };
    let telemetry = Arc::new(Telemetry::of(&section).unwrap().unwrap());
    let scene = Scene::default();
    for _ in 0..2 {
        scene.provider.reply(ScriptedReply::default().failing(Error::provider("secret reason")));
    }
    let app = start(&scene, &telemetry).await;
    let called = |flags: &str| {
        let parent = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
        app.called_with(CallContext::new("test").owning("trace_parent", parent))
    };
    events_of(&called("01"), ask("s", "hi")).await;
    // Who does not record its trace does not want ours either.
    events_of(&called("00"), ask("s", "again")).await;
    telemetry.close().await;
    let spans = collector.spans();
    let turns: Vec<&Span> =
        spans.iter().filter(|span| span.name.starts_with("invoke_agent")).collect();
    assert_eq!(turns.len(), 1);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(&turns[0].trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(hex(&turns[0].parent_span_id), "00f067aa0ba902b7");
    assert_eq!(turns[0].status.as_ref().unwrap().code, 2);
    assert!(attributes(&turns[0].attributes).contains("error.type=provider"));
    let chat = spans.iter().find(|span| span.name == "chat m").unwrap();
    assert!(attributes(&chat.attributes).contains("error.type=error"));
    // Hooks, where they are wanted.
    let hook = spans.iter().find(|span| span.name == "scripted stream_api");
    assert!(hook.is_some(), "{:?}", spans.iter().map(|span| &span.name).collect::<Vec<_>>());
    assert!(!format!("{spans:?}").contains("secret"));
}

#[tokio::test]
async fn whoever_goes_on_with_a_request_adds_to_its_trace() {
    let mut traces = Vec::new();
    for user in ["ana", "ana", "bob"] {
        let collector = Collector::open(StatusCode::OK).await;
        let telemetry = Arc::new(Telemetry::of(&collector.section()).unwrap().unwrap());
        let app = start(&Scene::says(&["ok"]), &telemetry).await;
        let app = app.for_scope(Scope::new("acme", user).unwrap());
        let request = orlop_app::Request { request_id: Some("r".to_owned()), ..ask("s", "hi") };
        events_of(&app, request).await;
        telemetry.close().await;
        traces.push(collector.spans()[0].trace_id.clone());
    }
    assert_eq!(traces[0], traces[1]);
    assert_ne!(traces[0], traces[2]);
}

#[tokio::test]
async fn a_collector_that_is_gone_holds_nobody_up() {
    // Nobody listens there any more.
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let section = TelemetrySection {
        otlp_endpoint: Some(format!("http://{gone}")),
        service_name: "test".to_owned(),
        ..TelemetrySection::default()
    };
    let broken = Collector::open(StatusCode::INTERNAL_SERVER_ERROR).await;
    for section in [section, broken.section()] {
        let telemetry = Arc::new(Telemetry::of(&section).unwrap().unwrap());
        let app = start(&scene(), &telemetry).await;
        let events = events_of(&app, ask("s", "hi")).await;
        assert!(names(&events).ends_with("final"));
        let began = Instant::now();
        telemetry.close().await;
        assert!(began.elapsed() < Duration::from_secs(10));
        assert!(telemetry.lost() > 0);
        // What runs after the end is lost, and no more.
        assert_eq!(talk(&app, "t", "hi").await.lines().count(), 1);
    }
    assert!(Telemetry::of(&TelemetrySection::default()).unwrap().is_none());
}
