//! What an action is told of the call it belongs to: layers, reserved keys, data of the caller.

use orlop_core::*;
use orlop_testkit::scripted::{
    Log, ScriptedFeature, ScriptedProvider, ScriptedReply, ScriptedTool, config, core_with,
    native_session,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// How an action comes to run.
#[derive(Debug, Clone, Copy)]
enum Way {
    ByHand,
    Lifecycle,
    Response,
}

const WAYS: [Way; 3] = [Way::ByHand, Way::Lifecycle, Way::Response];

/// The context that an action sees when it runs in this way and the caller passes `call`.
async fn seen(way: Way, call: CallContext) -> Context {
    let held = Arc::new(Mutex::new(None));
    let keep = held.clone();
    let feature = ScriptedFeature::new("f")
        .get_actions(|_, _| {
            let at = ["tick", lifecycle::RESPONSE_FINALIZE];
            Ok(vec![ActionDefinition::new("x", "X").on(&at)])
        })
        .execute_action(move |_, cx| {
            *keep.lock().unwrap() = Some(cx.clone());
            Ok(ActionResult::unchanged())
        });
    let provider = ScriptedProvider::default().tags(&["fast"]);
    provider.reply(ScriptedReply::text(&["Hello"]));
    let mut core = core_with(&provider).unwrap();
    core.register_feature(Arc::new(feature)).unwrap();
    core.register_tool(Arc::new(ScriptedTool::new("files").offering(&["read"]))).unwrap();
    let config = config(json!({"provider": "scripted", "level": "request"}));
    let session = native_session(&core, &[Message::user("hi")], &config).await.unwrap();
    match way {
        Way::ByHand => {
            let action = ActionCall::new("f", "x");
            core.execute_session_action(&session, &config, action, &call).await.unwrap();
        }
        Way::Lifecycle => {
            core.execute_lifecycle_actions(&session, &config, "tick", &call).await.unwrap();
        }
        Way::Response => {
            let options = RequestOptions { context: call, ..RequestOptions::default() };
            core.send_request(&session, &config, options).await.unwrap();
        }
    }
    held.lock().unwrap().take().unwrap()
}

/// What a surface above the core would pass: its own data, a live object, and who started it.
fn from_application() -> CallContext {
    CallContext::new("application")
        .from_source(TriggerSource::Application)
        .owning("base_config", json!({"level": "agent", "agents": {"a": {}}}))
        .owning("request_id", "r1")
        .lending("app", Arc::new(App { name: "demo" }))
        .lending("terminal", Arc::new(Terminal))
}

#[derive(Debug, PartialEq)]
struct App {
    name: &'static str,
}
struct Terminal;

fn keys(data: &Map) -> Vec<&str> {
    data.keys().map(String::as_str).collect()
}

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

/// The warnings of this thread, as long as the guard lives.
fn warnings() -> (Log, tracing::subscriber::DefaultGuard) {
    let log = Log::new();
    let lines = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_writer(move || Lines(lines.clone()))
        .without_time()
        .with_ansi(false)
        .finish();
    (log, tracing::subscriber::set_default(subscriber))
}

#[tokio::test] // H-30
async fn a_core_only_action_sees_layer_one_and_no_application() {
    for way in WAYS {
        let cx = seen(way, CallContext::new("test")).await;
        let data = cx.to_json();
        let mut expected = vec!["config", "trigger_source", "session"];
        if !matches!(way, Way::ByHand) {
            expected.push("lifecycle");
        }
        expected.extend(["request_context", "request_runtime"]);
        if matches!(way, Way::Response) {
            expected.extend(["final_messages", "native_final_messages", "native_messages"]);
            expected.extend(["stream", "turn_native_start_index"]);
        }
        assert_eq!(keys(&data), expected, "{way:?}");

        assert_eq!(data["config"], json!({"provider": "scripted", "level": "request"}));
        assert_eq!(data["trigger_source"], "core");
        assert_eq!(data["session"], cx.session().unwrap().to_json());
        assert_eq!(data.get("lifecycle").and_then(Value::as_str), cx.lifecycle());
        assert_eq!(data["request_runtime"], json!({"provider": "scripted", "features": ["f"]}));
        // The resolved tags and tools are filled in.
        let request = &data["request_context"];
        assert_eq!(request["tags"], json!(["fast"]));
        assert_eq!(request["enabled_tools"], json!(["files"]));
        assert_eq!(request["tools"], request["available_tools"]);
        assert_eq!(request["tools"][0]["schema"]["name"], "read");

        assert_eq!(cx.handles(), ["core"]);
        assert_eq!(cx.core().registered().features, ["f"]);
        assert!(cx.handle::<App>("app").is_none() && cx.get("app").is_none());
    }
    assert_eq!(seen(Way::Lifecycle, CallContext::new("t")).await.lifecycle(), Some("tick"));
    let response = seen(Way::Response, CallContext::new("t")).await;
    assert_eq!(response.lifecycle(), Some("response_finalize"));
}

#[tokio::test] // H-34
async fn one_constant_names_every_reserved_key() {
    let named = [
        "lifecycle",
        "trigger_source",
        "original_session",
        "previous_agent_id",
        "next_agent_id",
        "error",
        // Of the application and of frontends.
        "app",
        "application",
        "base_config",
        "session_asset_store",
        "terminal",
        "server",
        "request_id",
    ];
    // What the layers put there in the richest of calls is theirs.
    let cx = seen(Way::Response, from_application()).await;
    let data = cx.to_json();
    for key in named.into_iter().chain(keys(&data)).chain(cx.handles()) {
        assert!(RESERVED_KEYS.contains(&key), "{key} is not reserved");
    }
    let mut distinct = RESERVED_KEYS.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), RESERVED_KEYS.len());
}

