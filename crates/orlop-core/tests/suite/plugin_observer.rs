//! The observer: it sees every hook that answers, and every stream, start and end, well or badly.

use futures::StreamExt;
use futures::future::{self, BoxFuture, FutureExt};
use orlop_core::hooks::*;
use orlop_core::{
    Config, Context, Core, Error, Manifest, RequestOptions, Session, ToolPart, Value,
};
use orlop_testkit::scripted::{
    Log, Over, ScriptedFeature, ScriptedProvider, ScriptedReply, ScriptedTool, core_with,
};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Writes down what it is told of the plugin `watched`.
struct Trace(Log);

impl Observer for Trace {
    fn hook(&self, plugin: &str, hook: Hook, event: HookEvent<'_>) {
        if plugin == "watched" {
            self.0.add(match event {
                HookEvent::Started => format!("{} started", hook.name()),
                HookEvent::Answered(outcome) => {
                    format!("{} answered {}", hook.name(), outcome.to_json())
                }
                HookEvent::Failed(error) => {
                    assert_eq!(error.plugin_name(), Some("watched"));
                    assert_eq!(error.hook_name(), Some(hook.name()));
                    format!("{} failed {}", hook.name(), error.class().as_str())
                }
            });
        }
    }
}

/// Ends every wait at once.
struct AtOnce;

impl Timer for AtOnce {
    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        future::ready(()).boxed()
    }
}

fn observed(feature: impl Feature) -> (Core, Log) {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    core.register_feature(Arc::new(feature)).unwrap();
    let log = Log::new();
    (core.with_timer(Arc::new(AtOnce)).observed(Arc::new(Trace(log.clone()))), log)
}

/// A feature whose `get_tags`, which must not fail, and `get_completions`, which may, go like this.
struct Watched<T, C>(T, C);

impl<T, C> Plugin for Watched<T, C>
where
    T: Fn() -> Answer<'static, Vec<String>> + Send + Sync + 'static,
    C: Fn() -> Answer<'static, Vec<Value>> + Send + Sync + 'static,
{
    fn manifest(&self) -> Manifest {
        Manifest::new("watched", "1.0.0")
    }
    fn get_tags<'a>(&'a self, _: &'a TagsInput, _: &'a Context) -> Answer<'a, Vec<String>> {
        (self.0)()
    }
}

impl<T, C> Feature for Watched<T, C>
where
    T: Fn() -> Answer<'static, Vec<String>> + Send + Sync + 'static,
    C: Fn() -> Answer<'static, Vec<Value>> + Send + Sync + 'static,
{
    fn get_completions<'a>(
        &'a self,
        _: &'a CompletionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Value>> {
        (self.1)()
    }
}

macro_rules! check_trace {
    ($answer:expr, $end:literal) => {{
        let (core, log) = observed(Watched(move || $answer, move || $answer));
        let tags = core.tags_for(&Config::empty()).await;
        assert_eq!(log.take()[..2], ["get_tags started", concat!("get_tags ", $end)]);
        assert_eq!(tags.is_err(), $end.starts_with("failed"));
        core.completions(&Config::empty(), "").await.expect("a failure is skipped");
        let seen = ["get_completions started", concat!("get_completions ", $end)];
        assert_eq!(log.take(), seen, "and seen all the same");
    }};
}

#[tokio::test]
async fn every_way_to_end_is_seen() {
    check_trace!(Answer::default(), "answered []");
    check_trace!(Answer::later(future::ready(Ok(vec![]))), "answered []");
    check_trace!(Err(Error::unavailable("broken")).into(), "failed unavailable");
    check_trace!(Answer::later(async { Err(Error::unavailable("broken")) }), "failed unavailable");
    check_trace!(panic!("boom"), "failed plugin");
    check_trace!(Answer::later(async { panic!("boom") }), "failed plugin");
    check_trace!(Answer::later(future::pending()), "failed plugin");
    // The limit is over at once, and counts from when the answer can be waited for.
    let soon = || tokio::task::yield_now().map(Ok);
    check_trace!(Answer::after(soon(), future::ready(Ok(vec![]))), "answered []");
    check_trace!(Answer::after(soon(), future::pending()), "failed plugin");
    check_trace!(Answer::after(async { panic!("boom") }, future::pending()), "failed plugin");
    let broken = || future::ready(Err(Error::unavailable("broken")));
    check_trace!(Answer::after(broken(), future::pending()), "failed unavailable");
}

