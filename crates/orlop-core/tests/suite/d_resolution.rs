//! Resolution: which plugins take part for a configuration, in which order, and what is cached.

use futures::FutureExt;
use orlop_core::hooks::{EnabledInput, RequestChange, ToolInput, ToolSchemasInput};
use orlop_core::interop::{CallFormat, Interop};
use orlop_core::types::{InspectedCall, ToolReport};
use orlop_core::*;
use orlop_testkit::scripted::{
    Log, ScriptedExtension, ScriptedFeature, ScriptedProvider, ScriptedReply, ScriptedTool, config,
    core_with, plain_session, texts,
};
use serde_json::json;
use std::sync::Arc;

#[derive(Default)]
struct Plugins {
    extensions: Vec<ScriptedExtension>,
    features: Vec<ScriptedFeature>,
    tools: Vec<ScriptedTool>,
}

impl Plugins {
    fn beside(self, provider: &ScriptedProvider) -> Core {
        let mut core = core_without_provider(self.features, self.tools);
        let extensions =
            self.extensions.into_iter().map(|plugin| Arc::new(plugin) as Arc<dyn Extension>);
        core.register_provider(Arc::new(provider.clone()), extensions.collect()).unwrap();
        core
    }
}

fn core_without_provider(features: Vec<ScriptedFeature>, tools: Vec<ScriptedTool>) -> Core {
    let mut core = Core::new();
    for feature in features {
        core.register_feature(Arc::new(feature)).unwrap();
    }
    for tool in tools {
        core.register_tool(Arc::new(tool)).unwrap();
    }
    core
}

fn replying(count: usize) -> ScriptedProvider {
    let provider = ScriptedProvider::default();
    for _ in 0..count {
        provider.reply(ScriptedReply::text(&["yes"]));
    }
    provider
}

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

async fn hi() -> Session {
    plain_session(&[Message::user("hi")]).await.unwrap()
}

async fn send(core: &Core, config: &Config) -> Result<Response> {
    core.send_request(&hi().await, config, RequestOptions::default()).await
}

#[tokio::test] // D-01
async fn the_config_names_the_provider_to_use() {
    let mut core = Core::new();
    for name in ["first", "second"] {
        let provider = ScriptedProvider::new(name);
        provider.reply(ScriptedReply::text(&[name]));
        core.register_provider(Arc::new(provider), vec![]).unwrap();
    }
    let sent = send(&core, &config(json!({"provider": "second"}))).await.unwrap();
    assert_eq!(texts(&sent.session), "hi|second");
    let error = send(&core, &Config::empty()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadArgument);
    assert!(error.message().contains("first, second"), "{error}");

    let only = core_with(&replying(1)).unwrap();
    let sent = send(&only, &Config::empty()).await.unwrap();
    assert_eq!(texts(&sent.session), "hi|yes", "the only one needs no name");
}

#[tokio::test] // D-02
async fn an_unknown_provider_is_an_error_before_any_hook_is_called() {
    let log = Log::new();
    let mut core = Core::new();
    for name in ["one", "two"] {
        core.register_provider(Arc::new(ScriptedProvider::new(name).log_to(&log)), vec![]).unwrap();
    }
    let nope = config(json!({"provider": "nope"}));
    let errors = [
        send(&core, &nope).await.unwrap_err(),
        core.plugins_for(&nope).await.unwrap_err(),
        core.models_for(&nope).await.unwrap_err(),
        core.ui_schema(&nope).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.class(), ErrorClass::NotFound);
        for name in ["\"nope\"", "one", "two"] {
            assert!(error.message().contains(name), "{error}");
        }
    }
    assert_eq!(log.lines(), [""; 0]);
}

/// A core with one of each kind, all of which bring a tag of their name.
fn one_of_each() -> Core {
    Plugins {
        extensions: vec![ScriptedExtension::new("e").get_tags(|_, _| Ok(vec!["of-e".into()]))],
        features: vec![ScriptedFeature::new("f").get_tags(|_, _| Ok(vec!["of-f".into()]))],
        tools: vec![ScriptedTool::new("t").get_tags(|_, _| Ok(vec!["of-t".into()]))],
    }
    .beside(&replying(1).tags(&["of-p"]))
}

