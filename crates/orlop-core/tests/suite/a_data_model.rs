//! The data model: what sessions, messages and the values around them contain.

use expect_test::{Expect, expect};
use orlop_core::hooks::{FinalizeChange, RequestChange};
use orlop_core::interop::Registry;
use orlop_core::session::patch_native_metadata;
use orlop_core::*;
use orlop_testkit::scripted::{
    ScriptedFeature, ScriptedProvider, ScriptedReply, ScriptedTool, config, core_with,
    native_session, plain_session, texts,
};
use serde_json::json;
use std::sync::Arc;

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn saved_and_loaded(session: &Session) -> Session {
    Session::import(&session.export("json").unwrap(), "json").unwrap()
}

async fn added(message: Message) -> Session {
    plain_session(&[message]).await.unwrap()
}

async fn three_native(core: &Core) -> Session {
    let messages = [Message::user("a"), Message::assistant("b"), Message::user("c")];
    native_session(core, &messages, &config(json!({}))).await.unwrap()
}

/// `session` as if somebody had edited its file.
fn edited(session: &Session, edit: impl FnOnce(&mut Value)) -> Session {
    let mut json = session.to_json();
    edit(&mut json);
    Session::from_json(json).unwrap()
}

fn check_message(message: &Message, expected: Expect) {
    expected.assert_eq(&serde_json::to_string(message).unwrap());
}

#[tokio::test] // A-01
async fn a_session_has_an_id_messages_and_metadata() {
    let core = core_with(&ScriptedProvider::default()).unwrap();
    for session in [core.create_session(Some("a")), three_native(&core).await] {
        let json = session.to_json();
        assert_eq!(keys(&json), ["session_id", "messages", "metadata"]);
        assert!(json["session_id"].is_string() && json["messages"].is_array());
        assert!(json["metadata"].is_object());
    }
}

#[tokio::test] // A-02
async fn no_operation_changes_its_input() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["d"]));
    let core = core_with(&provider).unwrap();
    let config = config(json!({"model": "m"}));
    let here = CallContext::default();
    let session = three_native(&core).await;
    let session = session.with_metadata_patch(&map(json!({"x": {"y": [1]}})));
    let (before, copy) = (session.export("json").unwrap(), session.clone());

    core.add_message(&session, Message::user("d"), &config).await.unwrap();
    let first = NewMessage::from(Message::user("d")).at(Place::Start);
    core.add_message(&session, first, &config).await.unwrap();
    core.modify_message(&session, 0, "A", &config, &here).await.unwrap();
    core.slice_session(&session, Slice::without([1]), Some(&config)).await;
    core.split_session(&session, Slice::range(1, 2), Some(&config)).await;
    core.fork_session(&session, 0, Some("f"), Some(&config)).await;
    core.join_sessions(&session, &session, Some(&config)).await.unwrap();
    core.rebuild_native_history(&session, Some(&config), None, None, &here).await.unwrap();
    core.rebuild_native_history(&session, Some(&config), Some(0), Some(1), &here).await.unwrap();
    core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
    session.with_metadata_patch(&map(json!({"x": {"z": 1}})));
    patch_native_metadata(session.native().unwrap().items(), &[0], &map(json!({"k": 1})));

    assert_eq!(session.export("json").unwrap(), before);
    assert_eq!(session, copy);
}

#[tokio::test] // A-03
async fn unknown_metadata_travels_through_every_operation() {
    let core = core_with(&ScriptedProvider::default()).unwrap();
    let config = config(json!({}));
    assert_eq!(core.create_session(None).to_json()["metadata"], json!({}));
    let patch = map(json!({"x": {"y": 1}, "compaction_count": 2}));
    let session = three_native(&core).await.with_metadata_patch(&patch);
    let session = core.add_message(&session, Message::user("d"), &config).await.unwrap();
    let session = core.slice_session(&session, Slice::without([1]), Some(&config)).await;
    let session = core.fork_session(&session, 1, Some("f"), None).await;
    let session = saved_and_loaded(&session);
    assert_eq!(session.metadata(), &patch);
}

/// A session with every kind of field, native history and its internal metadata included.
async fn full_session() -> Session {
    let core = core_with(&ScriptedProvider::default()).unwrap();
    let full = [
        Message::system("rules"),
        Message::user(json!([{"a": 1.5}, null, "é"])).with_multipart_content(vec![
            map(json!({"type": "image", "asset": "x.png"})),
            map(json!({"type": "text"})),
        ]),
        Message::assistant("").with_metadata_entry("tool_calls", json!([{"id": "1"}, {"id": "2"}])),
        Message::tool("4").with_tool_result(map(json!({"type": "tool_result", "text": "4"}))),
    ];
    let session = native_session(&core, &full, &config(json!({}))).await.unwrap();
    edited(&session, |json| {
        json["messages"][0]["metadata"]["note"] = json!({"deep": [true]});
        json["metadata"]["overrides"] = json!({"model": "m"});
        json["metadata"]["native_messages"][0]["_metadata"] = json!({"k": "v"});
    })
}

