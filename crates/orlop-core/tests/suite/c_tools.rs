//! Tools: what they offer, how they run, and what becomes of their reports.

use futures::{StreamExt, TryStreamExt};
use orlop_core::hooks::Kind;
use orlop_core::interop::{CallFormat, Interop, ResultFormat};
use orlop_core::types::{InspectedCall, InspectedResult, PayloadKind};
use orlop_core::*;
use orlop_testkit::scripted::{
    Log, ScriptedFeature, ScriptedProvider, ScriptedReply, ScriptedTool, config, plain_session,
    texts,
};
use serde_json::json;
use std::sync::Arc;

fn core_of(provider: &ScriptedProvider, tools: Vec<ScriptedTool>) -> Core {
    let mut core = Core::new();
    core.register_provider(Arc::new(provider.clone()), Vec::new()).unwrap();
    for tool in tools {
        core.register_tool(Arc::new(tool)).unwrap();
    }
    core
}

fn core_with_tool(tool: ScriptedTool) -> Core {
    core_of(&ScriptedProvider::default(), vec![tool])
}

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

fn call(name: &str, arguments: Value) -> Map {
    map(json!({"id": "c1", "type": "function",
               "function": {"name": name, "arguments": arguments.to_string()}}))
}

async fn run(core: &Core, name: &str) -> Message {
    let calls = vec![call(name, json!({}))];
    let context = CallContext::new("test");
    core.execute_tool_calls(calls, &Config::empty(), &context).await.unwrap().remove(0)
}

#[test] // C-49
fn schemas_and_execution_together_make_a_tool() {
    assert_eq!(classify(["get_tool_schemas", "execute_tool"]), Kind::Tool);
    assert_eq!(classify(["execute_tool", "get_tool_schemas", "process_chunk"]), Kind::Tool);
    assert_eq!(classify(["get_tool_schemas"]), Kind::Feature);
    assert_eq!(classify(["execute_tool"]), Kind::Feature);
}

#[tokio::test] // C-49, C-50
async fn schemas_appear_in_the_available_catalogue_in_tool_order() {
    let second = ScriptedTool::new("b").offering(&["saw"]);
    // What is on offer may depend on configuration and state.
    let first = ScriptedTool::new("a")
        .init(|_, _| Ok(StateChange::set("verb", "dig")))
        .get_tool_schemas(|input, _| {
            let prefix = input.config.text("prefix").unwrap_or_default();
            let verb = input.state.values["verb"].as_str().unwrap();
            let schema = |name: String| {
                map(json!({"name": name, "description": "d", "parameters": {"type": "object"}}))
            };
            Ok(vec![schema(format!("{prefix}{verb}")), schema(format!("{prefix}fill"))])
        });
    let core = core_of(&ScriptedProvider::default(), vec![first, second]);
    let catalogue = core.available_tools(&config(json!({"prefix": "my_"}))).await.unwrap();
    let listed: Vec<_> =
        catalogue.iter().map(|tool| (tool.plugin.as_str(), tool.name().unwrap())).collect();
    assert_eq!(listed, [("a", "my_dig"), ("a", "my_fill"), ("b", "saw")]);
    assert_eq!(
        json!(catalogue[0]),
        json!({"plugin": "a", "schema": {
            "name": "my_dig", "description": "d", "parameters": {"type": "object"}}})
    );
}

#[tokio::test] // C-51
async fn a_tool_without_a_stream_works_in_the_tool_loop() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::calls(&[("c1", "add", json!({"a": 2, "b": 3}))]));
    provider.reply(ScriptedReply::text(&["it is 5"]));
    let adder = ScriptedTool::new("adder").offering(&["add"]).execute_tool(|input, _| {
        assert_eq!(input.tool_name, "add");
        let sum = input.payload["a"].as_i64().unwrap() + input.payload["b"].as_i64().unwrap();
        Ok(ToolReport { success: true, data: map(json!({"output": sum, "own": "data"})) })
    });
    let core = core_of(&provider, vec![adder]);
    let config = Config::empty();
    let mut session = plain_session(&[Message::user("2+3?")]).await.unwrap();
    loop {
        let sent = core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
        session = sent.session;
        let calls = session::extract_tool_calls(&sent.messages);
        if calls.is_empty() {
            break;
        }
        let context = CallContext::new("test");
        for message in core.execute_tool_calls(calls, &config, &context).await.unwrap() {
            session = core.add_message(&session, message, &config).await.unwrap();
        }
    }
    assert_eq!(texts(&session), "2+3?||5|it is 5");
    assert_eq!(provider.last_request(), "2+3?||5");
}