#[tokio::test] // D-03
async fn resolution_yields_provider_extensions_features_tools_and_tags() {
    let log = Log::new();
    let seen = log.clone();
    let mut core = one_of_each();
    let probe = ScriptedFeature::new("probe").initialize_request(move |_, cx| {
        let facts =
            json!([cx.provider(), cx.extensions(), cx.features(), cx.tool_plugins(), cx.tags(),]);
        seen.add(facts.to_string());
        Ok(RequestChange::default())
    });
    core.register_feature(Arc::new(probe)).unwrap();
    send(&core, &Config::empty()).await.unwrap();
    assert_eq!(
        log.text(),
        r#"["scripted",["e"],["f","probe"],["t"],["of-p","of-e","of-f","of-t"]]"#
    );
}

#[tokio::test] // D-04
async fn active_plugins_are_listed_by_kind() {
    let core = one_of_each();
    let list = async |config: Value| {
        let args = map(json!({"config": config}));
        core.invoke("get_plugins_for_config", args, &CallContext::new("test")).await
    };
    let expected =
        json!({"providers": ["scripted"], "extensions": ["e"], "features": ["f"], "tools": ["t"]});
    assert_eq!(list(json!({"provider": "scripted"})).await.unwrap(), expected);
    for wrong in [json!([]), json!("scripted"), json!(null)] {
        assert_eq!(list(wrong).await.unwrap_err().class(), ErrorClass::WrongType);
    }
}

fn tagged(manifest: Manifest, tags: &'static [&str]) -> ScriptedFeature {
    let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
    ScriptedFeature::with_manifest(manifest).get_tags(move |_, _| Ok(tags.clone()))
}

fn named(name: &str) -> Manifest {
    Manifest::new(name, "1.0.0").without_models()
}

#[tokio::test] // D-05
async fn the_tag_pool_holds_the_tags_of_what_is_enabled() {
    let mut core = one_of_each();
    let off = tagged(named("off"), &["of-off"]).is_enabled(|_, _| Ok(Some(false)));
    core.register_feature(Arc::new(off)).unwrap();
    let again = tagged(named("again"), &["of-p", "of-f"]);
    core.register_feature(Arc::new(again)).unwrap();
    let tags = core.tags_for(&Config::empty()).await.unwrap();
    assert_eq!(tags, ["of-p", "of-e", "of-f", "of-t"]);
}

async fn check_enabled(manifest: Manifest, opinion: Option<bool>, enabled: bool) {
    let case = format!("{:?} {:?} {opinion:?}", manifest.required_tags, manifest.forbidden_tags);
    let judge = move |_: &EnabledInput, _: &Context| Ok(opinion);
    let core = Plugins {
        extensions: vec![ScriptedExtension::with_manifest(manifest.clone()).is_enabled(judge)],
        features: vec![ScriptedFeature::with_manifest(manifest.clone()).is_enabled(judge)],
        tools: vec![ScriptedTool::with_manifest(manifest).is_enabled(judge)],
    }
    .beside(&ScriptedProvider::default().tags(&["a", "b"]));
    let active = core.plugins_for(&Config::empty()).await.unwrap();
    let counts = [active.extensions.len(), active.features.len(), active.tools.len()];
    assert_eq!(counts, [usize::from(enabled); 3], "{case}");
}

#[tokio::test] // D-06
async fn one_missing_required_tag_disables() {
    check_enabled(named("x").requires(&["a"]), None, true).await;
    check_enabled(named("x").requires(&["a", "b"]), None, true).await;
    check_enabled(named("x").requires(&["a", "b", "c"]), None, false).await;
    check_enabled(named("x").requires(&["c"]), None, false).await;
}

#[tokio::test] // D-07
async fn one_present_forbidden_tag_disables() {
    check_enabled(named("x").forbids(&["c", "d"]), None, true).await;
    check_enabled(named("x").forbids(&["c", "a"]), None, false).await;
    check_enabled(named("x").requires(&["a"]).forbids(&["b"]), None, false).await;
}

