//! What the core does for a provider: formats, its extensions, and whose actions are whose.

use futures::StreamExt;
use orlop_core::hooks::*;
use orlop_core::interop::{CallFormat, Interop};
use orlop_core::types::{ActionOwner, InspectedCall};
use orlop_core::{
    ActionCall, ActionDefinition, ActionResult, CallContext, Change, Config, Context, Core,
    ErrorClass, Manifest, Map, Message, NativeItem, RequestOptions, Session, Value,
};
use orlop_testkit::Gate;
use orlop_testkit::scripted::{
    Log, ScriptedExtension, ScriptedFeature, ScriptedProvider, ScriptedReply, ScriptedTool, config,
    plain_session,
};
use serde_json::json;
use std::sync::Arc;

fn core_of(
    provider: &ScriptedProvider,
    extensions: Vec<ScriptedExtension>,
    features: Vec<ScriptedFeature>,
) -> Core {
    let mut core = Core::new();
    let extensions =
        extensions.into_iter().map(|plugin| Arc::new(plugin) as Arc<dyn Extension>).collect();
    core.register_provider(Arc::new(provider.clone()), extensions).unwrap();
    for feature in features {
        core.register_feature(Arc::new(feature)).unwrap();
    }
    core
}

fn with_tool(mut core: Core, tool: ScriptedTool) -> Core {
    core.register_tool(Arc::new(tool)).unwrap();
    core
}

fn scripted(replies: &[&str]) -> ScriptedProvider {
    let provider = ScriptedProvider::default();
    for text in replies {
        provider.reply(ScriptedReply::text(&[text]));
    }
    provider
}

async fn hi() -> Session {
    plain_session(&[Message::user("hi")]).await.unwrap()
}

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

/// A call format only this provider has: `{"do": "name with words"}`.
fn do_format() -> CallFormat {
    CallFormat {
        id: "wire.do".into(),
        read: Arc::new(|call| {
            let (name, words) = call.get("do")?.as_str()?.split_once(' ')?;
            Some(InspectedCall {
                tool_name: Some(name.to_owned()),
                payload: json!({"words": words}),
                raw: call.clone(),
                ..Default::default()
            })
        }),
        write: None,
    }
}

#[tokio::test] // C-25
async fn formats_of_the_provider_are_part_of_the_registry() {
    let interop = Interop {
        schema_format: Some("anthropic".into()),
        calls: vec![do_format()],
        ..Default::default()
    };
    let provider = scripted(&["yes"]).interop(interop);
    let log = Log::new();
    let seen = log.clone();
    let tool = ScriptedTool::new("t").offering(&["dig"]).execute_tool(move |input, cx| {
        let known = cx.interop().unwrap().schema_format();
        seen.add(json!([input.payload, input.payload_format, known]).to_string());
        Ok(orlop_core::ToolReport::ok("done"))
    });
    let core = with_tool(core_of(&provider, vec![], vec![]), tool);
    let call = map(json!({"do": "dig for gold"}));
    let context = CallContext::new("test");
    let done = core.execute_tool_calls(vec![call], &Config::empty(), &context).await.unwrap();
    assert_eq!(done[0].text(), "done");
    assert_eq!(log.text(), r#"[{"words":"for gold"},"wire.do","anthropic"]"#);
    let options = RequestOptions::default();
    core.send_request(&hi().await, &Config::empty(), options).await.unwrap();
    let (_, state) = &provider.requests()[0];
    assert_eq!(
        state.request["tools"],
        json!([{"name": "dig", "description": "the dig tool",
                "input_schema": {"type": "object", "properties": {}}}])
    );
}

#[tokio::test] // C-26
async fn only_the_extensions_active_for_the_config_take_part() {
    let log = Log::new();
    let extension = |name: &'static str| {
        macro_rules! note {
            ($what:literal, $outcome:expr) => {{
                let log = log.clone();
                move |_: &_, _: &Context| {
                    log.add(concat!($what));
                    Ok($outcome)
                }
            }};
        }
        let chunks = log.clone();
        ScriptedExtension::new(name)
            .is_enabled(move |input, _| Ok(input.config.get(name).and_then(Value::as_bool)))
            .init(note!("init", StateChange::Keep))
            .to_native_messages(note!("to_native", Change::Keep))
            .from_native_messages(note!("from_native", Change::Keep))
            .initialize_request(note!("initialize", RequestChange::default()))
            .finalize(note!("finalize", FinalizeChange::default()))
            .get_actions(note!("get_actions", Vec::new()))
            .process_chunk(move |_, _| {
                chunks.add("chunk");
                Ok(())
            })
    };
    let gate = Gate::new();
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["on"]).waiting_for(&gate));
    provider.reply(ScriptedReply::text(&["off"]));
    let core = core_of(&provider, vec![extension("e")], vec![]);
    let session = hi().await;
    let on = config(json!({"e": true}));
    let mut running = core.send_request_stream(&session, &on, RequestOptions::default());
    running.next().await.unwrap().unwrap();
    assert!(log.lines().contains(&"chunk".to_owned()));

    // A request without the extension, while one with it is under way: each has its own subset.
    log.take();
    let off = config(json!({"e": false}));
    let without = core.send_request_stream(&session, &off, RequestOptions::default());
    assert_eq!(without.collect::<Vec<_>>().await.len(), 2);
    assert_eq!(log.take(), [""; 0]);
    gate.open();
    running.next().await.unwrap().unwrap();
    for hook in ["chunk", "finalize", "from_native", "get_actions"] {
        assert!(log.lines().contains(&hook.to_owned()), "{hook}");
    }
}