#[tokio::test] // H-35
async fn a_reserved_key_of_the_caller_is_dropped_with_one_warning() {
    for key in RESERVED_KEYS {
        let (log, guard) = warnings();
        let call = CallContext::new("my-caller").with("mine", 1).with(key, "of the caller");
        for way in WAYS {
            let cx = seen(way, call.clone()).await;
            assert_ne!(cx.get(key), Some(&json!("of the caller")), "{key}");
            assert_ne!(cx.to_json().get(*key), Some(&json!("of the caller")), "{key}");
            assert_eq!(cx.to_json()["config"]["level"], "request");
            assert_eq!(cx.to_json()["mine"], 1);
        }
        drop(guard);
        let lines = log.lines();
        assert_eq!(lines.len(), 1, "{key}: {lines:?}");
        assert!(lines[0].contains("WARN") && lines[0].contains("\"my-caller\""), "{lines:?}");
        assert!(lines[0].contains(&format!("key=\"{key}\"")), "{lines:?}");
    }
}

#[tokio::test] // H-35, H-38
async fn the_application_value_is_seen_where_a_caller_wants_the_same_key() {
    let caller = json!({"base_config": {"level": "caller"}, "surface": "caller", "foo": 1});
    let call = from_application()
        .owning("surface", "application")
        .with_all(caller.as_object().cloned().unwrap());
    let cx = seen(Way::Lifecycle, call).await;
    let data = cx.to_json();
    assert_eq!(data["base_config"]["level"], "agent");
    assert_eq!((&data["surface"], cx.get("surface")), (&json!("application"), data.get("surface")));
    assert_eq!(data["foo"], 1);
}

