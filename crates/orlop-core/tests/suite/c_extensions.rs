//! Extensions: beside one provider, on its stream, with hooks and actions of their own.

use futures::StreamExt;
use orlop_core::hooks::{Chunk, FinalizeChange, HOOKS, Kind, RequestChange};
use orlop_core::interop::{CallFormat, Interop};
use orlop_core::types::{InspectedCall, Partial};
use orlop_core::*;
use orlop_testkit::scripted::{
    Log, ScriptedExtension, ScriptedFeature, ScriptedProvider, ScriptedReply, ScriptedTool, config,
    plain_session, texts,
};
use serde_json::json;
use std::sync::Arc;

fn core_of(provider: &ScriptedProvider, extensions: Vec<ScriptedExtension>) -> Core {
    let mut core = Core::new();
    let extensions =
        extensions.into_iter().map(|plugin| Arc::new(plugin) as Arc<dyn Extension>).collect();
    core.register_provider(Arc::new(provider.clone()), extensions).unwrap();
    core
}

fn scripted(replies: &[&[&str]]) -> ScriptedProvider {
    let provider = ScriptedProvider::default();
    for fragments in replies {
        provider.reply(ScriptedReply::text(fragments));
    }
    provider
}

async fn hi() -> Session {
    plain_session(&[Message::user("hi")]).await.unwrap()
}

async fn stream(core: &Core, config: &Config) -> Vec<CoreEvent> {
    let events = core.send_request_stream(&hi().await, config, RequestOptions::default());
    events.map(Result::unwrap).collect().await
}

fn last(events: Vec<CoreEvent>) -> Response {
    match events.into_iter().next_back() {
        Some(CoreEvent::Final(response)) => *response,
        other => panic!("no final: {other:?}"),
    }
}

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

#[tokio::test] // C-30
async fn an_extension_works_beside_the_provider_it_was_registered_with() {
    let log = Log::new();
    let listener = |name: &'static str| {
        let log = log.clone();
        Arc::new(ScriptedExtension::new(name).process_chunk(move |_, _| {
            log.add(name);
            Ok(())
        }))
    };
    let mut core = Core::new();
    for name in ["a", "b"] {
        let provider = ScriptedProvider::new(name);
        provider.reply(ScriptedReply::items(vec![]));
        let extension = listener(if name == "a" { "of a" } else { "of b" });
        core.register_provider(Arc::new(provider), vec![extension]).unwrap();
    }
    let chosen = config(json!({"provider": "b"}));
    assert_eq!(core.plugins_for(&chosen).await.unwrap().extensions, ["of b"]);
    stream(&core, &chosen).await;
    assert!(log.count("of b") > 0);
    assert_eq!(log.count("of a"), 0);
}

#[tokio::test] // C-31
async fn process_chunk_takes_chunk_and_state_and_gives_chunk_partial_and_state() {
    assert_eq!(classify(["process_chunk"]), Kind::Extension);
    let row = HOOKS.iter().find(|row| row.name == "process_chunk").unwrap();
    assert_eq!((row.input, row.outcome), ("State", "Chunk"));

    // Shouts, numbers what it shows, and swallows what says "hush".
    let herald = ScriptedExtension::new("herald").process_chunk(|chunk: &mut Chunk, state| {
        let count = state.values.get("count").and_then(Value::as_u64).unwrap_or(1);
        chunk.partial = match chunk.partial.take() {
            Some(partial) if partial.content == "hush" => None,
            Some(partial) => {
                chunk.state = StateChange::set("count", count + 1);
                let text = format!("{count}:{}", partial.content.to_uppercase());
                Some(Partial::text(text))
            }
            None => None,
        };
        Ok(())
    });
    let signed = ScriptedExtension::new("signed").process_chunk(|chunk: &mut Chunk, _| {
        if !chunk.final_messages.is_empty() {
            chunk.final_messages.push(json!({"who": "assistant", "say": "signed"}).into());
        }
        Ok(())
    });
    let core = core_of(&scripted(&[&["a", "hush", "b"]]), vec![herald, signed]);
    let events = stream(&core, &Config::empty()).await;
    let shown: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            CoreEvent::Partial(partial) => Some(partial.content.as_str()),
            CoreEvent::Final(_) => None,
        })
        .collect();
    assert_eq!(shown, ["1:A", "2:B"]);
    let response = last(events);
    assert_eq!(texts(&response.session), "hi|ahushb|signed");
    response.session.verify().unwrap();
}