#[tokio::test]
async fn the_outcome_says_what_the_hook_changed() {
    let feature = ScriptedFeature::new("watched")
        .init(|_, _| Ok(StateChange::set("k", 1)))
        .is_enabled(|_, _| Ok(Some(true)))
        .get_template(|_, _| Ok("Dear".into()));
    let (core, log) = observed(feature);
    core.templates(&Config::empty()).await.unwrap();
    assert_eq!(
        log.take(),
        [
            "get_tags started",
            "get_tags answered []",
            "is_enabled started",
            "is_enabled answered true",
            "is_enabled started",
            "is_enabled answered true",
            "init started",
            "init answered {\"patch\":{\"k\":1}}",
            "filter_tools started",
            "filter_tools answered null",
            "get_template started",
            "get_template answered \"Dear\"",
        ]
    );
}

#[tokio::test]
async fn a_hook_that_is_not_declared_is_neither_called_nor_seen() {
    let called = Log::new();
    let seen = called.clone();
    let manifest = Manifest::new("watched", "1.0.0").only(HookSet::of(&[Hook::GetUiElements]));
    let feature = ScriptedFeature::with_manifest(manifest)
        .init(move |_, _| {
            seen.add("init called");
            Ok(StateChange::Keep)
        })
        .get_ui_elements(|_, _| Ok(vec![json!({"ui_type": "note"})]));
    let (core, log) = observed(feature);
    assert_eq!(core.ui_schema(&Config::empty()).await.unwrap().len(), 1);
    let outcome = "get_ui_elements answered [{\"ui_type\":\"note\"}]";
    assert_eq!(log.take(), ["get_ui_elements started", outcome]);
    assert_eq!(called.lines(), [""; 0]);
}

#[tokio::test]
async fn a_stream_is_seen_from_its_opening_to_its_end() {
    for (reply, expected) in [
        (ScriptedReply::text(&["a", "b"]), "stream_api answered null"),
        (
            ScriptedReply::text(&["a"]).failing(Error::provider("gone")),
            "stream_api failed provider",
        ),
    ] {
        let provider = ScriptedProvider::new("watched");
        provider.reply(reply);
        let log = Log::new();
        let core = core_with(&provider).unwrap().observed(Arc::new(Trace(log.clone())));
        let session = core.create_session(None);
        let events = core.send_request_stream(&session, &Config::empty(), Default::default());
        events.collect::<Vec<_>>().await;
        let lines: Vec<_> =
            log.lines().into_iter().filter(|line| line.starts_with("stream_api")).collect();
        assert_eq!(lines, ["stream_api started", expected]);
    }
}

#[tokio::test]
async fn a_tool_stream_is_seen_and_its_error_has_a_name() {
    let tool = ScriptedTool::new("watched").offering(&["t"]).stream_tool(|_, _| {
        vec![Ok(ToolPart::Part(json!({ "part": 1 }))), Err(Error::plugin("stuck"))]
    });
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    core.register_tool(Arc::new(tool)).unwrap();
    let log = Log::new();
    let core = core.observed(Arc::new(Trace(log.clone())));
    let call = json!({ "id": "1", "name": "t" }).as_object().cloned().unwrap();
    let chunks = core.stream_tool_call(&call, &Config::empty(), &Default::default()).await.unwrap();
    let last = chunks.collect::<Vec<_>>().await.pop().unwrap();
    assert_eq!(last.unwrap_err().to_string(), "stuck (plugin \"watched\", hook stream_tool)");
    let lines: Vec<_> =
        log.lines().into_iter().filter(|line| line.starts_with("stream_tool")).collect();
    assert_eq!(lines, ["stream_tool started", "stream_tool failed plugin"]);
}

#[tokio::test]
async fn a_provider_that_cannot_name_its_format_is_not_used() {
    let odd = Over::new(ScriptedProvider::default()).native_format(|| panic!("no idea"));
    let mut core = Core::new();
    core.register_provider(Arc::new(odd), vec![]).unwrap();
    let session = Session::new("s");
    let sent = core.send_request(&session, &Config::empty(), RequestOptions::default()).await;
    let error = sent.unwrap_err();
    assert_eq!(error.plugin_name(), Some("scripted"));
    assert!(error.to_string().contains("native_format"), "{error}");
}