#[tokio::test] // C-52
async fn all_inputs_arrive_at_stream_tool() {
    let format = CallFormat {
        id: "poem.call".into(),
        read: Arc::new(|call| {
            let text = call.get("poem")?.as_str()?;
            Some(InspectedCall {
                call_id: Some("p1".into()),
                tool_name: Some("recite".into()),
                payload: text.into(),
                payload_kind: PayloadKind::Text,
                payload_metadata: Some(map(json!({"lines": text.lines().count()}))),
                raw: call.clone(),
                ..Default::default()
            })
        }),
        write: None,
    };
    let log = Log::new();
    let seen = log.clone();
    let poet = ScriptedTool::new("poet")
        .offering(&["recite"])
        .interop(Interop { calls: vec![format], ..Default::default() })
        .init(|_, _| Ok(StateChange::set("muse", "Erato")))
        .prepare_tools(|_, _| Ok(json!({"rhymes": true})))
        .stream_tool(move |input, cx| {
            let facts = json!([
                input.tool_name,
                input.payload,
                input.state.values["muse"],
                input.payload_kind,
                input.payload_format,
                input.payload_metadata,
                input.tool_call,
                cx.is_cancelled(),
                cx.get("who"),
                input.prepared,
            ]);
            seen.add(facts.to_string());
            vec![
                Ok(ToolPart::Part(json!({"part": "O"}))),
                Ok(ToolPart::Report(ToolReport::ok("O muse"))),
            ]
        });
    let core = core_with_tool(poet);
    let token = CancelToken::new();
    token.cancel();
    let context = CallContext::new("test").with("who", "me").cancelled_by(Arc::new(token));
    let calls = vec![map(json!({"poem": "a\nb"}))];
    let events: Vec<_> =
        core.iter_tool_messages(calls, &Config::empty(), &context).try_collect().await.unwrap();
    assert_eq!(
        log.text(),
        r#"["recite","a\nb","Erato","text","poem.call",{"lines":2},{"poem":"a\nb"},true,"me",{"rhymes":true}]"#
    );
    let [ToolEvent::Part(part), ToolEvent::Message(message)] = &events[..] else { panic!() };
    assert_eq!(*part, json!({"part": "O"}));
    assert_eq!((message.text(), &message.metadata()["tool_call_id"]), ("O muse", &json!("p1")));
}

#[tokio::test] // C-53
async fn a_tool_that_only_executes_streams_its_report_alone() {
    let tool =
        ScriptedTool::new("t").offering(&["dig"]).execute_tool(|_, _| Ok(ToolReport::ok("gold")));
    let core = core_with_tool(tool);
    let (config, context) = (Config::empty(), CallContext::new("test"));
    let dig = call("dig", json!({}));
    let chunks: Vec<_> =
        core.stream_tool_call(&dig, &config, &context).await.unwrap().try_collect().await.unwrap();
    assert_eq!(json!(chunks), json!([{"success": true, "output": "gold"}]));
    let events: Vec<_> = core.iter_tool_messages(vec![dig], &config, &context).collect().await;
    let [Ok(ToolEvent::Message(message))] = &events[..] else { panic!("{events:?}") };
    assert_eq!(message.text(), "gold");
}

async fn check_formatted(formatted: Value, text: &str, structured: Value) {
    let tool = ScriptedTool::new("t")
        .offering(&["dig"])
        .init(|_, _| Ok(StateChange::set("unit", "oz")))
        .execute_tool(|_, _| Ok(ToolReport::ok("gold")))
        .interop(Interop {
            results: vec![ResultFormat {
                id: "ore.result".into(),
                read: Some(Arc::new(|result| {
                    let text = format!("ore of {}", result.get("ore")?.as_str()?);
                    Some(InspectedResult { text, ..Default::default() })
                })),
                write: None,
            }],
            ..Default::default()
        })
        .format_tool_result(move |input, _| {
            assert_eq!(
                (&input.result.data["output"], input.result.success),
                (&json!("gold"), true)
            );
            assert_eq!(input.state.values["unit"], "oz");
            Ok(Some(formatted.clone()))
        });
    let message = run(&core_with_tool(tool), "dig").await;
    assert_eq!(message.text(), text);
    assert_eq!(Value::Object(message.tool_result().unwrap().clone()), structured);
}

#[tokio::test] // C-54
async fn results_are_formatted_as_text_or_as_a_mapping() {
    check_formatted(
        json!("some gold"),
        "some gold",
        json!({"type": "tool_result", "text": "some gold"}),
    )
    .await;
    check_formatted(json!({"ore": "gold"}), "ore of gold", json!({"ore": "gold"})).await;
    check_formatted(
        json!({"type": "tool_result", "text": "t", "extra": 1}),
        "t",
        json!({"type": "tool_result", "text": "t", "extra": 1}),
    )
    .await;
}

#[tokio::test] // C-55
async fn the_display_is_the_tool_s_own_or_an_echo_of_the_text() {
    let tool = || {
        ScriptedTool::new("t").offering(&["dig"]).execute_tool(|_, _| Ok(ToolReport::ok("gold")))
    };
    let custom = tool().to_display_format(|input, _| {
        assert_eq!((input.text.as_str(), &input.result.data["output"]), ("gold", &json!("gold")));
        Ok(Some(json!({"type": "diff", "lines": input.state.config.values().len()})))
    });
    let shown = run(&core_with_tool(custom), "dig").await;
    assert_eq!(shown.metadata()["display"], json!({"type": "diff", "lines": 0}));
    let echo = run(&core_with_tool(tool()), "dig").await;
    assert_eq!(echo.metadata()["display"], json!({"type": "text", "content": "gold"}));
}

