//! The tools on offer: catalogue and policy, schemas and formats, who takes a call, previews.

use futures::FutureExt;
use orlop_core::interop::{
    CallFormat, Interop, Registry, ResultFormat, ResultTarget, SchemaFormat, calls, results,
    schemas,
};
use orlop_core::types::{InspectedCall, InspectedResult, PayloadKind, ToolDescriptor};
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

fn map(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

fn core_of(features: Vec<ScriptedFeature>, tools: Vec<ScriptedTool>) -> Core {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    for feature in features {
        core.register_feature(Arc::new(feature)).unwrap();
    }
    for tool in tools {
        core.register_tool(Arc::new(tool)).unwrap();
    }
    core
}

/// A plain call without arguments.
fn call(name: &str) -> Map {
    map(json!({"id": "c1", "name": name}))
}

async fn run(core: &Core, call: Map) -> Message {
    let messages =
        core.execute_tool_calls(vec![call], &Config::empty(), &CallContext::default()).await;
    messages.unwrap().remove(0)
}

fn names(tools: &[ToolDescriptor]) -> String {
    tools.iter().map(|tool| tool.name().unwrap()).collect::<Vec<_>>().join(" ")
}

/// A policy that leaves out the tool of this name.
fn hiding(hidden: &'static str) -> ScriptedFeature {
    ScriptedFeature::new(&format!("hide-{hidden}")).filter_tools(move |input, _| {
        let shown = input.tools.iter().filter(|tool| tool.name() != Some(hidden));
        Ok(Some(shown.cloned().collect()))
    })
}

#[tokio::test] // F-02
async fn of_two_tools_of_a_name_the_first_is_used() {
    let tools = ["dice", "mine"].map(|plugin| ScriptedTool::new(plugin).offering(&["roll"]));
    let core = core_of(vec![], Vec::from(tools));
    let schemas = core.tool_schemas(&Config::empty()).await.unwrap();
    let names: Vec<_> = schemas.iter().map(|schema| &schema["name"]).collect();
    assert_eq!(names, ["roll"]);
}

#[tokio::test] // F-02
async fn whoever_yields_takes_no_name_whatever_its_priority() {
    let from = |plugin: &str, manifest: fn(Manifest) -> Manifest| {
        let manifest = manifest(Manifest::new(plugin, "1.0.0"));
        ScriptedTool::with_manifest(manifest).offering(&["write_file"])
    };
    let added = || from("added", |it| it.yielding().priority(1));
    let core = core_of(vec![], vec![added(), from("files", |it| it.priority(200))]);
    let config = Config::empty();
    let ran = run(&core, call("write_file")).await;
    assert_eq!(ran.metadata()["tool_plugin"], "files");
    let unused = core.unused_tools(&config).await.unwrap();
    let told: Vec<String> = unused.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "the tool \"write_file\" of plugin \"added\" is not used, because plugin \"files\" has one of that name; give it another name"
        ]
    );
    let core = core_of(vec![], vec![added(), from("later", Manifest::yielding)]);
    assert_eq!(core.unused_tools(&config).await.unwrap()[0].plugin, "later");
    assert_eq!(core.tool_schemas(&config).await.unwrap().len(), 1);
}

#[tokio::test] // F-01, F-02
async fn the_catalogue_before_and_after_policy() {
    let off = ScriptedTool::with_manifest(Manifest::new("off", "1").requires(&["shell"]));
    let tools = vec![
        ScriptedTool::new("files").offering(&["write", "read"]),
        ScriptedTool::new("web").offering(&["fetch"]),
        off.offering(&["run"]),
    ];
    let core = core_of(vec![hiding("write")], tools);
    let config = Config::empty();
    let available = core.available_tools(&config).await.unwrap();
    assert_eq!(names(&available), "write read fetch");
    let plugins: Vec<_> = available.iter().map(|tool| tool.plugin.as_str()).collect();
    assert_eq!(plugins, ["files", "files", "web"]);
    let schemas = core.tool_schemas(&config).await.unwrap();
    let names: Vec<_> = schemas.iter().map(|schema| &schema["name"]).collect();
    assert_eq!(names, ["read", "fetch"]);

    let ask = async |method| {
        core.invoke(method, map(json!({"config": {}})), &CallContext::default()).await.unwrap()
    };
    assert_eq!(ask("get_available_tools").await.as_array().unwrap().len(), 3);
    assert_eq!(ask("get_tool_schemas").await, json!(schemas));
}