#[tokio::test] // A-04, A-05
async fn a_session_and_its_json_are_the_same_thing() {
    let session = full_session().await;
    assert_eq!(Session::from_json(session.to_json()).unwrap(), session);
    let text = serde_json::to_string(&session).unwrap();
    assert_eq!(serde_json::from_str::<Session>(&text).unwrap(), session);
    assert_eq!(saved_and_loaded(&session), session);
    assert_eq!(saved_and_loaded(&session).to_json(), session.to_json());
}

#[test] // A-06, A-13
fn a_message_has_five_keys_and_leaves_out_what_is_absent() {
    check_message(
        &Message::user("hi"),
        expect![[r#"{"role":"user","content":"hi","metadata":{}}"#]],
    );
    check_message(
        &Message::tool("4")
            .with_metadata_entry("tool_call_id", "1")
            .with_multipart_content(vec![map(json!({"type": "image"}))])
            .with_tool_result(map(json!({"text": "4"}))),
        expect![[
            r#"{"role":"tool","content":"4","metadata":{"tool_call_id":"1"},"multipartContent":[{"type":"image"}],"tool_result":{"text":"4"}}"#
        ]],
    );
    // What is null comes back as absent.
    let nulls = json!({"role": "user", "content": "hi", "metadata": null,
                       "multipartContent": null, "tool_result": null, "surplus": 1});
    assert_eq!(Message::from_json(nulls).unwrap(), Message::user("hi"));
}

#[tokio::test] // A-07
async fn only_four_roles_exist() {
    let core = Core::new();
    let session = core.create_session(Some("s")).to_json();
    for (role, accepted) in [
        ("system", true),
        ("user", true),
        ("assistant", true),
        ("tool", true),
        ("robot", false),
        ("User", false),
        ("", false),
    ] {
        let args = map(json!({"session": session, "role": role, "content": "x"}));
        let add = core.invoke("add_message", args, &CallContext::default()).await.map(|_| ());
        let text = json!({"session_id": "s", "messages": [{"role": role, "content": "x"}]});
        let import = Session::import(&text.to_string(), "json").map(|_| ());
        for (way, outcome) in [("add", add), ("import", import)] {
            let class = outcome.map_err(|error| error.class());
            let expected = if accepted { Ok(()) } else { Err(ErrorClass::BadArgument) };
            assert_eq!(class, expected, "{way} {role:?}");
        }
    }
}

#[tokio::test] // A-08
async fn content_is_any_json_value() {
    for content in
        [json!("text"), json!([{"a": 1}]), json!({"b": [null, 1.5]}), json!(7), json!(null)]
    {
        let session = added(Message::user(content.clone())).await;
        assert_eq!(session.messages().get(0).unwrap().content(), &content);
        assert_eq!(saved_and_loaded(&session).messages().get(0).unwrap().content(), &content);
    }
}

#[tokio::test] // A-09
async fn odd_metadata_becomes_an_empty_mapping() {
    let core = Core::new();
    let session = core.create_session(None).to_json();
    for (given, stored) in [
        (json!(null), json!({})),
        (json!("x"), json!({})),
        (json!([1]), json!({})),
        (json!({"n": 1}), json!({"n": 1})),
    ] {
        let args = map(json!({
            "session": session, "role": "user", "content": "hi", "metadata": given,
        }));
        let grown = core.invoke("add_message", args, &CallContext::default()).await.unwrap();
        assert_eq!(grown["messages"][0]["metadata"], stored, "{given}");
    }
    // A given mapping is the session's own: the caller's may change.
    let mut own = map(json!({"n": 1}));
    let session = added(Message::user("hi").with_metadata(own.clone())).await;
    own.insert("n".into(), json!(2));
    assert_eq!(session.messages().get(0).unwrap().metadata()["n"], 1);
}

#[tokio::test] // A-10
async fn parts_are_stored_only_if_there_are_any() {
    let core = Core::new();
    let session = core.create_session(None).to_json();
    let part = json!([{"type": "image"}]);
    for (key, given, stored) in [
        ("multipartContent", json!([]), None),
        ("multipartContent", part.clone(), Some(&part)),
        ("multipart_content", part.clone(), Some(&part)),
    ] {
        let mut args = map(json!({"session": session, "role": "user", "content": "look"}));
        args.insert(key.into(), given.clone());
        let grown = core.invoke("add_message", args, &CallContext::default()).await.unwrap();
        let message = &grown["messages"][0];
        assert_eq!(message.get("multipartContent"), stored, "added {key}: {given}");
        assert_eq!(message.get("multipart_content"), None);

        let mut message = json!({"role": "user", "content": "look"});
        message[key] = given.clone();
        let text = json!({"session_id": "s", "messages": [message]}).to_string();
        let imported = Session::import(&text, "json").unwrap().to_json();
        assert_eq!(imported["messages"][0].get("multipartContent"), stored, "imported {key}");
    }
}

#[tokio::test] // A-11
async fn parts_of_unknown_type_survive() {
    let parts = vec![map(json!({"type": "hologram", "asset": "a1", "depth": {"z": [1, 2.5]}}))];
    let session = added(Message::user("look").with_multipart_content(parts.clone())).await;
    let loaded = saved_and_loaded(&session);
    assert_eq!(loaded.messages().get(0).unwrap().multipart_content(), parts);
}

#[tokio::test] // A-12
async fn a_tool_result_is_stored_even_if_empty() {
    let core = Core::new();
    let session = core.create_session(None).to_json();
    for (given, stored) in [
        (json!({}), Some(json!({}))),
        (json!({"text": "4"}), Some(json!({"text": "4"}))),
        (json!(null), None),
    ] {
        let args = map(json!({
            "session": session, "role": "tool", "content": "4", "tool_result": given,
        }));
        let grown = core.invoke("add_message", args, &CallContext::default()).await.unwrap();
        assert_eq!(grown["messages"][0].get("tool_result"), stored.as_ref());
    }
}

#[tokio::test] // A-14
async fn index_zero_is_the_first_message() {
    let core = core_with(&ScriptedProvider::default()).unwrap();
    let (config, here) = (config(json!({})), CallContext::default());
    let session = three_native(&core).await;
    let modified = core.modify_message(&session, 0, "A", &config, &here).await.unwrap();
    assert_eq!(texts(&modified), "A|b|c");
    let sliced = core.slice_session(&session, Slice::without([0]), Some(&config)).await;
    assert_eq!(texts(&sliced), "b|c");
    let edited = edited(&session, |json| {
        json["metadata"]["native_messages"][0]["odd"] = json!(1);
        json["metadata"]["native_messages"][1]["odd"] = json!(1);
    });
    let rebuilt =
        core.rebuild_native_history(&edited, Some(&config), Some(0), Some(1), &here).await.unwrap();
    let odd: Vec<_> =
        rebuilt.native().unwrap().items().iter().map(|i| i.get("odd").is_some()).collect();
    assert_eq!(odd, [false, true, false]);
}

#[tokio::test] // A-17, A-18
async fn the_seal_covers_what_a_message_says_and_nothing_else() {
    type Edit = fn(&mut Value);
    let session = full_session().await;
    session.verify().unwrap();
    let cases: [(&str, bool, Edit); 13] = [
        ("note", true, |json| json["messages"][0]["metadata"]["note"] = json!(2)),
        ("mapping", true, |json| json["messages"][0]["metadata"]["native_indices"] = json!([1])),
        ("session metadata", true, |json| json["metadata"]["other"] = json!(1)),
        ("nothing", true, |_| ()),
        ("text", false, |json| json["messages"][0]["content"] = json!("rules!")),
        ("role", false, |json| json["messages"][0]["role"] = json!("user")),
        ("order", false, |json| json["messages"].as_array_mut().unwrap().swap(0, 1)),
        ("end", false, |json| drop(json["messages"].as_array_mut().unwrap().pop())),
        ("parts", false, |json| json["messages"][1]["multipartContent"][0]["asset"] = json!("y")),
        ("calls", false, |json| json["messages"][2]["metadata"]["tool_calls"][1]["id"] = json!(3)),
        ("result", false, |json| json["messages"][3]["tool_result"]["text"] = json!("5")),
        ("seal", false, |json| json["metadata"]["native_messages_integrity"] = json!("sha256:0")),
        ("no seal", false, |json| {
            json["metadata"].as_object_mut().unwrap().remove("native_messages_integrity");
        }),
    ];
    for (what, holds, edit) in cases {
        let outcome = edited(&session, edit).verify();
        assert_eq!(outcome.is_ok(), holds, "{what}");
    }
}

#[tokio::test] // A-21, A-22
async fn tool_calls_live_in_the_metadata_of_an_assistant_message() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::calls(&[("1", "add", json!({})), ("2", "sub", json!({}))]));
    let core = core_with(&provider).unwrap();
    let config = config(json!({"model": "m"}));
    let session = plain_session(&[Message::user("compute")]).await.unwrap();
    let response = core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
    let ids = |message: &Message| -> Vec<Value> {
        message.tool_calls().map(|call| call["id"].clone()).collect()
    };
    let message = &response.messages[0];
    assert_eq!((ids(message), message.content()), (vec![json!("1"), json!("2")], &json!("")));

    // It survives adding to another session, saving, and the way to native form and back.
    let copy = saved_and_loaded(&added(message.clone()).await);
    let here = CallContext::default();
    let native =
        core.rebuild_native_history(&copy, Some(&config), None, None, &here).await.unwrap();
    for session in [&copy, &native] {
        let message = session.messages().get(0).unwrap();
        assert_eq!((ids(message), message.content()), (vec![json!("1"), json!("2")], &json!("")));
        assert_eq!(message.to_json()["metadata"]["tool_calls"].as_array().unwrap().len(), 2);
    }
}

