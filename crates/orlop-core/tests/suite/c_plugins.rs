//! What plugins of every kind have in common: a name, optional hooks, settings, tags, state.

use futures::StreamExt;
use orlop_core::hooks::{Chunk, HOOKS, ToolInput, ToolSchemasInput};
use orlop_core::types::ActionDefinition;
use orlop_core::*;
use orlop_testkit::scripted::{
    Log, ScriptedExtension, ScriptedFeature, ScriptedProvider, ScriptedReply, ScriptedTool, config,
    texts,
};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn core_of(
    provider: &ScriptedProvider,
    extensions: &[ScriptedExtension],
    features: &[ScriptedFeature],
    tools: &[ScriptedTool],
) -> Core {
    let mut core = Core::new();
    let extensions =
        extensions.iter().map(|plugin| Arc::new(plugin.clone()) as Arc<dyn Extension>).collect();
    core.register_provider(Arc::new(provider.clone()), extensions).unwrap();
    for feature in features {
        core.register_feature(Arc::new(feature.clone())).unwrap();
    }
    for tool in tools {
        core.register_tool(Arc::new(tool.clone())).unwrap();
    }
    core
}

async fn say(core: &Core, text: &str, config: &Config) -> Response {
    let session = core.create_session(Some("s"));
    let session = core.add_message(&session, Message::user(text), config).await.unwrap();
    core.send_request(&session, config, RequestOptions::default()).await.unwrap()
}

fn scripted(replies: &[&str]) -> ScriptedProvider {
    let provider = ScriptedProvider::default();
    for text in replies {
        provider.reply(ScriptedReply::text(&[text]));
    }
    provider
}

/// A plugin that has a name and nothing else; the required hooks do as little as they can.
struct Named(&'static str);

impl Plugin for Named {
    fn manifest(&self) -> Manifest {
        Manifest::new(self.0, "1.0.0")
    }
}

impl Feature for Named {}

impl Extension for Named {
    fn process_chunk(&self, _: &State, _: &mut Chunk) -> Result<()> {
        Ok(())
    }
}

impl Tool for Named {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        Answer::default()
    }
    fn execute_tool<'a>(&'a self, _: &'a ToolInput, _: &'a Context) -> Answer<'a, ToolReport> {
        Answer::default()
    }
}

type Register = fn(&mut Core, &str) -> Result<()>;

/// Every way to register a plugin under a name.
const REGISTER: &[(&str, Register)] = &[
    ("provider", |core, name| {
        core.register_provider(Arc::new(ScriptedProvider::new(name)), Vec::new())
    }),
    ("extension", |core, name| {
        let extension = || Arc::new(ScriptedExtension::new(name)) as Arc<dyn Extension>;
        let provider =
            ScriptedProvider::new(&format!("beside {}", core.registered().providers.len()));
        let twice = if core.registered().extensions.is_empty() {
            vec![extension()]
        } else {
            vec![extension(), extension()]
        };
        core.register_provider(Arc::new(provider), twice)
    }),
    ("feature", |core, name| core.register_feature(Arc::new(ScriptedFeature::new(name)))),
    ("tool", |core, name| core.register_tool(Arc::new(ScriptedTool::new(name)))),
];

#[test] // C-01
fn an_empty_name_is_refused_for_every_kind() {
    for (kind, register) in REGISTER {
        for name in ["", "  "] {
            let mut core = Core::new();
            let error = register(&mut core, name).unwrap_err();
            assert_eq!(error.class(), ErrorClass::BadArgument, "{kind}");
            assert!(error.message().contains(kind), "{error}");
            assert_eq!(core.registered(), ActivePlugins::default(), "{kind}");
        }
    }
}

#[test] // C-01
fn a_name_is_taken_once_per_kind() {
    for (kind, register) in REGISTER {
        let mut core = Core::new();
        register(&mut core, "twin").unwrap();
        let before = core.registered();
        let error = register(&mut core, "twin").unwrap_err();
        assert_eq!(error.class(), ErrorClass::Conflict, "{kind}");
        assert!(error.message().contains(kind) && error.message().contains("twin"), "{error}");
        assert_eq!(core.registered(), before, "{kind}");
    }
    let mut core = Core::new();
    for (_, register) in REGISTER {
        register(&mut core, "shared").expect("kinds do not stand in each other's way");
    }
}