#[tokio::test] // C-32
async fn extensions_adjust_messages_after_the_provider_in_order() {
    let extension = |name: &'static str| {
        ScriptedExtension::new(name).from_native_messages(move |input, cx| {
            assert_eq!(cx.provider(), Some("scripted"));
            assert!(!input.native_messages.is_empty());
            let mark = |message: &Message| {
                let before =
                    message.metadata().get("by").and_then(Value::as_str).unwrap_or_default();
                message.clone().with_metadata_entry("by", format!("{before}{name}"))
            };
            Ok(Change::Replace(input.messages.iter().map(mark).collect()))
        })
    };
    let core = core_of(&scripted(&[&["yes"]]), vec![extension("x"), extension("y")]);
    let response = last(stream(&core, &Config::empty()).await);
    assert_eq!(response.messages[0].metadata()["by"], "xy");
    assert_eq!(response.session.messages().get(1).unwrap().metadata()["by"], "xy");
}

#[tokio::test] // C-33
async fn the_optional_hooks_run_next_to_the_provider_s() {
    let log = Log::new();
    let provider = scripted(&[&["yes"]]).log_to(&log);
    let (a, b, c) = (log.clone(), log.clone(), log.clone());
    let cache = ScriptedExtension::new("prompt_cache")
        .to_native_messages(move |input, _| {
            a.add(format!("ext.to_native({})", input.native_messages.len()));
            Ok(Change::Keep)
        })
        .initialize_request(move |input, cx| {
            b.add(format!("ext.initialize after model={}", input.state.request["model"]));
            let key = format!("key-of-{}", cx.session().unwrap().id());
            Ok(RequestChange::state(StateChange::request("prompt_cache_key", key)))
        })
        .finalize(move |_, _| {
            c.add("ext.finalize");
            let note = json!({"who": "assistant", "say": "note"}).into();
            let final_messages = Change::append(vec![note]);
            Ok(FinalizeChange { final_messages, ..Default::default() })
        });
    let core = core_of(&provider, vec![cache]);
    let response = last(stream(&core, &config(json!({"model": "m"}))).await);
    let (_, state) = &provider.requests()[0];
    assert_eq!(state.request["prompt_cache_key"], "key-of-s");
    assert_eq!(response.messages.len(), 2);
    let order: Vec<_> =
        log.lines().into_iter().filter(|line| !line.contains("from_native")).collect();
    assert_eq!(
        order,
        [
            "scripted.init",
            "to_native(1)",
            "ext.to_native(1)",
            "scripted.initialize",
            "ext.initialize after model=\"m\"",
            "stream_api",
            "scripted.finalize",
            "ext.finalize",
        ]
    );
}

/// The extension of the prompt cache: makes a key when a session comes to be.
fn prompt_cache() -> ScriptedExtension {
    let action = ActionDefinition::new("ensure_prompt_cache_key", "Ensure a cache key")
        .on(&[lifecycle::SESSION_CREATE]);
    ScriptedExtension::new("prompt_cache")
        .get_actions(move |_, _| Ok(vec![action.clone()]))
        .execute_action(|input, cx| {
            assert_eq!(input.action_id, "ensure_prompt_cache_key");
            assert_eq!(cx.session(), Some(&input.session));
            let held = input.session.overrides().and_then(|held| held.get("prompt_cache_key"));
            if held.is_some() {
                return Ok(ActionResult {
                    public: map(json!({"status": "noop"})),
                    ..Default::default()
                });
            }
            let key = format!("key-of-{}", input.session.id());
            Ok(ActionResult {
                session_metadata: Some(json!({"overrides": {"prompt_cache_key": key}})),
                public: map(json!({"message": "made"})),
                ..Default::default()
            })
        })
}