#[tokio::test] // D-08
async fn false_disables_and_true_overrides_no_tag_rule() {
    for (opinion, where_tags_allow) in [(Some(true), true), (None, true), (Some(false), false)] {
        check_enabled(named("x"), opinion, where_tags_allow).await;
        check_enabled(named("x").requires(&["a"]), opinion, where_tags_allow).await;
        check_enabled(named("x").requires(&["c"]), opinion, false).await;
        check_enabled(named("x").forbids(&["a"]), opinion, false).await;
    }
}

/// Registers the features in every order; whatever it is, these are enabled in the end.
async fn check_settled(features: &[ScriptedFeature], enabled: &[&str]) {
    let mut orders = vec![vec![]];
    for index in 0..features.len() {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                (0..=order.len()).map(move |at| {
                    let mut longer = order.clone();
                    longer.insert(at, index);
                    longer
                })
            })
            .collect();
    }
    for order in orders {
        let features = order.iter().map(|index| features[*index].clone()).collect();
        let core = Plugins { features, ..Default::default() }.beside(&ScriptedProvider::default());
        let mut active = core.plugins_for(&Config::empty()).await.unwrap().features;
        active.sort();
        assert_eq!(active, enabled, "{order:?}");
    }
}

#[tokio::test] // D-09
async fn tags_of_one_plugin_enable_another_in_any_order() {
    let a = tagged(named("a"), &["of-a"]);
    let b = tagged(named("b").requires(&["of-a"]), &["of-b"]);
    let c = tagged(named("c").requires(&["of-a", "of-b"]), &["of-c"]);
    let not_beside_c = tagged(named("d").forbids(&["of-c"]), &["of-d"]);
    let only_beside_d = tagged(named("e").requires(&["of-d"]), &[]);
    let chain = [a, b, c, not_beside_c, only_beside_d];
    check_settled(&chain, &["a", "b", "c"]).await;
    check_settled(&chain[1..], &["d", "e"]).await;
}

#[tokio::test] // D-09
async fn circles_end_and_end_the_same_in_any_order() {
    let plain = tagged(named("plain"), &[]);
    // Each needs the other: neither can be first.
    let circle = [
        tagged(named("a").requires(&["of-b"]), &["of-a"]),
        tagged(named("b").requires(&["of-a"]), &["of-b"]),
        plain.clone(),
    ];
    check_settled(&circle, &["plain"]).await;
    // A tag of its own does not satisfy a plugin.
    check_settled(&[tagged(named("a").requires(&["of-a"]), &["of-a"])], &[]).await;
    // Each excludes the other: they cannot stand together, and none is preferred.
    let rivals = [
        tagged(named("a").forbids(&["of-b"]), &["of-a"]),
        tagged(named("b").forbids(&["of-a"]), &["of-b"]),
        plain.clone(),
    ];
    check_settled(&rivals, &["plain"]).await;
    check_settled(&rivals[..2], &[]).await;
    // One calls the other, which drives it away.
    let chase = [
        tagged(named("a").forbids(&["of-b"]), &["of-a"]),
        tagged(named("b").requires(&["of-a"]), &["of-b"]),
        plain.clone(),
    ];
    check_settled(&chase, &["plain"]).await;
    check_settled(&chase[..2], &[]).await;
    // And one that wants to be off as soon as it is on.
    let shy = tagged(named("a"), &["of-a"])
        .is_enabled(|input, _| Ok(Some(!input.tags.contains(&"of-a".to_owned()))));
    check_settled(&[shy, plain], &["plain"]).await;
}

#[tokio::test] // D-09
async fn tags_reach_across_kinds() {
    let needs_tool = Manifest::new("e", "1.0.0").requires(&["of-t"]);
    let core = Plugins {
        extensions: vec![ScriptedExtension::with_manifest(needs_tool)],
        tools: vec![ScriptedTool::new("t").get_tags(|_, _| Ok(vec!["of-t".into()]))],
        ..Default::default()
    }
    .beside(&ScriptedProvider::default());
    assert_eq!(core.plugins_for(&Config::empty()).await.unwrap().extensions, ["e"]);
}

