//! What plugins contribute for people: settings, elements, completions, templates.

use orlop_core::hooks::UiInput;
use orlop_core::*;
use orlop_testkit::scripted::{
    Log, ScriptedExtension, ScriptedFeature, ScriptedProvider, ScriptedTool, config, core_with,
};
use serde_json::{Value, json};
use std::sync::Arc;

fn scripted() -> Config {
    config(json!({"provider": "scripted"}))
}

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

// --- configuration schema ---

/// A manifest whose only key is `key`.
fn with_key(name: &str, key: &str) -> Manifest {
    Manifest::new(name, "1").config(key, json!({"type": "string"}))
}

#[test] // J-01
fn the_schema_lists_providers_each_with_extensions_then_features_then_tools() {
    let mut core = Core::new();
    let tool = ScriptedTool::with_manifest(with_key("tool", "t"));
    core.register_tool(Arc::new(tool)).unwrap();
    // Registered, though no configuration would enable it.
    let off = with_key("feature", "f").requires(&["missing"]).priority(1);
    core.register_feature(Arc::new(ScriptedFeature::with_manifest(off))).unwrap();
    let second = ScriptedFeature::with_manifest(with_key("second", "s").priority(0));
    core.register_feature(Arc::new(second)).unwrap();
    for (name, extensions) in [("one", ["b", "a"].as_slice()), ("two", ["c"].as_slice())] {
        let provider = ScriptedProvider::new(name).manifest(with_key(name, "p"));
        let extensions = extensions
            .iter()
            .map(|name| Arc::new(ScriptedExtension::with_manifest(with_key(name, "e"))) as _)
            .collect();
        core.register_provider(Arc::new(provider), extensions).unwrap();
    }
    let schema = core.config_schema();
    let order: Vec<_> = schema.iter().map(|entry| entry["plugin"].as_str().unwrap()).collect();
    assert_eq!(order, ["one", "b", "a", "two", "c", "feature", "second", "tool"]);
}

/// The entries of a feature `f` with this schema, as an application gets them.
async fn check_schema(schema: Value) -> Value {
    let manifest = Manifest { config_schema: map(schema), ..Manifest::new("f", "1") };
    let mut core = Core::new();
    core.register_feature(Arc::new(ScriptedFeature::with_manifest(manifest))).unwrap();
    core.invoke("get_config_schema", Map::new(), &CallContext::new("test")).await.unwrap()
}

#[tokio::test] // J-02
async fn an_entry_is_the_descriptor_with_key_and_plugin_where_absent() {
    assert_eq!(
        check_schema(json!({
            "f.enabled": {"type": "boolean", "default": true, "own": {"x": [1]}},
            "shared": {"type": "string", "plugin": "someone", "key": "other.name"},
        }))
        .await,
        json!([
            {"type": "boolean", "default": true, "own": {"x": [1]}, "plugin": "f", "key": "f.enabled"},
            {"type": "string", "plugin": "someone", "key": "other.name"},
        ])
    );
}

#[tokio::test] // J-03
async fn malformed_entries_are_skipped() {
    let odd = json!({"": {"type": "string"}, "a": "string", "b": null, "c": [], "d": {}});
    assert_eq!(check_schema(odd).await, json!([{"plugin": "f", "key": "d"}]));
    assert_eq!(check_schema(json!({})).await, json!([]));
}

#[test] // J-04
fn two_plugins_with_one_key_give_two_entries() {
    let mut core = Core::new();
    for name in ["one", "two"] {
        let feature = ScriptedFeature::with_manifest(with_key(name, "model"));
        core.register_feature(Arc::new(feature)).unwrap();
    }
    let schema = core.config_schema();
    let found: Vec<_> = schema.iter().map(|entry| (&entry["key"], &entry["plugin"])).collect();
    let key = json!("model");
    assert_eq!(found, [(&key, &json!("one")), (&key, &json!("two"))]);
}

// --- elements ---

/// An element of this kind that says who made it.
fn element(ui_type: &str, id: &str) -> Value {
    json!({"ui_type": ui_type, "id": id})
}