#[tokio::test] // F-03
async fn policies_compose_by_priority() {
    let renaming = |from: &'static str, to: &'static str, priority| {
        ScriptedFeature::new(to).priority(priority).filter_tools(move |input, _| {
            let mut tools = input.tools.clone();
            for tool in tools.iter_mut().filter(|tool| tool.name() == Some(from)) {
                tool.schema.insert("name".into(), to.into());
            }
            Ok(Some(tools))
        })
    };
    let tools = || vec![ScriptedTool::new("kit").offering(&["a", "b"])];
    // Registered the wrong way round: priority decides.
    let core = core_of(vec![renaming("x", "y", 200), renaming("a", "x", 100)], tools());
    let schemas = core.tool_schemas(&Config::empty()).await.unwrap();
    let names: Vec<_> = schemas.iter().map(|schema| &schema["name"]).collect();
    assert_eq!(names, ["y", "b"]);
    // The plugin runs under the name the model knows.
    assert_eq!(run(&core, call("y")).await.metadata()["tool_schema"]["name"], "y");

    let core = core_of(vec![hiding("a"), hiding("b")], tools());
    assert!(core.tool_schemas(&Config::empty()).await.unwrap().is_empty());
    let indifferent = ScriptedFeature::new("indifferent").filter_tools(|_, _| Ok(None));
    let core = core_of(vec![indifferent], tools());
    assert_eq!(core.tool_schemas(&Config::empty()).await.unwrap().len(), 2);
}

#[tokio::test] // F-04
async fn a_hidden_tool_is_not_run() {
    let log = Log::new();
    let ran = log.clone();
    let tool = ScriptedTool::new("kit").offering(&["secret"]).execute_tool(move |_, _| {
        ran.add("ran");
        Ok(ToolReport::ok("done"))
    });
    let core = core_of(vec![hiding("secret")], vec![tool.clone()]);
    let message = run(&core, call("secret")).await;
    assert_eq!(message.text(), "Error: no tool handled 'secret'");
    assert_eq!(
        Value::Object(message.metadata().clone()),
        json!({"tool_call_id": "c1", "tool_name": "secret"})
    );
    assert!(log.lines().is_empty());
    assert_eq!(run(&core_of(vec![], vec![tool]), call("secret")).await.text(), "done");
}