/// A format for calls like `{"<key>": "tool name"}`.
fn format_with_key(key: &'static str) -> Interop {
    let read = move |call: &Map| {
        let name = call.get(key)?.as_str()?.to_owned();
        Some(InspectedCall { tool_name: Some(name), raw: call.clone(), ..Default::default() })
    };
    let format = CallFormat { id: key.to_owned(), read: Arc::new(read), write: None };
    Interop { calls: vec![format], ..Default::default() }
}

#[tokio::test] // D-10
async fn a_disabled_plugin_takes_no_part() {
    let log = Log::new();
    let off = |_: &EnabledInput, _: &Context| Ok(Some(false));
    macro_rules! told {
        ($Type:ident, $name:literal, [$($hook:ident)*]) => {{
            let manifest = Manifest::new($name, "1.0.0").config(concat!($name, ".key"), json!({}));
            let plugin = $Type::with_manifest(manifest).is_enabled(off);
            $(
                let seen = log.clone();
                let plugin = plugin.$hook(move |_, _| {
                    seen.add(concat!($name, ".", stringify!($hook)));
                    Ok(Default::default())
                });
            )*
            plugin
        }};
    }
    let feature = told!(ScriptedFeature, "f", [
        init get_ui_elements to_native_messages from_native_messages initialize_request finalize
        get_actions execute_action filter_tools attachment_parts get_template get_completions
        apply_completion
    ]);
    let extension = told!(ScriptedExtension, "e", [
        init get_ui_elements to_native_messages from_native_messages initialize_request finalize
        get_actions execute_action process_chunk
    ]);
    let tool = told!(ScriptedTool, "t", [
        init get_ui_elements get_tool_schemas prepare_tools execute_tool
    ]);
    let core = Plugins {
        extensions: vec![extension.interop(format_with_key("by-extension"))],
        features: vec![feature],
        tools: vec![
            tool.interop(format_with_key("by-tool")),
            ScriptedTool::new("on").offering(&["dig"]).interop(format_with_key("by-on")),
        ],
    }
    .beside(&replying(1));
    let (config, context) = (Config::empty(), CallContext::new("test"));

    send(&core, &config).await.unwrap();
    core.execute_lifecycle_actions(&hi().await, &config, "x", &context).await.unwrap();
    assert!(core.session_actions(&config).await.unwrap().is_empty());
    assert!(core.ui_schema(&config).await.unwrap().is_empty());
    assert!(core.templates(&config).await.unwrap().is_empty());
    assert_eq!(core.tool_schemas(&config).await.unwrap().len(), 1);
    let action = ActionCall::new("f", "any");
    let error = core.execute_session_action(&hi().await, &config, action, &context).await;
    assert_eq!(error.unwrap_err().class(), ErrorClass::NotFound);
    for (key, handled) in [("by-extension", false), ("by-tool", false), ("by-on", true)] {
        let calls = vec![map(json!({key: "dig"}))];
        let message = core.execute_tool_calls(calls, &config, &context).await.unwrap().remove(0);
        assert_eq!(message.metadata().contains_key("tool_plugin"), handled, "{key}");
    }
    assert_eq!(log.lines(), [""; 0]);

    // These go by all registered plugins.
    let keys: Vec<_> = core.config_schema().iter().map(|entry| entry["key"].clone()).collect();
    assert_eq!(keys, ["e.key", "f.key", "t.key"]);
    core.completions(&config, "").await.unwrap();
    core.apply_completion(&config, "", Map::new()).await.unwrap();
    assert_eq!(log.text(), "f.get_completions f.apply_completion");
}