/// The tool message for a call of `add` with two numbers.
async fn tool_message(tool: ScriptedTool) -> Value {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    core.register_tool(Arc::new(tool.offering(&["add"]))).unwrap();
    let call = json!({"id": "c1", "type": "function",
                      "function": {"name": "add", "arguments": "{\"a\":2}"}});
    let calls = vec![map(call)];
    let messages =
        core.execute_tool_calls(calls, &config(json!({})), &CallContext::default()).await.unwrap();
    messages[0].to_json()
}

#[tokio::test] // A-23, A-24, A-30
async fn a_tool_message_says_which_call_and_which_tool() {
    let message =
        tool_message(ScriptedTool::new("calculator").execute_tool(|_, _| Ok(ToolReport::ok("4"))))
            .await;
    let metadata = message["metadata"].clone();
    assert_eq!(
        keys(&metadata),
        ["tool_call_id", "tool_name", "tool_schema", "tool_plugin", "display"]
    );
    assert_eq!(metadata["tool_call_id"], "c1");
    assert_eq!(metadata["tool_name"], "add");
    assert_eq!(metadata["tool_schema"]["name"], "add");
    assert_eq!(metadata["tool_plugin"], "calculator");
    assert_eq!(metadata["display"], json!({"type": "text", "content": "4"}));
    assert_eq!(message["tool_result"], json!({"type": "tool_result", "text": "4"}));
    assert_eq!((&message["role"], &message["content"]), (&json!("tool"), &json!("4")));
}