#[tokio::test] // C-01
async fn the_name_is_the_id_in_schemas_actions_and_results() {
    let manifest = Manifest::new("f", "2.1.0").config("k", json!({"type": "string"}));
    assert_eq!(manifest.version, "2.1.0");
    let feature = ScriptedFeature::with_manifest(manifest)
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("go", "Go").on(&["x"])]))
        .get_ui_elements(|_, _| Ok(vec![json!({"ui_type": "note"})]));
    let tool = ScriptedTool::new("t").offering(&["dig"]);
    let core = core_of(&scripted(&[]), &[], &[feature], &[tool]);
    let config = Config::empty();
    let session = core.create_session(None);
    let context = CallContext::new("test");

    assert_eq!(core.config_schema()[0]["plugin"], "f");
    assert_eq!(core.ui_schema(&config).await.unwrap()[0]["plugin"], "f");
    assert_eq!(core.session_actions(&config).await.unwrap()[0].plugin.as_deref(), Some("f"));
    let run = core.execute_lifecycle_actions(&session, &config, "x", &context).await.unwrap();
    assert_eq!(run.results[0].plugin, "f");
    assert_eq!(core.available_tools(&config).await.unwrap()[0].plugin, "t");
    let call = json!({"id": "1", "name": "dig", "arguments": {}}).as_object().cloned().unwrap();
    let done = core.execute_tool_calls(vec![call], &config, &context).await.unwrap();
    assert_eq!(done[0].metadata()["tool_plugin"], "t");
}

/// A plugin that calls itself something else each time it is asked.
#[derive(Default)]
struct Fickle(AtomicUsize);

impl Plugin for Fickle {
    fn manifest(&self) -> Manifest {
        let asked = self.0.fetch_add(1, Ordering::SeqCst);
        Manifest::new(format!("name{asked}"), "1.0.0").config("k", json!({}))
    }
}

impl Feature for Fickle {}

#[tokio::test] // C-01
async fn the_name_given_at_registration_stays() {
    let mut core = core_of(&scripted(&[]), &[], &[], &[]);
    core.register_feature(Arc::new(Fickle::default())).unwrap();
    for _ in 0..2 {
        assert_eq!(core.registered().features, ["name0"]);
        assert_eq!(core.plugins_for(&Config::empty()).await.unwrap().features, ["name0"]);
        assert_eq!(core.config_schema()[0]["plugin"], "name0");
    }
}

#[tokio::test] // C-02
async fn a_plugin_with_only_a_name_changes_nothing() {
    let provider = scripted(&["hello", "hello"]);
    let alone = core_of(&provider, &[], &[], &[]);
    let mut beside = Core::new();
    beside
        .register_provider(Arc::new(provider.clone()), vec![Arc::new(Named("extension"))])
        .unwrap();
    beside.register_feature(Arc::new(Named("feature"))).unwrap();
    beside.register_tool(Arc::new(Named("tool"))).unwrap();

    let config = Config::empty();
    let expected = say(&alone, "hi", &config).await;
    assert_eq!(say(&beside, "hi", &config).await, expected);
    assert_eq!(provider.requests()[0], provider.requests()[1]);
    let session = &expected.session;
    let context = CallContext::new("test");

    let active = beside.plugins_for(&config).await.unwrap();
    assert_eq!((active.extensions.len(), active.features.len(), active.tools.len()), (1, 1, 1));
    assert!(beside.tags_for(&config).await.unwrap().is_empty());
    assert!(beside.config_schema().is_empty());
    assert!(beside.ui_schema(&config).await.unwrap().is_empty());
    assert!(beside.session_actions(&config).await.unwrap().is_empty());
    assert!(beside.available_tools(&config).await.unwrap().is_empty());
    assert!(beside.templates(&config).await.unwrap().is_empty());
    assert!(beside.completions(&config, "x").await.unwrap().is_empty());
    assert_eq!(beside.apply_completion(&config, "x", Map::new()).await.unwrap(), "");
    let run = beside.execute_lifecycle_actions(session, &config, "any", &context).await.unwrap();
    assert_eq!((&run.session, run.results.len()), (session, 0));
}

#[test] // C-02
fn the_required_hooks_are_those_without_which_a_kind_makes_no_sense() {
    let required: Vec<_> =
        HOOKS.iter().filter(|row| row.required).map(|row| (row.kind.as_str(), row.name)).collect();
    let expected = [
        ("provider", "to_native_messages"),
        ("provider", "from_native_messages"),
        ("extension", "process_chunk"),
        ("tool", "get_tool_schemas"),
        ("tool", "execute_tool"),
    ];
    assert_eq!(required, expected);
}

#[test] // C-03
fn the_config_schema_appears_flattened() {
    let limit =
        json!({"type": "integer", "default": 3, "required": false, "description": "How many."});
    let manifest = Manifest::new("f", "1.0.0")
        .config("f.limit", limit)
        .config("f.mode", json!({"type": "string", "enum": ["a", "b"]}));
    let plain = ScriptedFeature::new("none");
    let core =
        core_of(&scripted(&[]), &[], &[plain, ScriptedFeature::with_manifest(manifest)], &[]);
    assert_eq!(
        json!(core.config_schema()),
        json!([
            {"type": "integer", "default": 3, "required": false, "description": "How many.",
             "plugin": "f", "key": "f.limit"},
            {"type": "string", "enum": ["a", "b"], "plugin": "f", "key": "f.mode"},
        ])
    );
}