#[tokio::test] // D-11
async fn features_run_by_priority_and_ties_keep_the_order_of_registration() {
    let log = Log::new();
    macro_rules! feature {
        ($name:literal, $priority:literal) => {{
            let plugin = ScriptedFeature::new($name).priority($priority);
            let seen = log.clone();
            let plugin = plugin.initialize_request(move |_, _| {
                seen.add($name);
                Ok(RequestChange::default())
            });
            let seen = log.clone();
            plugin.finalize(move |_, _| {
                seen.add(concat!($name, "'"));
                Ok(Default::default())
            })
        }};
    }
    let features = vec![feature!("1st", 100), feature!("2nd", 50), feature!("3rd", 100)];
    let core = Plugins { features, ..Default::default() }.beside(&replying(1));
    send(&core, &Config::empty()).await.unwrap();
    assert_eq!(log.text(), "2nd 1st 3rd 2nd' 1st' 3rd'");
    assert_eq!(core.plugins_for(&Config::empty()).await.unwrap().features, ["2nd", "1st", "3rd"]);
}

#[tokio::test] // D-12
async fn elements_come_by_priority_of_features_and_then_of_tools() {
    macro_rules! with_element {
        ($Type:ident, $name:literal, $priority:literal) => {
            $Type::new($name)
                .priority($priority)
                .get_ui_elements(|_, _| Ok(vec![json!({"ui_type": "note"})]))
        };
    }
    let core = Plugins {
        features: vec![
            with_element!(ScriptedFeature, "f1", 100),
            with_element!(ScriptedFeature, "f2", 50),
            with_element!(ScriptedFeature, "f3", 100),
        ],
        tools: vec![
            with_element!(ScriptedTool, "t1", 20),
            with_element!(ScriptedTool, "t2", 10),
            with_element!(ScriptedTool, "t3", 20),
        ],
        ..Default::default()
    }
    .beside(&ScriptedProvider::default());
    let elements = core.ui_schema(&Config::empty()).await.unwrap();
    let plugins: Vec<_> = elements.iter().map(|element| element["plugin"].clone()).collect();
    assert_eq!(plugins, ["f2", "f1", "f3", "t2", "t1", "t3"]);
}

#[tokio::test] // D-13
async fn extensions_act_in_the_order_of_registration() {
    let log = Log::new();
    let extension = |name: &'static str, priority| {
        let (a, b) = (log.clone(), log.clone());
        ScriptedExtension::new(name)
            .priority(priority)
            .initialize_request(move |_, _| {
                a.add(name);
                Ok(RequestChange::default())
            })
            .finalize(move |_, _| {
                b.add(format!("{name}'"));
                Ok(Default::default())
            })
    };
    let extensions = vec![extension("1st", 3), extension("2nd", 2), extension("3rd", 1)];
    let core = Plugins { extensions, ..Default::default() }.beside(&replying(1));
    send(&core, &Config::empty()).await.unwrap();
    assert_eq!(log.text(), "1st 2nd 3rd 1st' 2nd' 3rd'", "priority is not read on extensions");
}

#[tokio::test] // D-20
async fn equal_configs_are_resolved_once_and_others_anew() {
    let log = Log::new();
    let seen = log.clone();
    let feature = ScriptedFeature::new("f").is_enabled(move |input, _| {
        seen.add(input.config.text("model").unwrap_or("none"));
        Ok(None)
    });
    let core = Plugins { features: vec![feature], ..Default::default() }
        .beside(&ScriptedProvider::default());
    let resolve = async |config: Value| {
        log.take();
        core.plugins_for(&Config::from_json(config).unwrap()).await.unwrap();
        log.take().first().cloned()
    };
    assert_eq!(resolve(json!({"model": "m", "x": {"y": 1}})).await.as_deref(), Some("m"));
    assert_eq!(resolve(json!({"x": {"y": 1}, "model": "m"})).await, None, "equal in content");
    assert_eq!(resolve(json!({"model": "n"})).await.as_deref(), Some("n"));
    assert_eq!(resolve(json!({"model": "m", "x": {"y": 2}})).await.as_deref(), Some("m"));
    assert_eq!(resolve(json!({"model": "m", "x": {"y": 1}})).await, None, "still known");
}