/// The same tool on the wire of a provider that wants `schema_format` and calls in its own style.
async fn check_wire(schema_format: &str, schema: Value, call: Value) {
    let provider = ScriptedProvider::default()
        .interop(Interop { schema_format: Some(schema_format.into()), ..Interop::default() });
    provider
        .reply(ScriptedReply::items(vec![json!({"who": "assistant", "say": "", "calls": [call]})]));
    let mut core = core_with(&provider).unwrap();
    let tool = ScriptedTool::new("kit")
        .get_tool_schemas(|_, _| {
            let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
            let schema = json!({"name": "read", "description": "Reads", "parameters": parameters});
            Ok(vec![map(schema)])
        })
        .execute_tool(|input, _| Ok(ToolReport::ok(format!("read {}", input.payload["path"]))));
    core.register_tool(Arc::new(tool)).unwrap();

    let (config, options) = (Config::empty(), RequestOptions::default());
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let answer = core.send_request(&session, &config, options).await.unwrap();
    let (_, state) = provider.requests().pop().unwrap();
    assert_eq!(state.request["tools"], json!([schema]), "{schema_format}");
    let calls = session::extract_tool_calls(&answer.messages);
    let results = core.execute_tool_calls(calls, &config, &CallContext::default()).await.unwrap();
    assert_eq!(results[0].text(), r#"read "a.txt""#, "{schema_format}");
    assert_eq!(results[0].metadata()["tool_call_id"], "c1", "{schema_format}");
}

#[tokio::test] // F-05
async fn one_tool_works_with_every_wire() {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let arguments = json!({"path": "a.txt"});
    let function = json!({"name": "read", "description": "Reads", "parameters": parameters});
    check_wire(
        schemas::OPENAI_FUNCTION,
        json!({"type": "function", "function": function}),
        json!({"id": "c1", "type": "function",
               "function": {"name": "read", "arguments": arguments.to_string()}}),
    )
    .await;
    check_wire(
        schemas::OPENAI_RESPONSES,
        json!({"type": "function", "name": "read", "description": "Reads", "parameters": parameters,
               "strict": false}),
        json!({"type": "function_call", "call_id": "c1", "name": "read",
               "arguments": arguments.to_string()}),
    )
    .await;
    check_wire(
        schemas::ANTHROPIC,
        json!({"name": "read", "description": "Reads", "input_schema": parameters}),
        json!({"type": "tool_use", "id": "c1", "name": "read", "input": arguments}),
    )
    .await;
    check_wire(
        schemas::GEMINI,
        function,
        json!({"functionCall": {"id": "c1", "name": "read", "args": arguments}}),
    )
    .await;
}

/// A call format of the form `{<key>: "<tool> <text>"}`, and a result and a schema format of
/// the same id.
fn own_format(id: &'static str) -> Interop {
    let read = move |call: &Map| {
        let (name, text) = call.get(id)?.as_str()?.split_once(' ')?;
        Some(InspectedCall {
            call_id: Some(format!("{id}-1")),
            tool_name: Some(name.into()),
            payload: text.into(),
            payload_kind: PayloadKind::Text,
            payload_metadata: Some(map(json!({"length": text.len()}))),
            raw: call.clone(),
            ..InspectedCall::default()
        })
    };
    let read_result = move |result: &Value| {
        let text = result.get(id)?.as_str()?.to_owned();
        let display = result.get("show").and_then(Value::as_object).cloned();
        Some(InspectedResult { text, display, format_id: String::new() })
    };
    let write_result = move |_: &Value, read: &InspectedResult, target: &ResultTarget| {
        Some(json!({id: read.text, "for": target.name}))
    };
    Interop {
        calls: vec![CallFormat { id: id.into(), read: Arc::new(read), write: None }],
        results: vec![ResultFormat {
            id: id.into(),
            read: Some(Arc::new(read_result)),
            write: Some(Arc::new(write_result)),
        }],
        schemas: vec![SchemaFormat {
            id: id.into(),
            write: Arc::new(move |schema| Some(json!({id: schema["name"]}))),
        }],
        ..Interop::default()
    }
}

/// The registry in force for `config`.
fn registry(core: &Core, config: &Config) -> Registry {
    let held = Arc::new(std::sync::Mutex::new(None));
    let kept = held.clone();
    let mut core = core.clone();
    let looking = ScriptedFeature::new("looking")
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("look", "Look")]))
        .execute_action(move |_, cx| {
            *kept.lock().unwrap() = cx.interop().cloned();
            Ok(ActionResult::unchanged())
        });
    core.register_feature(Arc::new(looking)).unwrap();
    let (session, call) = (Session::new("s"), ActionCall::new("looking", "look"));
    let context = CallContext::default();
    let looked = core.execute_session_action(&session, config, call, &context);
    looked.now_or_never().unwrap().unwrap();
    held.lock().unwrap().take().unwrap()
}