fn showing(name: &str, elements: Value) -> ScriptedFeature {
    ScriptedFeature::new(name)
        .get_ui_elements(move |_, _| Ok(elements.as_array().cloned().unwrap()))
}

/// A core with a provider, an extension `e`, a feature `f` and a tool `t` that show these.
fn core_showing(provider: Value, extension: Value, feature: Value, tool: Value) -> Core {
    let list = |value: &Value| value.as_array().cloned().unwrap();
    let mut core = Core::new();
    let extension = ScriptedExtension::new("e").get_ui_elements(move |_, _| Ok(list(&extension)));
    let provider = ScriptedProvider::default().ui(list(&provider));
    core.register_provider(Arc::new(provider), vec![Arc::new(extension)]).unwrap();
    core.register_feature(Arc::new(showing("f", feature))).unwrap();
    let tool = ScriptedTool::new("t").get_ui_elements(move |_, _| Ok(list(&tool)));
    core.register_tool(Arc::new(tool)).unwrap();
    core
}

async fn elements(core: &Core) -> Value {
    json!(core.ui_schema(&scripted()).await.unwrap())
}

/// What becomes of the elements of a feature `f`.
async fn check_elements(given: Value) -> Value {
    elements(&core_showing(json!([]), json!([]), given, json!([]))).await
}

#[tokio::test] // J-06
async fn the_ui_schema_needs_a_mapping_and_is_empty_without_plugins() {
    let call = |core: Core, config: Value| async move {
        let args = map(json!({ "config": config }));
        core.invoke("get_ui_schema", args, &CallContext::new("test")).await
    };
    let core = core_showing(json!([element("panel", "p")]), json!([]), json!([]), json!([]));
    for wrong in [json!([]), json!("scripted"), json!(null)] {
        let error = call(core.clone(), wrong).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::WrongType);
    }
    assert_eq!(call(Core::new(), json!({})).await.unwrap(), json!([]));
    assert_eq!(call(core, json!({})).await.unwrap().as_array().unwrap().len(), 1);
}

#[tokio::test] // J-07
async fn elements_are_made_of_tags_models_and_tools() {
    let provider = ScriptedProvider::default().models(&["small", "large"]).tags(&["vision"]);
    let mut core = core_with(&provider).unwrap();
    let chooser = |input: &UiInput, _: &Context| {
        let names = |tools: &[types::ToolDescriptor]| {
            tools.iter().filter_map(|tool| tool.name().map(str::to_owned)).collect::<Vec<_>>()
        };
        Ok(vec![json!({
            "key": "model",
            "choices": input.models.iter().map(|model| &model["id"]).collect::<Vec<_>>(),
            "default": input.config.text("model"),
            "tags": input.tags,
            "available": names(&input.available_tools),
            "effective": names(&input.tools),
        })])
    };
    let policy =
        ScriptedFeature::new("chooser").get_ui_elements(chooser).filter_tools(|input, _| {
            let kept = input.tools.iter().filter(|tool| tool.name() != Some("write"));
            Ok(Some(kept.cloned().collect()))
        });
    core.register_feature(Arc::new(policy)).unwrap();
    core.register_tool(Arc::new(ScriptedTool::new("files").offering(&["read", "write"]))).unwrap();
    let config = config(json!({"provider": "scripted", "model": "large"}));
    assert_eq!(
        json!(core.ui_schema(&config).await.unwrap()),
        json!([{
            "key": "model", "choices": ["small", "large"], "default": "large", "tags": ["vision"],
            "available": ["read", "write"], "effective": ["read"],
            "ui_type": "config", "plugin": "chooser",
        }])
    );
}

