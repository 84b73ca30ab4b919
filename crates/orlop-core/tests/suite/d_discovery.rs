//! Discovery: bundles say what their plugin types can do, and the core registers them by it.

use orlop_core::hooks::Kind;
use orlop_core::*;
use orlop_testkit::logged;
use orlop_testkit::scripted::{
    ScriptedExtension, ScriptedFeature, ScriptedProvider, ScriptedReply, ScriptedTool,
    plain_session, texts,
};
use serde_json::json;
use std::sync::Arc;

/// A plugin type that makes whatever it was sorted into, under the name `name`.
fn listed(module: &str, type_name: &str, name: &str, capabilities: &[&str]) -> BundlePlugin {
    let name = name.to_owned();
    let make = move |kind| {
        Ok(match kind {
            Kind::Provider => AnyPlugin::Provider(Arc::new(ScriptedProvider::new(&name))),
            Kind::Extension => AnyPlugin::Extension(Arc::new(ScriptedExtension::new(&name))),
            Kind::Tool => AnyPlugin::Tool(Arc::new(ScriptedTool::new(&name))),
            _ => AnyPlugin::Feature(Arc::new(ScriptedFeature::new(&name))),
        })
    };
    BundlePlugin {
        type_name: type_name.to_owned(),
        defined_in: module.to_owned(),
        capabilities: capabilities.iter().map(|method| (*method).to_owned()).collect(),
        make: Arc::new(make),
    }
}

const PROVIDER: &[&str] = &["stream_api", "get_models"];
const EXTENSION: &[&str] = &["process_chunk"];
const TOOL: &[&str] = &["get_tool_schemas", "execute_tool"];
const FEATURE: &[&str] = &["finalize"];

fn bundle(module: &str, plugins: &[(&str, &str, &[&str])]) -> Bundle {
    let plugins = plugins
        .iter()
        .map(|(type_name, name, capabilities)| listed(module, type_name, name, capabilities))
        .collect();
    Bundle { module: module.to_owned(), plugins }
}

fn bundles(all: Vec<Bundle>) -> Bundles {
    let mut bundles = Bundles::default();
    all.into_iter().for_each(|bundle| bundles.add(bundle));
    bundles
}

/// Discovers `modules` into an empty core, and checks that the summary is what was registered.
fn discover(modules: &[&str], all: Vec<Bundle>) -> ActivePlugins {
    let mut core = Core::new();
    let summary = core.discover_and_register(modules, &bundles(all)).unwrap();
    assert_eq!(core.registered(), summary);
    summary
}

#[test] // D-23
fn a_type_counts_where_it_is_defined_not_where_it_is_shown_again() {
    let mut front = bundle("front", &[("Own", "own", FEATURE)]);
    front.plugins.push(listed("back", "Shared", "shared", FEATURE));
    front.plugins.push(listed("elsewhere", "Foreign", "foreign", TOOL));
    let back = bundle("back", &[("Shared", "shared", FEATURE)]);
    let all = || vec![front.clone(), back.clone()];
    assert_eq!(discover(&["front", "back"], all()).features, ["own", "shared"]);
    assert_eq!(discover(&["back", "front"], all()).features, ["shared", "own"]);
    let alone = discover(&["front"], all());
    assert_eq!((alone.features, alone.tools.len()), (vec!["own".to_owned()], 0));
}

#[test] // D-24
fn the_first_kind_that_fits_is_the_kind() {
    let cases: &[(&[&str], Kind)] = &[
        (&["call_api"], Kind::Provider),
        (&["stream_api"], Kind::Provider),
        (&["call_api", "process_chunk"], Kind::Provider),
        (&["process_chunk", "execute_tool", "get_tool_schemas", "stream_api"], Kind::Provider),
        (&["get_tool_schemas", "execute_tool"], Kind::Tool),
        (&["process_chunk", "get_tool_schemas", "execute_tool"], Kind::Tool),
        (&["process_chunk", "get_tool_schemas"], Kind::Extension),
        (&["process_chunk", "finalize"], Kind::Extension),
        (&["get_tool_schemas"], Kind::Feature),
        (&["execute_tool"], Kind::Feature),
        (&["finalize"], Kind::Feature),
        (&[], Kind::Feature),
        (&["CALL_API", "call_api_v2"], Kind::Feature),
    ];
    for (capabilities, kind) in cases {
        assert_eq!(classify(capabilities.iter().copied()), *kind, "{capabilities:?}");
    }
}