#[tokio::test] // D-19
async fn every_registration_resets_the_caches() {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    let named = config(json!({"provider": "scripted"}));
    let later = config(json!({"provider": "later"}));
    assert_eq!(core.plugins_for(&named).await.unwrap().features, [""; 0]);
    core.register_feature(Arc::new(ScriptedFeature::new("f"))).unwrap();
    assert_eq!(core.plugins_for(&named).await.unwrap().features, ["f"]);
    assert!(core.available_tools(&named).await.unwrap().is_empty());
    core.register_tool(Arc::new(ScriptedTool::new("t").offering(&["dig"]))).unwrap();
    assert_eq!(core.available_tools(&named).await.unwrap().len(), 1);
    assert!(core.plugins_for(&Config::empty()).await.is_ok(), "the only provider");
    core.register_provider(Arc::new(ScriptedProvider::new("later")), vec![]).unwrap();
    assert_eq!(core.plugins_for(&later).await.unwrap().providers, ["later"]);
    assert!(core.plugins_for(&Config::empty()).await.is_err(), "no longer the only one");
}

/// Offers as many tools as its version says.
struct Growing(Arc<std::sync::atomic::AtomicU64>);

impl Plugin for Growing {
    fn manifest(&self) -> Manifest {
        Manifest::new("growing", "1.0.0").without_models()
    }
}

impl Tool for Growing {
    fn tools_version(&self) -> u64 {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        let schema = |number: u64| json!({"name": format!("t{number}")}).as_object().cloned();
        Answer::ok((0..self.tools_version()).filter_map(schema).collect())
    }
    fn execute_tool<'a>(&'a self, _: &'a ToolInput, _: &'a Context) -> Answer<'a, ToolReport> {
        Answer::ok(ToolReport::ok("done"))
    }
}

#[tokio::test] // D-20
async fn tools_that_have_changed_are_asked_for_again() {
    let version = Arc::new(std::sync::atomic::AtomicU64::new(1));
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    core.register_tool(Arc::new(Growing(version.clone()))).unwrap();
    let offered = async || core.tool_schemas(&Config::empty()).await.unwrap().len();
    assert_eq!(offered().await, 1);
    version.store(3, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(offered().await, 3);
}

/// Counts how often it is asked for its tools.
#[derive(Default)]
struct Counting(std::sync::atomic::AtomicU64);

impl Plugin for Counting {
    fn manifest(&self) -> Manifest {
        Manifest::new("counting", "1.0.0").without_models().only_for_requests(&["key"])
    }
}

impl Tool for Counting {
    fn get_tool_schemas<'a>(
        &'a self,
        input: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        assert!(input.config.get("key").is_none(), "what they go by is the same for all");
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Answer::ok(vec![map(json!({"name": "t"}))])
    }
    fn execute_tool<'a>(&'a self, _: &'a ToolInput, _: &'a Context) -> Answer<'a, ToolReport> {
        Answer::ok(ToolReport::ok("done"))
    }
}

#[tokio::test] // D-20
async fn what_differs_in_keys_of_requests_only_is_resolved_once_and_keeps_its_own_keys() {
    let log = Log::new();
    let seen = log.clone();
    let feature = ScriptedFeature::new("looks")
        .init(|_, _| Ok(StateChange::patch(map(json!({"config": {"added": 1}})))))
        .initialize_request(move |input, _| {
            let config = &input.state.config;
            seen.add(format!("{:?} {:?}", config.get("key"), config.get("added").is_some()));
            Ok(RequestChange::default())
        });
    let counting = Arc::new(Counting::default());
    let mut core = core_with(&replying(3)).unwrap();
    core.register_feature(Arc::new(feature)).unwrap();
    core.register_tool(counting.clone()).unwrap();
    for values in [json!({"key": "a"}), json!({"key": "b"}), json!({})] {
        send(&core, &config(values)).await.unwrap();
    }
    let expected = ["Some(String(\"a\")) true", "Some(String(\"b\")) true", "None true"];
    assert_eq!(log.lines(), expected);
    assert_eq!(counting.0.load(std::sync::atomic::Ordering::Relaxed), 1);
    core.tool_schemas(&config(json!({"key": "a", "other": 1}))).await.unwrap();
    assert_eq!(counting.0.load(std::sync::atomic::Ordering::Relaxed), 2);
}