#[tokio::test] // J-08
async fn elements_come_by_kind_and_priority() {
    let panel = || vec![element("panel", "x")];
    let mut core = Core::new();
    for (name, priority) in [("late-tool", 90), ("early-tool", 10)] {
        let tool = ScriptedTool::new(name).priority(priority);
        core.register_tool(Arc::new(tool.get_ui_elements(move |_, _| Ok(panel())))).unwrap();
    }
    for (name, priority) in [("late", 90), ("tie-b", 50), ("tie-a", 50), ("early", 10)] {
        let feature = ScriptedFeature::new(name).priority(priority);
        core.register_feature(Arc::new(feature.get_ui_elements(move |_, _| Ok(panel())))).unwrap();
    }
    let extension = |name: &str, enabled: bool| -> Arc<dyn Extension> {
        let extension = ScriptedExtension::new(name).is_enabled(move |_, _| Ok(Some(enabled)));
        Arc::new(extension.get_ui_elements(move |_, _| Ok(panel())))
    };
    let extensions = vec![extension("z", true), extension("off", false), extension("a", true)];
    let provider = ScriptedProvider::default().ui(panel());
    core.register_provider(Arc::new(provider), extensions).unwrap();
    let other = ScriptedProvider::new("other").ui(panel());
    core.register_provider(Arc::new(other), vec![]).unwrap();
    let found = elements(&core).await;
    let order: Vec<_> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|element| element["plugin"].as_str().unwrap())
        .collect();
    assert_eq!(
        order,
        ["scripted", "z", "a", "early", "tie-b", "tie-a", "late", "early-tool", "late-tool"]
    );
}

#[tokio::test] // J-09
async fn elements_without_a_kind_are_settings_and_what_is_no_mapping_is_skipped() {
    let given = json!(["text", 1, null, [], {"id": 1}, {"id": 2, "ui_type": ""},
                       {"id": 3, "ui_type": 7}, {"id": 4, "ui_type": "panel"}]);
    assert_eq!(
        check_elements(given).await,
        json!([
            {"id": 1, "ui_type": "config", "plugin": "f"},
            {"id": 2, "ui_type": "config", "plugin": "f"},
            {"id": 3, "ui_type": "config", "plugin": "f"},
            {"id": 4, "ui_type": "panel", "plugin": "f"},
        ])
    );
}

#[tokio::test] // J-10
async fn the_plugin_is_named_where_the_element_does_not() {
    let given = json!([{"ui_type": "panel"}, {"ui_type": "panel", "plugin": "someone"}]);
    assert_eq!(
        check_elements(given).await,
        json!([{"ui_type": "panel", "plugin": "f"}, {"ui_type": "panel", "plugin": "someone"}])
    );
}

#[tokio::test] // J-11
async fn actions_of_extensions_and_features_name_their_owner() {
    // What each kind of plugin gives, by element.
    let table = [
        (json!({"ui_type": "session_action", "action_id": "x"}), true),
        (json!({"ui_type": "message_action", "action_id": "x"}), true),
        (json!({"ui_type": "session_list_action", "action_id": "x"}), false),
        (json!({"ui_type": "panel", "action_id": "x"}), false),
        (json!({"ui_type": "session_action"}), false),
        (json!({"ui_type": "session_action", "action_id": 7}), false),
    ];
    let all = json!(table.iter().map(|(element, _)| element).collect::<Vec<_>>());
    let core = core_showing(all.clone(), all.clone(), all.clone(), all);
    let found = elements(&core).await;
    let owners = |plugin: &str| -> Vec<Option<&str>> {
        let own = found.as_array().unwrap().iter().filter(|found| found["plugin"] == plugin);
        own.map(|found| found.get("action_owner").and_then(Value::as_str)).collect()
    };
    for (plugin, owner) in
        [("scripted", None), ("e", Some("provider_extension")), ("f", Some("feature")), ("t", None)]
    {
        let expected: Vec<_> =
            table.iter().map(|(_, owned)| owned.then_some(owner).flatten()).collect();
        assert_eq!(owners(plugin), expected, "{plugin}");
    }

    // One that is given stays.
    let own = json!([{"ui_type": "session_action", "action_id": "x", "action_owner": "mine"}]);
    assert_eq!(check_elements(own).await[0]["action_owner"], "mine");

    // A feature named like an extension: the name is an extension's.
    let button = json!([{"ui_type": "session_action", "action_id": "x"}]);
    let mut core = core_showing(json!([]), json!([]), json!([]), json!([]));
    core.register_feature(Arc::new(showing("e", button))).unwrap();
    assert_eq!(elements(&core).await[0]["action_owner"], "provider_extension");
}