/// Which of the providers of a module is taken, given as type name and plugin name.
fn check_preferred(module: &str, providers: &[(&str, &str)], preferred: &str) {
    let plugins: Vec<_> = providers.iter().map(|(type_, name)| (*type_, *name, PROVIDER)).collect();
    let summary = discover(&[module], vec![bundle(module, &plugins)]);
    assert_eq!(summary.providers, [preferred], "{module} {providers:?}");
}

#[test] // D-25
fn a_provider_named_like_its_module_comes_first() {
    let azure = ("AzureProvider", "azure");
    check_preferred("openai_provider", &[azure, ("OpenaiProvider", "o")], "o");
    check_preferred("plugins.models.openai_provider", &[azure, ("OpenaiProvider", "o")], "o");
    check_preferred("plugins::openai_provider", &[azure, ("OpenaiProvider", "o")], "o");
    check_preferred("OpenAI--Provider!", &[azure, ("Zebra", "openai provider")], "openai provider");
    check_preferred("x.Open_ai", &[azure, ("Zebra", "  OPEN  AI ")], "  OPEN  AI ");
    // The base name alone counts, and all of it.
    check_preferred("openai.misc", &[azure, ("Openai", "o")], "azure");
    check_preferred("openai", &[azure, ("OpenaiProvider", "o")], "azure");
}

#[test] // D-25
fn others_come_by_type_name_and_modules_in_the_order_given() {
    check_preferred("misc", &[("C", "c"), ("A", "a"), ("B", "b")], "a");
    check_preferred("misc", &[("ZMisc", "misc"), ("Misc", "z"), ("A", "a")], "z");
    let all = || {
        vec![bundle("one", &[("Zed", "zed", PROVIDER)]), bundle("two", &[("Two", "two", PROVIDER)])]
    };
    assert_eq!(discover(&["one", "two"], all()).providers, ["zed"]);
    assert_eq!(discover(&["two", "one"], all()).providers, ["two"]);
}

#[test] // D-26
fn only_the_first_provider_is_registered_with_all_extensions() {
    logged();
    let all = vec![
        bundle("one", &[("E1", "e1", EXTENSION), ("P1", "p1", PROVIDER)]),
        bundle("two", &[("P2", "left-out", PROVIDER), ("E2", "e2", EXTENSION)]),
    ];
    let mut core = Core::new();
    let summary = core.discover_and_register(&["one", "two"], &bundles(all)).unwrap();
    assert_eq!(summary.providers, ["p1"]);
    assert_eq!(summary.extensions, ["e1", "e2"]);
    let log = logged();
    let line = log.lines().find(|line| line.contains("left-out")).expect("a line in the log");
    assert!(line.contains("not registered"), "{line}");

    core.register_provider(Arc::new(ScriptedProvider::new("left-out")), vec![]).unwrap();
    assert_eq!(core.registered().providers, ["p1", "left-out"], "by hand there may be several");
}

#[test] // D-27
fn without_a_provider_extensions_are_left_out() {
    let all = vec![bundle("m", &[("E", "e", EXTENSION), ("F", "f", FEATURE), ("T", "t", TOOL)])];
    let summary = discover(&["m"], all);
    assert_eq!(summary.extensions, [""; 0]);
    assert_eq!((summary.features, summary.tools), (vec!["f".to_owned()], vec!["t".to_owned()]));
}

#[test] // D-28
fn the_summary_has_every_key_and_types_stand_in_for_missing_names() {
    let empty = json!({"providers": [], "extensions": [], "features": [], "tools": []});
    assert_eq!(json!(discover(&[], vec![])), empty);
    let nameless: &[(&str, &str, &[&str])] = &[
        ("MyProvider", "", PROVIDER),
        ("MyExtension", "", EXTENSION),
        ("MyFeature", "", FEATURE),
        ("MyTool", "", TOOL),
    ];
    assert_eq!(
        json!(discover(&["m"], vec![bundle("m", nameless)])),
        json!({"providers": ["MyProvider"], "extensions": ["MyExtension"],
               "features": ["MyFeature"], "tools": ["MyTool"]})
    );
}