#[tokio::test] // C-34
async fn ensure_prompt_cache_key_runs_on_session_create() {
    let core = core_of(&scripted(&[]), vec![prompt_cache()]);
    let session = core.create_session(Some("new"));
    let (config, context) = (Config::empty(), CallContext::new("test"));
    let trigger = lifecycle::SESSION_CREATE;
    let run = core.execute_lifecycle_actions(&session, &config, trigger, &context).await.unwrap();
    assert_eq!(run.session.overrides().unwrap()["prompt_cache_key"], "key-of-new");
    assert_eq!(run.results[0].result, map(json!({"message": "made"})));
    let again =
        core.execute_lifecycle_actions(&run.session, &config, trigger, &context).await.unwrap();
    assert_eq!(again.session, run.session);
    assert_eq!(again.results[0].result["status"], "noop");
    let other = core.execute_lifecycle_actions(&session, &config, "other", &context).await.unwrap();
    assert_eq!((other.session, other.results.len()), (session, 0));
}

#[tokio::test] // C-35
async fn application_effects_in_a_session_action_have_no_effect() {
    let overreaching = || {
        let public = json!({
            "status": "ok", "own": 1,
            "ui_effects": {"navigate": {"screen": "sessions"}, "reload_session_ids": ["x"]},
            "mutations": {"created_session_ids": ["x"], "deleted_session_ids": ["y"]},
        });
        Ok(ActionResult { public: map(public), ..Default::default() })
    };
    let actions =
        || Ok(vec![ActionDefinition::new("grab", "Grab").on(&["x", lifecycle::RESPONSE_FINALIZE])]);
    let extension = ScriptedExtension::new("e")
        .get_actions(move |_, _| actions())
        .execute_action(move |_, _| overreaching());
    let feature = ScriptedFeature::new("f")
        .get_actions(move |_, _| actions())
        .execute_action(move |_, _| overreaching());
    let mut core = core_of(&scripted(&[&["yes"]]), vec![extension]);
    core.register_feature(Arc::new(feature)).unwrap();
    let (session, config, context) = (hi().await, Config::empty(), CallContext::new("test"));
    let expected = map(json!({"status": "ok", "own": 1}));

    for plugin in ["e", "f"] {
        let call = ActionCall::new(plugin, "grab");
        let (after, result) =
            core.execute_session_action(&session, &config, call, &context).await.unwrap();
        assert_eq!((after, &result), (session.clone(), &expected), "{plugin}");
    }
    let run = core.execute_lifecycle_actions(&session, &config, "x", &context).await.unwrap();
    assert_eq!(run.session, session);
    let response = last(stream(&core, &config).await);
    assert_eq!(texts(&response.session), "hi|yes");
    for record in run.results.iter().chain(&response.action_results) {
        assert_eq!(record.result, expected, "{}", record.plugin);
    }
    assert_eq!((run.results.len(), response.action_results.len()), (2, 2));
}

#[tokio::test] // C-36
async fn extensions_obey_tags_and_bring_tags_and_formats() {
    let format = CallFormat {
        id: "ext.call".into(),
        read: Arc::new(|call| {
            let name = call.get("ext")?.as_str()?.to_owned();
            Some(InspectedCall { tool_name: Some(name), raw: call.clone(), ..Default::default() })
        }),
        write: None,
    };
    let extension = |required: &[&str]| {
        ScriptedExtension::with_manifest(Manifest::new("e", "1.0.0").requires(required))
            .get_tags(|_, _| Ok(vec!["by-extension".into()]))
            .is_enabled(|input, _| Ok(input.config.get("e").and_then(Value::as_bool)))
            .interop(Interop { calls: vec![format.clone()], ..Default::default() })
    };
    let cases = [
        (vec!["here"], json!({}), true),
        (vec!["here", "elsewhere"], json!({}), false),
        (vec!["here"], json!({"e": false}), false),
    ];
    for (required, settings, active) in cases {
        let mut core = core_of(&scripted(&[]).tags(&["here"]), vec![extension(&required)]);
        core.register_tool(Arc::new(ScriptedTool::new("t").offering(&["dig"]))).unwrap();
        let config = config(settings);
        let tags = core.tags_for(&config).await.unwrap();
        assert_eq!(tags.contains(&"by-extension".to_owned()), active, "{required:?}");
        let extensions = core.plugins_for(&config).await.unwrap().extensions;
        assert_eq!(extensions.len(), usize::from(active), "{required:?}");
        let call = map(json!({"ext": "dig"}));
        let context = CallContext::new("test");
        let done = core.execute_tool_calls(vec![call], &config, &context).await.unwrap();
        assert_eq!(done[0].metadata().contains_key("tool_plugin"), active, "{}", done[0].text());
    }
}