#[tokio::test] // A-28
async fn overrides_of_the_session_reach_the_request() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["hello"]));
    let core = core_with(&provider).unwrap();
    let overridden = json!({"overrides": {"model": "large", "temperature": 0}});
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let session = session.with_metadata_patch(&map(overridden));
    // A patch changes single settings and leaves the others.
    let patch = map(json!({"overrides": {"temperature": null, "top_p": 1}}));
    let session = saved_and_loaded(&session.with_metadata_patch(&patch));
    assert_eq!(session.overrides(), Some(&map(json!({"model": "large", "top_p": 1}))));

    let mut resolved = map(json!({"provider": "scripted", "model": "small"}));
    resolved.extend(session.overrides().unwrap().clone());
    let answered = core
        .send_request(&session, &Config::new(resolved), RequestOptions::default())
        .await
        .unwrap()
        .session;
    assert_eq!(provider.requests()[0].1.request["model"], "large");
    assert_eq!(answered.overrides(), session.overrides());
}

#[tokio::test] // A-29
async fn the_agent_of_a_session_is_in_its_metadata() {
    let core = core_with(&ScriptedProvider::default()).unwrap();
    assert_eq!(core.create_session(None).agent_id(), None);
    let session =
        three_native(&core).await.with_metadata_patch(&map(json!({"agent_id": "research"})));
    let forked = core.fork_session(&session, 0, Some("f"), Some(&config(json!({})))).await;
    for session in [saved_and_loaded(&session), forked] {
        assert_eq!(session.agent_id(), Some("research"));
        assert_eq!(session.to_json()["metadata"]["agent_id"], "research");
    }
}

#[test] // A-31
fn an_inspected_call_has_seven_fields() {
    let call = json!({"id": "c1", "type": "function",
                      "function": {"name": "add", "arguments": "{\"a\":2}"}});
    let inspected = Registry::new(None, []).inspect_call(call.as_object().unwrap()).unwrap();
    assert_eq!(
        serde_json::to_value(&inspected).unwrap(),
        json!({"call_id": "c1", "tool_name": "add", "payload": {"a": 2}, "payload_kind": "json",
               "payload_format": "openai.function", "payload_metadata": null, "raw": call})
    );
}