fn tool_names(tools: &[orlop_core::types::ToolDescriptor]) -> Vec<&str> {
    tools.iter().filter_map(|tool| tool.name()).collect()
}

#[tokio::test] // C-04, C-06
async fn the_ui_hook_sees_config_tags_models_and_both_tool_lists() {
    let provider = scripted(&[]).tags(&["stream"]).models(&["small", "large"]);
    let feature = ScriptedFeature::new("f")
        .get_tags(|_, _| Ok(vec!["tidy".into()]))
        .filter_tools(|input, _| {
            Ok(Some(input.tools.iter().filter(|tool| tool.name() != Some("saw")).cloned().collect()))
        })
        .get_ui_elements(|input, _| {
            Ok(vec![json!({
                "ui_type": "probe", "model": input.config.text("model"), "tags": input.tags,
                "models": input.models.iter().map(|model| &model["id"]).collect::<Vec<_>>(),
                "available": tool_names(&input.available_tools), "effective": tool_names(&input.tools),
            })])
        });
    let tool = ScriptedTool::new("t").offering(&["saw", "nail"]);
    let core = core_of(&provider, &[], &[feature], &[tool]);
    let elements = core.ui_schema(&config(json!({"model": "small"}))).await.unwrap();
    assert_eq!(
        json!(elements),
        json!([{
            "ui_type": "probe", "model": "small", "tags": ["stream", "tidy"],
            "models": ["small", "large"], "available": ["saw", "nail"], "effective": ["nail"],
            "plugin": "f",
        }])
    );
}

#[tokio::test] // C-05
async fn plugins_are_initialised_in_order_and_share_the_state() {
    let log = Log::new();
    let provider =
        scripted(&["yes"]).log_to(&log).init_state(StateChange::set("trail", "provider"));
    macro_rules! follower {
        ($Type:ident, $name:literal) => {{
            let log = log.clone();
            $Type::new($name).init(move |input, _| {
                let before = input.state.values["trail"].as_str().unwrap().to_owned();
                log.add(format!("{before}+{}", $name));
                assert_eq!(input.config.text("model"), Some("m"));
                assert_eq!(input.state.config, input.config);
                Ok(StateChange::set("trail", format!("{before},{}", $name)))
            })
        }};
    }
    // Registered in another order than they are initialised in.
    let mut core = Core::new();
    core.register_tool(Arc::new(follower!(ScriptedTool, "tool"))).unwrap();
    core.register_feature(Arc::new(follower!(ScriptedFeature, "feature"))).unwrap();
    core.register_provider(
        Arc::new(provider.clone()),
        vec![Arc::new(follower!(ScriptedExtension, "extension"))],
    )
    .unwrap();
    say(&core, "hi", &config(json!({"model": "m"}))).await;
    assert_eq!(
        log.lines()[..4],
        [
            "scripted.init",
            "provider+extension",
            "provider,extension+feature",
            "provider,extension,feature+tool"
        ]
    );
    let (_, state) = &provider.requests()[0];
    assert_eq!(state.values["trail"], "provider,extension,feature,tool");
}

