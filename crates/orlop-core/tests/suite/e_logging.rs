//! What requests and tool calls log, where, how much of it, and what never appears.

use futures::StreamExt;
use futures::executor::block_on;
use orlop_core::hooks::{FinalizeChange, InitInput, ModelRequest};
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tracing::Level;
use tracing::field::{Field, Visit};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Context as LayerContext, Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;

/// One event as it was logged.
struct Line {
    level: Level,
    target: String,
    fields: BTreeMap<&'static str, String>,
}

impl Line {
    fn title(&self) -> String {
        format!("{} {} {}", self.level, self.target, self.fields["message"])
    }
}

/// Keeps every event it is shown.
#[derive(Clone, Default)]
struct Capture(Arc<Mutex<Vec<Line>>>);

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl<S: tracing::Subscriber> Layer<S> for Capture {
    fn on_event(&self, event: &tracing::Event<'_>, _: LayerContext<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let (level, target) = (*event.metadata().level(), event.metadata().target().to_owned());
        self.0.lock().unwrap().push(Line { level, target, fields: fields.0 });
    }
}

/// Lets one test run at a time: whether a line is logged at all is remembered per process, and a
/// test without a subscriber would have it remembered as unwanted.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `run` logs under these targets, down to these levels.
fn logged<T>(targets: &[(&str, LevelFilter)], run: impl FnOnce() -> T) -> Vec<Line> {
    let capture = Capture::default();
    let filter = Targets::new().with_targets(targets.iter().copied());
    let subscriber = Registry::default().with(capture.clone().with_filter(filter));
    tracing::subscriber::with_default(subscriber, run);
    std::mem::take(&mut *capture.0.lock().unwrap())
}

const ALL: &[(&str, LevelFilter)] = &[("orlop", LevelFilter::TRACE)];

fn titles(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::title).collect()
}

fn asked(text: &str) -> Session {
    block_on(plain_session(&[Message::user(text)])).unwrap()
}

fn core_saying(fragments: &[&str]) -> Core {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(fragments)).reply(ScriptedReply::text(fragments));
    core_with(&provider).unwrap()
}

fn send(core: &Core, session: &Session, config: &Config) -> Result<Response> {
    block_on(core.send_request(session, config, RequestOptions::default()))
}

fn stream(core: &Core, session: &Session, config: &Config) -> Vec<Result<CoreEvent>> {
    block_on(core.send_request_stream(session, config, RequestOptions::default()).collect())
}