#[test] // F-06
fn the_registry_holds_the_formats_of_the_plugins_of_a_configuration() {
    let provider = ScriptedProvider::new("first").interop(own_format("p"));
    let extension = ScriptedExtension::new("x").interop(own_format("x"));
    let mut core = Core::new();
    core.register_provider(Arc::new(provider), vec![Arc::new(extension)]).unwrap();
    core.register_provider(Arc::new(ScriptedProvider::new("second")), vec![]).unwrap();
    core.register_tool(Arc::new(ScriptedTool::new("kit").interop(own_format("t")))).unwrap();

    let of = |name: &str| registry(&core, &config(json!({"provider": name})));
    let (first, second) = (of("first"), of("second"));
    for (id, in_second) in [("p", false), ("x", false), ("t", true)] {
        let call = map(json!({id: "say hi"}));
        let inspected = first.inspect_call(&call).unwrap();
        assert_eq!(inspected.payload_format.as_deref(), Some(id));
        assert_eq!(inspected.tool_name.as_deref(), Some("say"));
        assert_eq!(second.inspect_call(&call).is_ok(), in_second, "{id}");

        let inspected = first.inspect_result(&json!({id: "text", "show": {"type": "x"}}));
        assert_eq!((inspected.text.as_str(), inspected.format_id.as_str()), ("text", id));
        assert_eq!(inspected.display, Some(map(json!({"type": "x"}))));
        let target = ResultTarget::named("model");
        let converted = first.convert_result(&json!("plain"), &target, &["nobody's", id]);
        assert_eq!(converted, Some(json!({id: "plain", "for": "model"})));
    }
    // The first accepted format that can be written wins; what is in an accepted one stays.
    let target = ResultTarget::named("model");
    let held = json!({"t": "kept"});
    assert_eq!(first.convert_result(&held, &target, &["x", "t"]), Some(held));
    let text = first.convert_result(&json!({"t": "said"}), &target, &[results::CORE_TEXT]);
    assert_eq!(text, Some(json!({"type": "tool_result", "text": "said"})));
    assert_eq!(first.convert_result(&json!("x"), &target, &["nobody's"]), None);
}

/// What a streaming tool is told of the payload of a call.
async fn check_payload(call: Value, expected: Value) {
    let log = Log::new();
    let seen = log.clone();
    let tool = ScriptedTool::new("kit").offering(&["say"]).interop(own_format("own")).stream_tool(
        move |input, _| {
            seen.add(
                json!([
                    input.payload,
                    input.payload_kind,
                    input.payload_format,
                    input.payload_metadata,
                ])
                .to_string(),
            );
            assert_eq!(input.tool_name, "say");
            vec![Ok(ToolPart::Report(ToolReport::ok("said")))]
        },
    );
    assert_eq!(run(&core_of(vec![], vec![tool]), map(call)).await.text(), "said");
    assert_eq!(log.lines(), [expected.to_string()]);
}

#[tokio::test] // F-07
async fn a_tool_learns_how_to_read_its_payload() {
    let arguments = json!({"text": "hi"});
    let function = |arguments: Value| json!({"id": "c1", "type": "function", "function": {"name": "say", "arguments": arguments}});
    check_payload(
        function(json!(arguments.to_string())),
        json!([arguments, "json", calls::OPENAI_FUNCTION, null]),
    )
    .await;
    check_payload(function(json!("")), json!([{}, "json", calls::OPENAI_FUNCTION, null])).await;
    check_payload(
        json!({"id": "c1", "type": "custom", "custom": {"name": "say", "input": "free text"}}),
        json!(["free text", "text", calls::OPENAI_CUSTOM, null]),
    )
    .await;
    check_payload(
        json!({"own": "say free text"}),
        json!(["free text", "text", "own", {"length": 9}]),
    )
    .await;
}