#[tokio::test] // C-06
async fn tags_come_from_config_and_models_and_show_in_resolution() {
    let provider = scripted(&["yes"]).models(&["m"]);
    let log = Log::new();
    let seen = log.clone();
    let feature = ScriptedFeature::new("f")
        .get_tags(|input, _| {
            let id = input.models[0]["id"].as_str().unwrap();
            Ok(input.config.text("tag").map(|tag| format!("{tag}-{id}")).into_iter().collect())
        })
        .initialize_request(move |_, cx| {
            seen.add(format!("{:?}", cx.tags()));
            Ok(Default::default())
        });
    let core = core_of(&provider, &[], &[feature, ScriptedFeature::new("none")], &[]);
    let tagged = config(json!({"tag": "a"}));
    assert_eq!(core.tags_for(&tagged).await.unwrap(), ["a-m"]);
    assert!(core.tags_for(&Config::empty()).await.unwrap().is_empty());
    say(&core, "hi", &tagged).await;
    assert_eq!(log.text(), r#"["a-m"]"#);
}

async fn check_tag_rules(required: &[&str], forbidden: &[&str], enabled: bool) {
    let manifest = Manifest::new("f", "1.0.0").requires(required).forbids(forbidden);
    let feature = ScriptedFeature::with_manifest(manifest);
    let core = core_of(&scripted(&[]).tags(&["a", "b"]), &[], &[feature], &[]);
    let active = core.plugins_for(&Config::empty()).await.unwrap().features;
    assert_eq!(active.len(), usize::from(enabled), "{required:?} {forbidden:?}");
}

#[tokio::test] // C-07
async fn all_required_tags_and_none_of_the_forbidden_ones() {
    let manifest = Manifest::new("f", "1.0.0");
    assert!(manifest.required_tags.is_empty() && manifest.forbidden_tags.is_empty());
    check_tag_rules(&[], &[], true).await;
    check_tag_rules(&["a", "b"], &[], true).await;
    check_tag_rules(&["a", "c"], &[], false).await;
    check_tag_rules(&[], &["c", "d"], true).await;
    check_tag_rules(&[], &["c", "b"], false).await;
    check_tag_rules(&["a"], &["b"], false).await;
}

#[tokio::test] // C-08
async fn a_plugin_decides_by_config_tags_models_and_context() {
    let opinion = |input: &orlop_core::hooks::EnabledInput, cx: &Context| {
        assert_eq!(input.tags, ["a"]);
        assert_eq!(input.models[0]["id"], "m");
        assert_eq!(cx.config(), &input.config);
        Ok(input.config.get("on").and_then(Value::as_bool))
    };
    let provider = scripted(&[]).tags(&["a"]).models(&["m"]);
    let core = core_of(
        &provider,
        &[ScriptedExtension::new("e").is_enabled(opinion)],
        &[ScriptedFeature::new("f").is_enabled(opinion)],
        &[ScriptedTool::new("t").is_enabled(opinion)],
    );
    for (setting, count) in [(json!(true), 1), (json!(false), 0), (json!(null), 1)] {
        let active = core.plugins_for(&config(json!({"on": setting}))).await.unwrap();
        let counts = [active.extensions.len(), active.features.len(), active.tools.len()];
        assert_eq!(counts, [count; 3], "{setting}");
    }
}

#[tokio::test] // C-09
async fn lower_priority_runs_first() {
    let log = Log::new();
    let feature = |name: &'static str| {
        let log = log.clone();
        ScriptedFeature::new(name).initialize_request(move |_, _| {
            log.add(name);
            Ok(Default::default())
        })
    };
    let tool = |name: &str| {
        let element = json!({"ui_type": "note"});
        ScriptedTool::new(name).get_ui_elements(move |_, _| Ok(vec![element.clone()]))
    };
    assert_eq!(Manifest::new("x", "1.0.0").priority, 100);
    let core = core_of(
        &scripted(&["yes"]),
        &[],
        &[feature("late").priority(101), feature("default"), feature("early").priority(-10)],
        &[tool("default"), tool("early").priority(10)],
    );
    say(&core, "hi", &Config::empty()).await;
    assert_eq!(log.text(), "early default late");
    let elements = core.ui_schema(&Config::empty()).await.unwrap();
    let plugins: Vec<_> = elements.iter().map(|element| element["plugin"].clone()).collect();
    assert_eq!(plugins, ["early", "default"]);
}

#[tokio::test] // C-10
async fn interleaved_streams_do_not_see_each_other_s_state() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["a", "b", "c"]));
    provider.reply(ScriptedReply::text(&["x", "y", "z"]));
    // Collects in the state what has been said so far.
    let ear = ScriptedExtension::new("ear").process_chunk(|chunk, state| {
        let said = chunk.partial.as_ref().map_or("", |partial| partial.content.as_str());
        let heard = state.values.get("heard").and_then(Value::as_str).unwrap_or_default();
        chunk.state = StateChange::set("heard", format!("{heard}{said}"));
        Ok(())
    });
    let patch = ScriptedFeature::new("patch").finalize(|input, _| {
        let patch = json!({"heard": input.state.values.get("heard")});
        let state = StateChange::set("session_metadata_patch", patch);
        Ok(orlop_core::hooks::FinalizeChange { state, ..Default::default() })
    });
    let core = core_of(&provider, &[ear], &[patch], &[]);
    let config = Config::empty();
    let mut streams: Vec<_> = ["1", "2"]
        .iter()
        .map(|id| {
            let session = core.create_session(Some(id));
            core.send_request_stream(&session, &config, RequestOptions::default())
        })
        .collect();
    let mut finals = Vec::new();
    while finals.len() < 2 {
        for stream in &mut streams {
            if let Some(CoreEvent::Final(response)) = stream.next().await.transpose().unwrap() {
                finals.push(response.session);
            }
        }
    }
    let outcome: Vec<_> = finals
        .iter()
        .map(|session| (session.id(), texts(session), session.metadata()["heard"].clone()))
        .collect();
    assert_eq!(outcome[0], ("1", "abc".into(), json!("abc")));
    assert_eq!(outcome[1], ("2", "xyz".into(), json!("xyz")));

    // And nothing of them is left for the next request.
    provider.reply(ScriptedReply::text(&["n"]));
    say(&core, "hi", &config).await;
    assert!(!provider.requests()[2].1.values.contains_key("heard"));
}