/// Discovery of `broken` after a good module fails with its name, and registers nothing at all.
fn check_refused(broken: Bundle, class: ErrorClass, reason: &str) {
    let good = bundle("good", &[("P", "p", PROVIDER), ("F", "f", FEATURE)]);
    let mut core = Core::new();
    core.register_tool(Arc::new(ScriptedTool::new("before"))).unwrap();
    let before = core.registered();
    let all = bundles(vec![good, broken]);
    let error = core.discover_and_register(&["good", "broken"], &all).unwrap_err();
    assert_eq!(error.class(), class, "{error}");
    assert!(error.message().contains(reason), "{error}");
    assert!(error.message().contains("broken"), "{error}");
    assert_eq!(core.registered(), before);
}

#[test] // D-29
fn a_module_that_cannot_be_loaded_fails_by_name_and_nothing_is_registered() {
    check_refused(bundle("other", &[]), ErrorClass::NotFound, "known: good, other");

    let with = |make: fn(Kind) -> Result<AnyPlugin>| {
        let mut broken = bundle("broken", &[("Type", "x", FEATURE)]);
        broken.plugins[0].make = Arc::new(make);
        broken
    };
    let failing = with(|_| Err(Error::unavailable("the program does not start")));
    check_refused(failing, ErrorClass::Unavailable, "the program does not start");
    check_refused(with(|_| panic!("boom")), ErrorClass::Plugin, "boom");
    let liar = with(|_| Ok(AnyPlugin::Tool(Arc::new(ScriptedTool::new("x")))));
    check_refused(liar, ErrorClass::BadState, "Type");

    struct Unspeakable;
    impl Plugin for Unspeakable {
        fn manifest(&self) -> Manifest {
            panic!("no name")
        }
    }
    impl Feature for Unspeakable {}
    let nameless = with(|_| Ok(AnyPlugin::Feature(Arc::new(Unspeakable))));
    check_refused(nameless, ErrorClass::Plugin, "manifest");
}

#[test] // D-29
fn a_name_that_is_taken_registers_nothing_either() {
    let twice: &[(&str, &str, &[&str])] = &[("A", "twin", FEATURE), ("B", "twin", FEATURE)];
    let mut core = Core::new();
    let all = bundles(vec![bundle("m", twice)]);
    let error = core.discover_and_register(&["m"], &all).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict);
    assert_eq!(core.registered(), ActivePlugins::default());
}

#[tokio::test] // D-23, D-30
async fn a_bundle_with_all_four_kinds_works() {
    let provider = ScriptedProvider::new("p");
    provider.reply(ScriptedReply::text(&["yes"]));
    let mut all = bundle(
        "all",
        &[("T", "t", TOOL), ("F", "f", FEATURE), ("E", "e", EXTENSION), ("P", "p", PROVIDER)],
    );
    let held = provider.clone();
    all.plugins[3].make = Arc::new(move |_| Ok(AnyPlugin::Provider(Arc::new(held.clone()))));
    let offering = ScriptedTool::new("t").offering(&["dig"]);
    all.plugins[0].make = Arc::new(move |_| Ok(AnyPlugin::Tool(Arc::new(offering.clone()))));

    let mut core = Core::new();
    let summary = core.discover_and_register(&["all"], &bundles(vec![all])).unwrap();
    let expected =
        json!({"providers": ["p"], "extensions": ["e"], "features": ["f"], "tools": ["t"]});
    assert_eq!(json!(summary), expected);
    let config = Config::empty();
    assert_eq!(json!(core.plugins_for(&config).await.unwrap()), expected);
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let sent = core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
    assert_eq!(texts(&sent.session), "hi|yes");
    assert_eq!(provider.requests()[0].1.request["tools"][0]["name"], "dig");
}
