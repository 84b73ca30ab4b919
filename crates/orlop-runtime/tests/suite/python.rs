//! Plugins in Python, run as processes: every kind through whole turns.

use crate::common::stage::*;
use crate::common::*;
use orlop_core::Map;
use orlop_runtime::Runtime;
use orlop_testkit::scripted::ScriptedReply;
use serde_json::json;
use std::path::Path;

#[tokio::test]
async fn a_function_is_a_tool() {
    let stage = Stage::calls(&[("c1", "add", json!({"a": 2, "b": 3}))]);
    let code = "import orlop\n\n@orlop.tool\ndef add(a: int, b: int) -> int:\n    'Adds two numbers.'\n    print('not for the protocol')\n    return a + b\n";
    let package = package(&stage, "adder", None, code);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    assert_eq!(results(&events), ["5"]);
    runtime.stop().await;
}

#[tokio::test]
async fn a_feature_changes_the_request_and_what_is_kept() {
    let code = r#"
class Greeter:
    name = "greeter"
    version = "1.0.0"

    def initialize_request(self, native_messages, state):
        state["request"]["temperature"] = 0.5
        return native_messages, state

    def get_actions(self, state):
        return [{"id": "count", "label": "Count", "inputs": {}, "trigger": "request_complete"}]

    def execute_action(self, action_id, session, native_messages, params, context, state):
        core = context["core"]
        first = core.slice_session(session, start=0, end=1)
        return {"native_messages": native_messages,
                "session_metadata": {"seen": len(session.messages), "first": len(first.messages), "lifecycle": context["lifecycle"]}}
"#;
    let stage = Stage::says(&["hello", "again"]);
    let package = package(&stage, "greeter", None, code);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    events_of(&app, ask("s", "hi")).await;
    assert_eq!(kept(&app, "s", "seen").await, json!(2));
    assert_eq!(kept(&app, "s", "first").await, json!(1));
    assert_eq!(kept(&app, "s", "lifecycle").await, json!("request_complete"));
    events_of(&app, ask("s", "hi again")).await;
    assert_eq!(kept(&app, "s", "seen").await, json!(4));
    runtime.stop().await;
}

#[tokio::test]
async fn what_was_not_granted_is_refused() {
    let code = r#"
class Nosy:
    name = "nosy"

    def init(self, app_config):
        return {}

    def get_actions(self, state):
        return [{"id": "look", "label": "Look", "inputs": {"session_id": {"type": "string", "required": True}}}]

    def execute_action(self, app, action_id, params, context, state):
        core, config, session = app.load_session(params["session_id"])
        return {"message": "there are %d messages" % len(session.messages)}
"#;
    let stage = Stage::says(&["hello", "hello"]);
    let refused = package(&stage, "nosy", Some(""), code);
    let granted = package(
        &stage,
        "granted",
        Some("[grants]\napp = [\"load_session\"]\n"),
        &code.replace("nosy", "granted"),
    );
    let (stage, runtime) = with_packages(stage, vec![refused, granted]);
    let app = stage.start().await;
    events_of(&app, ask("s", "hi")).await;
    let look = |plugin: &str| orlop_core::ActionCall {
        plugin: plugin.to_owned(),
        action: "look".to_owned(),
        params: Map::from_iter([("session_id".to_owned(), json!("s"))]),
    };
    let error = app.execute_action(look("nosy"), Some("s")).await.unwrap_err();
    assert!(error.message().contains("app.load_session is not granted"), "{}", error.message());
    let done = app.execute_action(look("granted"), Some("s")).await.unwrap();
    assert_eq!(done["message"], "there are 2 messages");
    runtime.stop().await;
}

#[tokio::test]
async fn a_host_plugin_answers_in_place_of_the_agent() {
    let code = r#"
class Door:
    name = "door"

    async def intercept_chat_request(self, text):
        if text == "/ping":
            return {"status": 200, "text": "pong"}

    def context_providers(self, request):
        return ["The door is open."]
"#;
    let stage = Stage::says(&["hello"]);
    let package = package(&stage, "door", None, code);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let host = stage.open().await;
    let events = chat_to_end(&host, chat("s", "/ping")).await;
    assert_eq!(names(&events), "final");
    let events = chat_to_end(&host, chat("s", "hi")).await;
    assert!(names(&events).ends_with("final"), "{}", names(&events));
    host.stop().await;
    runtime.stop().await;
}