#[tokio::test] // C-27
async fn settings_and_elements_of_extensions_carry_their_names() {
    let extension = |name: &str| {
        let manifest = Manifest::new(name, "1.0.0").config("key", json!({"type": "string"}));
        let element = json!({"ui_type": "session_action", "action_id": "go"});
        ScriptedExtension::with_manifest(manifest)
            .get_ui_elements(move |_, _| Ok(vec![element.clone()]))
    };
    let core = core_of(&scripted(&[]), vec![extension("x"), extension("y")], vec![]);
    let plugins = |entries: Vec<Map>| -> Vec<Value> {
        entries.iter().map(|entry| entry["plugin"].clone()).collect()
    };
    assert_eq!(plugins(core.config_schema()), ["x", "y"]);
    assert_eq!(plugins(core.ui_schema(&Config::empty()).await.unwrap()), ["x", "y"]);
}

#[tokio::test] // C-28
async fn an_action_of_an_extension_is_run_by_name() {
    let log = Log::new();
    let seen = log.clone();
    let extension = ScriptedExtension::new("e")
        .init(|_, _| Ok(StateChange::set("ready", true)))
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("go", "Go").input("n", "integer", true)]))
        .execute_action(move |input, cx| {
            let native: Vec<_> = input.native_messages.iter().map(NativeItem::wire).collect();
            let facts = json!([
                input.action_id,
                input.session.id(),
                native,
                input.params,
                cx.get("who"),
                input.state.values["ready"],
            ]);
            seen.add(facts.to_string());
            Ok(ActionResult::unchanged())
        });
    let core = core_of(&scripted(&[]), vec![extension], vec![]);
    let session = hi().await;
    let run = async |plugin: &str, action: &str| {
        let call = ActionCall::new(plugin, action).param("n", 1);
        let context = CallContext::new("test").with("who", "me");
        core.execute_session_action(&session, &Config::empty(), call, &context).await
    };
    run("e", "go").await.unwrap();
    assert_eq!(log.text(), r#"["go","s",["{\"who\":\"user\",\"say\":\"hi\"}"],{"n":1},"me",true]"#);
    for (plugin, action) in [("nobody", "go"), ("e", "stay"), ("scripted", "go")] {
        let error = run(plugin, action).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::NotFound);
        assert!(error.message().contains(plugin) && error.message().contains(action), "{error}");
    }
}

#[tokio::test] // C-29
async fn actions_belong_to_extensions_and_features_only() {
    let kinds: Vec<_> =
        HOOKS.iter().filter(|row| row.name == "get_actions").map(|row| row.kind).collect();
    // Application plugins have actions, too; the application runs them, not the core.
    assert_eq!(kinds, [Kind::Extension, Kind::Feature, Kind::Application]);
    // Whatever a plugin writes there, the owner is what the plugin is.
    let action = || {
        let mut action = ActionDefinition::new("go", "Go").on(&["x"]);
        action.action_owner = Some(ActionOwner::Application);
        action
    };
    let extension = ScriptedExtension::new("e").get_actions(move |_, _| Ok(vec![action()]));
    let feature = ScriptedFeature::new("f").get_actions(move |_, _| Ok(vec![action()]));
    let core = core_of(&scripted(&[]), vec![extension], vec![feature]);
    let listed = json!(core.session_actions(&Config::empty()).await.unwrap());
    let run = core
        .execute_lifecycle_actions(&hi().await, &Config::empty(), "x", &CallContext::new("test"))
        .await
        .unwrap();
    for list in [listed, json!(run.results)] {
        assert_eq!(list[0]["action_owner"], "provider_extension");
        assert_eq!(list[1]["action_owner"], "feature");
    }
}