#[test] // E-37
fn a_request_logs_resolution_body_chunks_and_end() {
    let _alone = alone();
    let (core, session) = (core_saying(&["Hel", "lo"]), asked("hi"));
    let lines = logged(ALL, || send(&core, &session, &Config::empty()).unwrap());
    assert_eq!(
        titles(&lines),
        [
            "DEBUG orlop::core plugins resolved",
            "DEBUG orlop::core sending request",
            "INFO orlop::core request complete",
        ]
    );
    assert_eq!(lines[0].fields["provider"], "scripted");
    assert_eq!(lines[1].fields["native_messages"], r#"{"who":"user","say":"hi"}"#);

    let lines = logged(ALL, || stream(&core, &session, &Config::empty()));
    assert_eq!(
        titles(&lines),
        [
            "DEBUG orlop::core sending request",
            "TRACE orlop::chunks partial",
            "TRACE orlop::chunks partial",
            "DEBUG orlop::core streaming request complete",
        ]
    );
}

#[test] // E-37
fn logging_can_be_configured_after_the_core_was_made_and_used() {
    let _alone = alone();
    let (core, session) = (core_saying(&["a"]), asked("hi"));
    send(&core, &session, &Config::empty()).unwrap();
    let lines = logged(ALL, || stream(&core, &session, &Config::empty()));
    assert!(titles(&lines).contains(&"DEBUG orlop::core sending request".to_owned()));

    // Chunks have a logger of their own, and levels hold.
    for (targets, expected) in [
        (&[("orlop::core", LevelFilter::INFO)][..], vec!["INFO orlop::core request complete"]),
        (&[("orlop::chunks", LevelFilter::TRACE)], vec!["TRACE orlop::chunks partial"]),
        (&[("orlop", LevelFilter::OFF)], vec![]),
    ] {
        let core = core_saying(&["a"]);
        let lines = logged(targets, || {
            let config = Config::empty();
            if targets[0].0 == "orlop::core" {
                send(&core, &session, &config).map(drop).unwrap();
            } else {
                drop(stream(&core, &session, &config));
            }
        });
        assert_eq!(titles(&lines), expected);
    }
}

#[test] // E-37
fn bodies_are_cut_to_a_thousand_characters() {
    let _alone = alone();
    for (text, whole) in [("é".repeat(5000), false), ("é".repeat(100), true)] {
        let provider = ScriptedProvider::default();
        provider.reply(ScriptedReply::text(&["fine"]));
        let mut core = core_with(&provider).unwrap();
        let schema = json!({"name": "t", "description": text, "parameters": {}});
        let tool = ScriptedTool::new("kit")
            .get_tool_schemas(move |_, _| Ok(vec![schema.as_object().unwrap().clone()]));
        core.register_tool(Arc::new(tool)).unwrap();
        let lines = logged(ALL, || send(&core, &asked(&text), &Config::empty()).unwrap());
        let request =
            lines.iter().find(|line| line.fields["message"] == "sending request").unwrap();
        for field in ["native_messages", "request"] {
            let logged = &request.fields[field];
            assert!(logged.contains("éé"), "{field}");
            assert_eq!(logged.chars().count() < 1000, whole, "{field}");
            assert!(logged.chars().count() <= 1000, "{field}");
        }
        assert!(lines.iter().all(|line| line.fields.values().all(|field| field.len() <= 2000)));
    }
}

#[test] // F-14
fn a_tool_that_fails_midway_is_logged() {
    let _alone = alone();
    let tool = ScriptedTool::new("kit").offering(&["t"]).stream_tool(|_, _| {
        vec![Ok(ToolPart::Part(json!({"part": 1}))), Err(Error::plugin("disk full"))]
    });
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    core.register_tool(Arc::new(tool)).unwrap();
    let call = json!({"id": "c1", "name": "t"}).as_object().unwrap().clone();
    let lines = logged(&[("orlop", LevelFilter::WARN)], || {
        let (config, context) = (Config::empty(), CallContext::default());
        block_on(core.execute_tool_calls(vec![call], &config, &context)).unwrap()
    });
    assert_eq!(titles(&lines), ["ERROR orlop::core a tool failed"]);
    assert_eq!(lines[0].fields["tool"], "kit");
    assert_eq!(lines[0].fields["error"], "disk full (plugin \"kit\", hook stream_tool)");
}

/// A key that only exists at run time, so that no scanner finds it in this file.
fn fake_key() -> String {
    ["sk", "test", &"0123456789".repeat(3)].join("-")
}

/// Runs requests and tool calls that succeed, fail and are refused; gives the errors.
fn everything_that_can_go_wrong(key: &str) -> Vec<Error> {
    let provider = ScriptedProvider::default().models(&["m"]);
    provider
        .reply(ScriptedReply::text(&["fine"]))
        .reply(ScriptedReply::text(&["fine"]))
        .reply(ScriptedReply::text(&["a"]).failing(Error::provider("refused")))
        .reply(ScriptedReply::text(&["fine"]));
    provider.fail_models(true);
    let mut core = core_with(&provider).unwrap();
    let fragile = ScriptedFeature::new("fragile").finalize(|_, cx| match cx.get("fail") {
        Some(_) => Err(Error::plugin("broken")),
        None => Ok(FinalizeChange::default()),
    });
    core.register_feature(Arc::new(fragile)).unwrap();
    let tool = ScriptedTool::new("kit")
        .offering(&["t"])
        .execute_tool(|_, _| Err(Error::plugin("no luck")))
        .format_tool_call_preview(|_, _| panic!("no preview"));
    core.register_tool(Arc::new(tool)).unwrap();

    let mut errors = Vec::new();
    let session = asked("hi");
    let full = config(json!({"provider": "scripted", "model": "m", "api_key": key}));
    send(&core, &session, &full).unwrap();
    stream(&core, &session, &full).into_iter().for_each(|event| drop(event.unwrap()));
    errors.push(send(&core, &session, &full).unwrap_err());
    let context = CallContext::new("test").with("fail", true);
    let options = RequestOptions { context, ..RequestOptions::default() };
    errors.push(block_on(core.send_request(&session, &full, options)).unwrap_err());
    errors.push(send(&core, &session, &full).unwrap_err());
    let unknown = config(json!({"provider": "nobody", "api_key": key}));
    errors.push(send(&core, &session, &unknown).unwrap_err());

    let context = CallContext::default();
    let call = json!({"id": "c1", "name": "t", "arguments": {}}).as_object().unwrap().clone();
    let messages = block_on(core.execute_tool_calls(vec![call.clone()], &full, &context)).unwrap();
    assert!(!messages[0].text().contains(key));
    block_on(core.format_tool_call_preview(&call, &full)).unwrap();
    for wrong in [json!(key), json!([key])] {
        let args = json!({"session": session.to_json(), "config": wrong});
        let args = args.as_object().unwrap().clone();
        errors.push(block_on(core.invoke("send_request", args, &context)).unwrap_err());
    }
    errors
}

#[test] // E-38
fn a_key_never_appears_in_logs_or_errors() {
    let _alone = alone();
    let key = fake_key();
    let mut errors = Vec::new();
    let lines = logged(&[("", LevelFilter::TRACE)], || {
        errors = everything_that_can_go_wrong(&key);
    });
    assert!(lines.len() > 10, "{:?}", titles(&lines));
    for line in &lines {
        let shown = line.fields.values().find(|value| value.contains(&key));
        assert!(shown.is_none(), "{}: {shown:?}", line.title());
    }
    assert_eq!(errors.len(), 6);
    for error in errors {
        let shown = format!("{error} {error:?} {} {:?}", error.to_json(), error.provider_body());
        assert!(!shown.contains(&key), "{shown}");
    }
}

#[test] // E-38
fn a_plugin_that_puts_the_key_into_the_request_does_not_have_it_logged() {
    let _alone = alone();
    let key = fake_key();
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["fine"]));
    let mut core = core_with(&provider).unwrap();
    let leaky = ScriptedFeature::new("leaky").initialize_request(|input, _| {
        let key = input.state.config.text("api_key").unwrap_or_default();
        Ok(orlop_core::hooks::RequestChange::state(StateChange::request(
            "auth",
            format!("Bearer {key}"),
        )))
    });
    core.register_feature(Arc::new(leaky)).unwrap();
    let config = config(json!({ "api_key": key }));
    let lines = logged(ALL, || send(&core, &asked("hi"), &config).unwrap());
    let request = lines.iter().find_map(|line| line.fields.get("request")).unwrap();
    assert!(request.contains("Bearer ***") && !request.contains(&key), "{request}");
}

#[test] // E-38
fn a_key_in_the_configuration_does_not_show_in_debug_output() {
    let key = fake_key();
    let config = config(json!({"api_key": key, "deep": {"token": key}}));
    let state = State { config: config.clone(), ..State::default() };
    let request = ModelRequest {
        native_messages: Seq::new(),
        state: state.clone(),
        request_id: None,
        stream: false,
    };
    let init = InitInput { config: config.clone(), state: state.clone() };
    let shown = format!("{config:?} {state:?} {request:?} {init:?} {:?}", config.fingerprint());
    assert!(shown.contains("api_key"), "the name of a setting is no secret");
    assert!(!shown.contains(&key), "{shown}");
}