#[tokio::test]
async fn a_provider_streams_from_python() {
    let code = r#"
class Parrot:
    name = "parrot"

    def to_native_messages(self, messages, native_messages):
        return [{"role": m["role"], "text": m["content"]} for m in messages]

    def from_native_messages(self, native_messages, messages):
        return [{"role": n["role"], "content": n["text"], "metadata": {"native_indices": [i]}} for i, n in enumerate(native_messages)]

    def stream_api(self, native_messages, state):
        text = native_messages[-1]["text"]
        for word in text.split():
            yield {"partial": {"role": "assistant", "content": word + " "}}
        yield {"final_messages": [{"role": "assistant", "text": text}]}
"#;
    let stage =
        Stage::default().settings("").more("[agents.bird]\nprovider = \"parrot\"\nmodel = \"m\"\n");
    let package = package(&stage, "parrot", None, code);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    let mut request = ask("s", "polly wants a cracker");
    request.session = orlop_app::Target::StoredOrNew(orlop_app::NewSession {
        id: Some("s".to_owned()),
        agent: Some("bird".to_owned()),
        ..Default::default()
    });
    let events = events_of(&app, request).await;
    assert!(names(&events).contains("partial"), "{}", names(&events));
    assert_eq!(said(&app, "s").await, "polly wants a cracker|polly wants a cracker");
    runtime.stop().await;
}

#[tokio::test]
async fn a_plugin_nobody_needs_is_not_started() {
    let stage = Stage::says(&["one", "two"]);
    let started = stage.home().join("plugin-data/lazy/started");
    let code = format!(
        "import orlop, pathlib\nwith open({:?}, 'a') as f: f.write('x')\n\n@orlop.tool\ndef noop() -> str:\n    'Nothing.'\n    return ''\n",
        started.display().to_string()
    );
    let count = |path: &Path| std::fs::read_to_string(path).unwrap_or_default().len();
    let made = package(&stage, "lazy", None, &code);
    let mut runtime = Runtime::new(env(&stage), stage.home());
    runtime.add(made.clone(), Map::new()).unwrap();
    assert_eq!(count(&started), 1, "asked once what it holds");
    runtime.stop().await;
    let stage = stage.settings("tools = []");
    let (stage, runtime) = with_packages(stage, vec![made]);
    let app = stage.start().await;
    events_of(&app, ask("s", "hi")).await;
    assert_eq!(count(&started), 1, "and not again for an agent that does not use it");
    runtime.stop().await;
}

#[tokio::test]
async fn a_crash_fails_the_call_and_the_next_one_starts_anew() {
    let code = r#"
import orlop, os

@orlop.tool
def crash() -> str:
    "Ends the process."
    os._exit(3)

@orlop.tool
def fine() -> str:
    "Works."
    return "fine"
"#;
    let stage = Stage::default();
    stage.model.reply(ScriptedReply::calls(&[("c1", "crash", json!({}))]));
    stage.model.reply(ScriptedReply::calls(&[("c2", "fine", json!({}))]));
    stage.model.reply(ScriptedReply::text(&["done"]));
    let package = package(&stage, "fragile", None, code);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    let events = events_of(&app, ask("s", "go")).await;
    let results = results(&events);
    assert!(results[0].contains("ended unexpectedly (exit status: 3)"), "{results:?}");
    assert_eq!(results[1], "fine");
    runtime.stop().await;
}

#[tokio::test]
async fn a_package_may_say_that_its_failures_count() {
    let code = r#"
class Guard:
    name = "guard"

    def intercept_chat_request(self):
        raise RuntimeError("the guard is away")
"#;
    for (limits, counts) in [("", false), ("[limits]\non_failure = \"fail\"\n", true)] {
        let stage = Stage::says(&["hello"]);
        let package = package(&stage, "guard", Some(limits), code);
        let (stage, runtime) = with_packages(stage, vec![package]);
        let host = orlop_app::Host::start(stage.start().await, None).await.unwrap();
        let asked = stage.model.requests().len();
        match host.chat(chat("s", "hi")).await {
            Err(error) => assert!(counts && error.message().contains("the guard is away")),
            Ok(mut chat) => while chat.next().await.is_some() {},
        }
        assert_eq!(stage.model.requests().len() - asked, usize::from(!counts), "{limits}");
        host.stop().await;
        runtime.stop().await;
    }
}

#[tokio::test]
async fn secrets_of_others_stay_at_home() {
    let code = r#"
class Nosy:
    name = "nosy"

    def get_config_schema(self):
        return {"nosy.token": {"type": "string"}}

    def get_actions(self, state):
        return [{"id": "look", "label": "Look", "inputs": {}, "trigger": "request_complete"}]

    def execute_action(self, action_id, session, native_messages, params, context, state):
        seen = [state["config"].get("api_key"), context["config"].get("api_key"), context["base_config"].get("api_key")]
        return {"session_metadata": {"seen": seen, "own": state["config"]["nosy"]["token"]}}
"#;
    let stage = Stage::says(&["hello"]).settings("api_key = \"k-1\"\nnosy.token = \"k-2\"");
    let package = package(&stage, "nosy", None, code);
    let (stage, runtime) = with_packages(stage, vec![package]);
    let app = stage.start().await;
    events_of(&app, ask("s", "hi")).await;
    assert_eq!(kept(&app, "s", "seen").await, json!(["***", "***", "***"]));
    assert_eq!(kept(&app, "s", "own").await, json!("k-2"));
    runtime.stop().await;
}