#[tokio::test] // C-56
async fn previews_say_what_a_call_is_about_to_do() {
    let tool = ScriptedTool::new("t")
        .offering(&["dig"])
        .init(|_, _| Ok(StateChange::set("spade", "steel")))
        .prepare_tools(|_, _| Ok(json!("ready")))
        .format_tool_call_preview(|input, _| {
            let facts = json!([
                input.tool_name,
                input.payload,
                input.state.values["spade"],
                input.payload_kind,
                input.payload_format,
                input.payload_metadata,
                input.tool_call["id"],
                input.prepared,
            ]);
            Ok(facts.to_string())
        });
    let plain = ScriptedTool::new("plain").offering(&["saw"]);
    let core = core_of(&ScriptedProvider::default(), vec![tool, plain]);
    let calls = [call("dig", json!({"deep": 3})), call("saw", json!({}))];
    let previews = core.format_tool_call_previews(&calls, &Config::empty()).await.unwrap();
    assert_eq!(
        previews[0].preview,
        r#"["dig",{"deep":3},"steel","json","openai.function",null,"c1","ready"]"#
    );
    assert_eq!(json!(previews[1]), json!({"id": "c1", "preview": ""}), "the default is empty");
}

#[tokio::test] // C-57
async fn preparation_happens_once_per_config_until_caches_are_reset() {
    let log = Log::new();
    let prepared = log.clone();
    let used = log.clone();
    let tool = ScriptedTool::new("t")
        .offering(&["dig"])
        .prepare_tools(move |input, _| {
            prepared.add("prepared");
            Ok(json!([input.config.text("site"), input.schemas[0]["name"]]))
        })
        .execute_tool(move |input, _| {
            used.add(input.prepared.to_string());
            Ok(ToolReport::ok("done"))
        })
        .format_tool_call_preview(|input, _| Ok(input.prepared.to_string()));
    let mut core = core_with_tool(tool);
    let context = CallContext::new("test");
    let site = |name: &str| config(json!({"site": name, "other": 1}));
    let dig = call("dig", json!({}));
    for _ in 0..2 {
        core.execute_tool_calls(vec![dig.clone()], &site("a"), &context).await.unwrap();
        let preview = core.format_tool_call_preview(&dig, &site("a")).await.unwrap();
        assert_eq!(preview.preview, r#"["a","dig"]"#);
    }
    assert_eq!(log.text(), r#"prepared ["a","dig"] ["a","dig"]"#);
    core.execute_tool_calls(vec![dig.clone()], &site("b"), &context).await.unwrap();
    assert_eq!(log.count("prepared"), 2, "another configuration");
    core.register_feature(Arc::new(ScriptedFeature::new("f"))).unwrap();
    core.execute_tool_calls(vec![dig], &site("a"), &context).await.unwrap();
    assert_eq!(log.count("prepared"), 3, "registration resets");
}

#[tokio::test] // C-58
async fn tools_have_what_other_plugins_have() {
    let manifest = Manifest::new("t", "1.0.0")
        .config("t.depth", json!({"type": "integer"}))
        .requires(&["ground"])
        .priority(7);
    let tool = ScriptedTool::with_manifest(manifest)
        .offering(&["dig"])
        .get_tags(|_, _| Ok(vec!["digs".into()]))
        .is_enabled(|input, _| Ok(input.config.get("t.on").and_then(Value::as_bool)))
        .get_ui_elements(|_, _| Ok(vec![json!({"key": "t.depth", "label": "Depth"})]));
    let later = ScriptedTool::new("later")
        .get_ui_elements(|_, _| Ok(vec![json!({"key": "later", "label": "Later"})]));
    let core =
        core_of(&ScriptedProvider::default().tags(&["ground"]), vec![later.clone(), tool.clone()]);
    let on = Config::empty();
    assert_eq!(core.config_schema()[0]["key"], "t.depth");
    assert_eq!(core.tags_for(&on).await.unwrap(), ["ground", "digs"]);
    let elements = core.ui_schema(&on).await.unwrap();
    assert_eq!(
        json!(elements),
        json!([
            {"key": "t.depth", "label": "Depth", "ui_type": "config", "plugin": "t"},
            {"key": "later", "label": "Later", "ui_type": "config", "plugin": "later"},
        ])
    );
    let off = config(json!({"t": {"on": false}}));
    assert!(core.available_tools(&off).await.unwrap().is_empty());
    let airborne = core_of(&ScriptedProvider::default(), vec![tool]);
    assert!(airborne.ui_schema(&on).await.unwrap().is_empty(), "the required tag is missing");
}