#[tokio::test] // F-07
async fn arguments_that_are_no_json_reach_the_tool_with_the_reason() {
    let tool = ScriptedTool::new("kit").offering(&["say"]).stream_tool(|input, _| {
        let reason = input.payload_metadata.as_ref().unwrap()["parse_error"].clone();
        let told = ToolReport::failed(format!("{} {reason}", input.payload));
        vec![Ok(ToolPart::Report(told))]
    });
    let call = json!({"id": "c1", "function": {"name": "say", "arguments": "{broken"}});
    let message = run(&core_of(vec![], vec![tool]), map(call)).await;
    assert!(message.text().starts_with(r#""{broken" "the arguments are not JSON"#));
}

#[test] // F-08
fn results_are_read_in_the_core_format_or_a_plugins_own() {
    let registry = Registry::new(None, [own_format("own")]);
    for (result, id, text) in [
        (json!("plain"), results::CORE_TEXT, "plain"),
        (json!({"type": "tool_result", "text": "canonical"}), results::CORE_TEXT, "canonical"),
        (json!({"unknown": true}), results::CORE_TEXT, r#"{"unknown":true}"#),
        (json!({"own": "mine"}), "own", "mine"),
        (json!({"content": [{"type": "text", "text": "a"}]}), results::MCP_CONTENT, "a"),
    ] {
        let inspected = registry.inspect_result(&result);
        assert_eq!((inspected.format_id.as_str(), inspected.text.as_str()), (id, text));
    }
    assert_eq!(results::CORE_TEXT, "core.text");
    let own = registry.inspect_result(&json!({"own": "mine", "show": {"type": "table"}}));
    assert_eq!(own.display, Some(map(json!({"type": "table"}))));
}

#[tokio::test] // F-30
async fn the_tool_whose_schema_fits_takes_the_call() {
    let tool = |plugin: &'static str, schema: Value| {
        ScriptedTool::new(plugin)
            .get_tool_schemas(move |_, _| Ok(vec![map(schema.clone())]))
            .prepare_tools(move |input, _| Ok(json!(format!("{plugin}:{}", input.schemas.len()))))
            .execute_tool(|input, _| Ok(ToolReport::ok((*input.prepared).clone())))
    };
    let core = core_of(
        vec![],
        vec![
            tool("files", json!({"name": "read"})),
            tool("web", json!({"type": "function", "function": {"name": "fetch"}})),
            tool("patch-json", json!({"name": "patch", "parameters": {}})),
            tool("patch-text", json!({"type": "custom", "name": "patch"})),
        ],
    );
    let free_form = map(json!({"id": "c1", "custom": {"name": "patch", "input": "diff"}}));
    for (call, plugin) in [
        (call("read"), "files"),
        (call("fetch"), "web"),
        (call("patch"), "patch-json"),
        (free_form, "patch-text"),
    ] {
        let message = run(&core, call).await;
        assert_eq!(message.text(), format!("{plugin}:1"));
        assert_eq!(message.metadata()["tool_plugin"], plugin);
        let available = core.available_tools(&Config::empty()).await.unwrap();
        let own = available.iter().find(|tool| tool.plugin == plugin).unwrap();
        assert_eq!(message.metadata()["tool_schema"], json!(own.schema));
    }
}

#[tokio::test] // F-34
async fn a_preview_never_fails() {
    let tool = ScriptedTool::new("kit")
        .offering(&["read", "fail", "panic"])
        .format_tool_call_preview(|input, _| match input.tool_name.as_str() {
            "read" => Ok(format!("Read {}", input.payload["path"])),
            "fail" => Err(Error::plugin("no preview")),
            _ => panic!("no preview"),
        });
    let core = core_of(vec![hiding("hidden")], vec![tool]);
    let read = map(json!({"id": "c1", "name": "read", "arguments": {"path": "a"}}));
    for (call, id, preview) in [
        (read, json!("c1"), r#"Read "a""#),
        (map(json!({"garbage": 1})), json!(null), ""),
        (call("nobody's"), json!("c1"), ""),
        (call("fail"), json!("c1"), ""),
        (call("panic"), json!("c1"), ""),
    ] {
        let found = core.format_tool_call_preview(&call, &Config::empty()).await.unwrap();
        let found = serde_json::to_value(found).unwrap();
        assert_eq!(found, json!({"id": id, "preview": preview}));
    }
}

#[tokio::test] // F-34
async fn a_tool_without_previews_has_empty_ones() {
    // A result that is no string cannot come from a Rust tool; no result at all can.
    let core = core_of(vec![], vec![ScriptedTool::new("kit").offering(&["read"])]);
    let found = core.format_tool_call_preview(&call("read"), &Config::empty()).await.unwrap();
    assert_eq!(found, ToolPreview { id: Some("c1".into()), preview: String::new() });
}

#[tokio::test] // F-35
async fn previews_keep_the_order_of_the_calls() {
    let tool = ScriptedTool::new("kit")
        .offering(&["a", "b"])
        .format_tool_call_preview(|input, _| Ok(format!("does {}", input.tool_name)));
    let core = core_of(vec![], vec![tool]);
    let calls = json!([{"id": "1", "name": "b"}, "no mapping", {"id": "2", "name": "a"}]);
    let args = map(json!({"tool_calls": calls, "config": {}}));
    let previews =
        core.invoke("format_tool_call_previews", args, &CallContext::default()).await.unwrap();
    assert_eq!(
        previews,
        json!([{"id": "1", "preview": "does b"}, {"id": "2", "preview": "does a"}])
    );
}