#[tokio::test] // J-12
async fn a_later_setting_replaces_the_earlier_one_in_its_place() {
    let setting = |key: &str, by: &str| json!({"key": key, "by": by});
    let core = core_showing(
        json!([setting("model", "provider"), setting("effort", "provider")]),
        json!([]),
        json!([setting("other", "feature"), setting("model", "feature")]),
        json!([]),
    );
    assert_eq!(
        elements(&core).await,
        json!([
            {"key": "model", "by": "feature", "ui_type": "config", "plugin": "f"},
            {"key": "effort", "by": "provider", "ui_type": "config", "plugin": "scripted"},
            {"key": "other", "by": "feature", "ui_type": "config", "plugin": "f"},
        ])
    );
}

#[tokio::test] // J-13
async fn other_elements_come_first_then_settings_by_first_appearance() {
    let core = core_showing(
        json!([{"key": "model"}, element("panel", "1"), {"id": "no key"}]),
        json!([{"key": "effort"}, element("session_action", "2")]),
        json!([{"key": ""}, {"key": 5}, {"key": "model", "id": "later"}, element("panel", "3")]),
        json!([{"key": "tool"}, {"key": "keyed", "ui_type": "panel"}]),
    );
    let found = elements(&core).await;
    let order: Vec<String> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|element| {
            let name = element.get("id").or(element.get("key")).unwrap();
            format!("{} {}", element["plugin"].as_str().unwrap(), name)
        })
        .collect();
    assert_eq!(
        order,
        [
            "scripted \"1\"",
            "scripted \"no key\"",
            "e \"2\"",
            "f \"\"",
            "f 5",
            "f \"3\"",
            "t \"keyed\"",
            "f \"later\"",
            "e \"effort\"",
            "t \"tool\"",
        ]
    );
}

#[tokio::test] // J-14
async fn what_an_element_says_is_for_frontends() {
    let opaque = json!({
        "ui_type": "hologram", "order": 25, "dialog": {"kind": "form", "inputs": [{"name": "n"}]},
        "param_map": {"end": "$message.index"}, "fixed_params": {"start": 0}, "future": [null, 1.5],
        "plugin": "f",
    });
    assert_eq!(check_elements(json!([opaque])).await.to_string(), json!([opaque]).to_string());
}

// --- completions ---

/// Writes each log line into a [`Log`].
struct Lines(Log);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.add(String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn core_of(features: impl IntoIterator<Item = ScriptedFeature>) -> Core {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    for feature in features {
        core.register_feature(Arc::new(feature)).unwrap();
    }
    core
}

/// A feature that completes to these.
fn completing(name: &str, items: Value) -> ScriptedFeature {
    ScriptedFeature::new(name).get_completions(move |_, _| Ok(items.as_array().cloned().unwrap()))
}

#[tokio::test] // J-25
async fn every_registered_feature_completes_and_a_failing_one_is_skipped() {
    let log = Log::new();
    let lines = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(move || Lines(lines.clone()))
        .without_time()
        .with_ansi(false)
        .finish();
    let core = core_of([
        completing("last-by-priority", json!([{"replacement": "a", "own": 1}])).priority(900),
        ScriptedFeature::new("broken")
            .get_completions(|_, _| Err(Error::unavailable("the index is gone"))),
        completing("off", json!([{"replacement": "b"}, "text", 7, null]))
            .is_enabled(|_, _| Ok(Some(false))),
        ScriptedFeature::new("silent"),
    ]);
    let guard = tracing::subscriber::set_default(subscriber);
    let args = map(json!({"config": {}, "text": "/"}));
    let found = core.invoke("get_completions", args, &CallContext::new("test")).await.unwrap();
    drop(guard);
    assert_eq!(found, json!([{"replacement": "a", "own": 1}, {"replacement": "b"}]));
    let about: Vec<_> =
        log.lines().into_iter().filter(|line| line.contains("the index is gone")).collect();
    assert_eq!(about.len(), 1, "{:?}", log.lines());
    assert!(about[0].contains("DEBUG") && about[0].contains("broken"), "{about:?}");

    assert!(Core::new().completions(&Config::empty(), "/").await.unwrap().is_empty());
}

#[tokio::test] // J-26
async fn the_first_feature_with_a_snippet_applies_a_completion() {
    let log = Log::new();
    let applying = |name: &'static str, snippet: &'static str| {
        let log = log.clone();
        ScriptedFeature::new(name).apply_completion(move |input, _| {
            let whose = input.completion["of"].as_str().unwrap();
            log.add(format!("{name} {} {}", input.text, input.config.text("lang").unwrap()));
            Ok(if whose == name { snippet.to_owned() } else { String::new() })
        })
    };
    // In registration order, whatever the priority, and enabled or not.
    let core = core_of([
        applying("one", "1").priority(900),
        applying("two", "2").is_enabled(|_, _| Ok(Some(false))),
        applying("three", "3"),
    ]);
    let apply = |of: &'static str| {
        let core = core.clone();
        async move {
            let args =
                json!({"config": {"lang": "en"}, "text": "/full ", "completion": {"of": of}});
            let context = CallContext::new("test");
            core.invoke("apply_feature_completion", map(args), &context).await.unwrap()
        }
    };
    assert_eq!(apply("two").await, "2");
    assert_eq!(log.take(), ["one /full  en", "two /full  en"]);
    assert_eq!(apply("nobody").await, "");
    assert_eq!(log.take().len(), 3);

    let failing = ScriptedFeature::new("broken")
        .apply_completion(|_, _| Err(Error::unavailable("no snippet today")));
    let core = core_of([failing, applying("after", "x")]);
    let error = core.apply_completion(&scripted(), "/", Map::new()).await.unwrap_err();
    assert_eq!((error.class(), error.plugin_name()), (ErrorClass::Unavailable, Some("broken")));
    assert_eq!(Core::new().apply_completion(&scripted(), "/", Map::new()).await.unwrap(), "");
}