#[tokio::test] // H-36
async fn other_keys_of_the_caller_arrive_unchanged() {
    let nested = json!({"list": [1, null, {"deep": "é"}], "half": 0.5, "no": false});
    for layer in [CallContext::new("terminal"), from_application()] {
        let call = layer.with("foo", 1).with("nested", nested.clone());
        assert_eq!(keys(call.data()), ["foo", "nested"]);
        for way in WAYS {
            let cx = seen(way, call.clone()).await;
            assert_eq!((cx.get("foo"), cx.get("nested")), (Some(&json!(1)), Some(&nested)));
            let data = cx.to_json();
            assert_eq!((&data["foo"], &data["nested"]), (&json!(1), &nested), "{way:?}");
        }
    }
}

/// `CallContext::with` takes JSON only, by its type; a live object has another way in.
#[tokio::test] // H-37
async fn data_is_json_and_live_objects_are_handles_beside_it() {
    let call = from_application().with("text", "t").with("list", vec![1, 2]);
    let cx = seen(Way::Response, call).await;
    let data = cx.to_json();
    let text = serde_json::to_string(&data).unwrap();
    assert_eq!(serde_json::from_str::<Map>(&text).unwrap(), data);
    for live in ["core", "app", "application", "terminal", "server"] {
        assert!(!data.contains_key(live) && cx.get(live).is_none(), "{live} is among the data");
    }
    assert_eq!(cx.handles(), ["core", "app", "application", "terminal"]);
    assert_eq!(cx.handle::<App>("app").unwrap().name, "demo");
    assert!(Arc::ptr_eq(
        &cx.handle::<App>("app").unwrap(),
        &cx.handle::<App>("application").unwrap()
    ));
    assert!(cx.handle::<Terminal>("terminal").is_some());
    // Another type, or a layer that is not there, is no object.
    assert!(cx.handle::<Terminal>("app").is_none());
    assert!(cx.handle::<App>("server").is_none());
}

#[tokio::test] // H-38
async fn what_layers_own_is_no_clash() {
    let (log, guard) = warnings();
    for way in WAYS {
        let cx = seen(way, from_application().with("foo", 1)).await;
        assert_eq!(cx.trigger_source(), TriggerSource::Application);
        let data = cx.to_json();
        assert_eq!(data["trigger_source"], "application");
        assert_eq!(data["base_config"]["level"], "agent");
        // What the core contributes is still the core's.
        assert_eq!(data["config"]["level"], "request");
        assert_eq!(data["session"]["session_id"], "s");
        assert_eq!(data["request_context"]["provider"], "scripted");
        assert_eq!(data["request_runtime"]["provider"], "scripted");
    }
    drop(guard);
    assert!(log.lines().is_empty(), "{:?}", log.lines());
}

#[tokio::test] // H-40
async fn agent_settings_come_from_base_config_where_there_is_one() {
    let level = |cx: &Context| cx.base_config().text("level").unwrap().to_owned();
    for way in WAYS {
        let alone = seen(way, CallContext::new("test")).await;
        assert_eq!(level(&alone), "request");
        let in_application = seen(way, from_application()).await;
        assert_eq!(level(&in_application), "agent");
        assert_eq!(in_application.config().text("level"), Some("request"));
    }
}

#[tokio::test] // H-41
async fn a_response_action_sees_the_layers_of_the_request() {
    let cx = seen(Way::Response, from_application().with("foo", 1)).await;
    let data = cx.to_json();
    for key in [
        // Layer 1.
        "config",
        "trigger_source",
        "session",
        "lifecycle",
        "request_context",
        "request_runtime",
        // The response in flight.
        "final_messages",
        "native_final_messages",
        "native_messages",
        "stream",
        "turn_native_start_index",
        // Layers 2 and 3, and the caller.
        "base_config",
        "request_id",
        "foo",
    ] {
        assert!(data.contains_key(key), "{key} is missing");
    }
    assert_eq!(data["lifecycle"], "response_finalize");
    assert_eq!(data["base_config"]["level"], "agent");
    assert_eq!(*cx.handle::<App>("app").unwrap(), App { name: "demo" });
    assert!(cx.handle::<Terminal>("terminal").is_some());
}