#[test] // A-32
fn an_inspected_result_has_text_display_and_format() {
    let registry = Registry::new(None, []);
    let display = json!({"type": "text", "content": "four"});
    for (result, expected) in [
        (json!("4"), json!({"text": "4", "display": null, "format_id": "core.text"})),
        (
            json!({"type": "tool_result", "text": "4", "display": display}),
            json!({"text": "4", "display": display, "format_id": "core.text"}),
        ),
    ] {
        let inspected = registry.inspect_result(&result);
        assert_eq!(serde_json::to_value(&inspected).unwrap(), expected);
    }
}

#[tokio::test] // A-33
async fn tool_descriptors_hold_schema_and_plugin() {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    let tool = ScriptedTool::new("calculator").offering(&["add", "sub"]);
    core.register_tool(Arc::new(tool)).unwrap();
    let args = map(json!({"config": {}}));
    let tools = core.invoke("get_available_tools", args, &CallContext::default()).await.unwrap();
    for (tool, name) in tools.as_array().unwrap().iter().zip(["add", "sub"]) {
        assert_eq!(
            (&tool["plugin"], &tool["schema"]["name"]),
            (&json!("calculator"), &json!(name))
        );
        assert!(tool["schema"]["parameters"].is_object());
    }
    assert_eq!(tools.as_array().unwrap().len(), 2);
}

#[tokio::test] // A-34
async fn the_state_has_config_request_and_a_metadata_patch() {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["hello"]));
    let mut core = core_with(&provider).unwrap();
    let feature = ScriptedFeature::new("counter")
        .initialize_request(|input, _| {
            assert_eq!(input.state.config.text("model"), Some("m"));
            Ok(RequestChange::state(StateChange::request("temperature", 0)))
        })
        .finalize(|input, _| {
            let seen = json!({"seen": keys(&Value::Object(input.state.to_json()))});
            let state = StateChange::set("session_metadata_patch", seen);
            Ok(FinalizeChange { state, ..FinalizeChange::default() })
        });
    core.register_feature(Arc::new(feature)).unwrap();
    let session = plain_session(&[Message::user("hi")]).await.unwrap();
    let session = session.with_metadata_patch(&map(json!({"held": 1})));
    let config = config(json!({"model": "m"}));
    let session =
        core.send_request(&session, &config, RequestOptions::default()).await.unwrap().session;
    assert_eq!(session.metadata(), &map(json!({"held": 1, "seen": ["config", "request"]})));
    let (_, state) = &provider.requests()[0];
    assert_eq!(state.request, map(json!({"model": "m", "temperature": 0})));
}

#[tokio::test] // A-35
async fn models_are_mappings_with_an_id() {
    let provider = ScriptedProvider::default().models(&["small", "large"]);
    let core = core_with(&provider).unwrap();
    let models = core.models_for(&config(json!({}))).await.unwrap();
    assert_eq!(json!(*models), json!([{"id": "small"}, {"id": "large"}]));
}

#[tokio::test] // A-36
async fn what_plugins_add_to_open_mappings_is_kept() {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    let feature = ScriptedFeature::new("extras")
        .get_ui_elements(|_, _| Ok(vec![json!({"ui_type": "button", "id": "b", "glow": [1]})]))
        .get_completions(|_, _| Ok(vec![json!({"text": "/help", "glow": [2]})]))
        .get_actions(|_, _| {
            let mut action = ActionDefinition::new("go", "Go");
            action.extra.insert("glow".into(), json!([3]));
            Ok(vec![action])
        });
    core.register_feature(Arc::new(feature)).unwrap();
    let config = config(json!({}));
    let elements = core.ui_schema(&config).await.unwrap();
    assert_eq!(elements[0]["glow"], json!([1]));
    let completions = core.completions(&config, "/").await.unwrap();
    assert_eq!(completions[0]["glow"], json!([2]));
    let actions = json!(core.session_actions(&config).await.unwrap());
    assert_eq!(actions[0]["glow"], json!([3]));
    let display = json!({"type": "text", "content": "4", "single_line": true, "glow": [4]});
    let shown = display.clone();
    let message = tool_message(
        ScriptedTool::new("calculator")
            .execute_tool(|_, _| Ok(ToolReport::ok("4")))
            .to_display_format(move |_, _| Ok(Some(shown.clone()))),
    )
    .await;
    assert_eq!(message["metadata"]["display"], display);
}