/// Has one tool, once all are asked for theirs.
struct Together(&'static str, Arc<tokio::sync::Barrier>);

impl Plugin for Together {
    fn manifest(&self) -> Manifest {
        Manifest::new(self.0, "1.0.0").without_models()
    }
}

impl Tool for Together {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        Answer::later(async {
            self.1.wait().await;
            Ok(vec![map(json!({"name": self.0}))])
        })
    }
    fn execute_tool<'a>(&'a self, _: &'a ToolInput, _: &'a Context) -> Answer<'a, ToolReport> {
        Answer::ok(ToolReport::ok("done"))
    }
}

#[tokio::test]
async fn tools_are_asked_for_side_by_side_and_keep_their_order() {
    let barrier = Arc::new(tokio::sync::Barrier::new(3));
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    for name in ["c", "a", "b"] {
        core.register_tool(Arc::new(Together(name, barrier.clone()))).unwrap();
    }
    let config = Config::empty();
    let mut asked = core.tool_schemas(&config).boxed();
    let offered =
        (0..10).find_map(|_| (&mut asked).now_or_never()).expect("nobody else to wait for");
    let names: Vec<Value> = offered.unwrap().iter().map(|schema| schema["name"].clone()).collect();
    assert_eq!(names, ["c", "a", "b"]);
}

#[test] // D-21
fn plugins_are_kept_in_the_order_of_registration() {
    let mut core = Core::new();
    for name in ["z", "m", "a"] {
        let extension = Arc::new(ScriptedExtension::new(&format!("{name}'")));
        core.register_provider(Arc::new(ScriptedProvider::new(name)), vec![extension]).unwrap();
        core.register_feature(Arc::new(ScriptedFeature::new(name).priority(1))).unwrap();
        core.register_tool(Arc::new(ScriptedTool::new(name))).unwrap();
    }
    let held = core.registered();
    assert_eq!(held.providers, ["z", "m", "a"]);
    assert_eq!(held.extensions, ["z'", "m'", "a'"]);
    assert_eq!(held.features, ["z", "m", "a"]);
    assert_eq!(held.tools, ["z", "m", "a"]);
}

#[tokio::test] // D-22
async fn a_core_without_providers() {
    // Disabled by every rule, were there a provider to judge by.
    let manifest = Manifest::new("f", "1.0.0").requires(&["tag"]);
    let feature = ScriptedFeature::with_manifest(manifest.clone())
        .is_enabled(|_, _| Ok(Some(false)))
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("go", "Go").on(&["x"])]))
        .get_ui_elements(|input, cx| {
            let reads =
                |call: Value| cx.interop().unwrap().inspect_call(call.as_object().unwrap()).is_ok();
            Ok(vec![json!({
                "ui_type": "probe", "tags": input.tags, "models": input.models,
                "tools": input.available_tools.len(),
                "core format": reads(json!({"name": "dig", "arguments": {}})),
                "format of the tool": reads(json!({"by-tool": "dig"})),
            })])
        });
    let tool = ScriptedTool::with_manifest(manifest)
        .offering(&["dig"])
        .interop(format_with_key("by-tool"))
        .get_ui_elements(|_, _| Ok(vec![json!({"ui_type": "of tool"})]));
    let core = core_without_provider(vec![feature], vec![tool]);
    let (session, config) = (hi().await, config(json!({"provider": "any"})));
    let context = CallContext::new("test");

    let error = send(&core, &config).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadState);
    assert!(error.message().contains("no provider"), "{error}");
    assert!(core.session_actions(&config).await.unwrap().is_empty());
    let run = core.execute_lifecycle_actions(&session, &config, "x", &context).await.unwrap();
    assert_eq!((run.session, run.results.len()), (session, 0));
    let elements = core.ui_schema(&config).await.unwrap();
    assert_eq!(
        json!(elements),
        json!([
            {"ui_type": "probe", "tags": [], "models": [], "tools": 1, "core format": true,
             "format of the tool": false, "plugin": "f"},
            {"ui_type": "of tool", "plugin": "f"},
        ])
    );
}