/// The buffer after a frontend has put a completion in: it replaces the characters from `start`,
/// which counts back from the cursor.
fn completed(before_cursor: &str, completion: &Map) -> String {
    let back = completion["start"].as_i64().unwrap();
    assert!(back <= 0);
    let keep = before_cursor.chars().count() - usize::try_from(-back).unwrap();
    let kept: String = before_cursor.chars().take(keep).collect();
    kept + completion["replacement"].as_str().unwrap()
}

#[tokio::test] // J-27
async fn a_completion_replaces_the_typed_prefix_counted_in_characters() {
    // Completes the last word of what stands before the cursor.
    let core = core_of([ScriptedFeature::new("words").get_completions(|input, _| {
        let typed = input.text.rsplit(' ').next().unwrap_or_default();
        let fits = ["/übersetzen", "/help"].into_iter().filter(|word| word.starts_with(typed));
        let start = -(typed.chars().count() as i64);
        Ok(fits.map(|word| json!({"replacement": word, "start": start})).collect())
    })]);
    for (typed, start, expected) in [
        ("say /üb", -3, "say /übersetzen"),
        ("é /h", -2, "é /help"),
        ("/help", -5, "/help"),
        ("say ", 0, "say /übersetzen"),
    ] {
        let found = core.completions(&scripted(), typed).await.unwrap();
        assert_eq!(
            (&found[0]["start"], completed(typed, &found[0]).as_str()),
            (&json!(start), expected)
        );
    }
}

#[tokio::test] // J-28
async fn templates_are_collected_with_the_name_of_their_feature() {
    let template = |name: &str, text: &'static str| {
        ScriptedFeature::new(name).get_template(move |input, _| {
            Ok(text.replace("{model}", input.config.text("model").unwrap_or("?")))
        })
    };
    let core = core_of([
        template("late", "Ask {model}: ").priority(900),
        template("empty", ""),
        template("off", "never").is_enabled(|_, _| Ok(Some(false))),
        ScriptedFeature::new("none"),
        template("early", "Review this.").priority(1),
    ]);
    let config = config(json!({"provider": "scripted", "model": "m"}));
    assert_eq!(
        json!(core.templates(&config).await.unwrap()),
        json!([{"plugin": "early", "text": "Review this."}, {"plugin": "late", "text": "Ask m: "}])
    );
}
