//! Lifecycle runs: which actions run, in which order, on what, and what a failure does.

use orlop_core::hooks::ActionInput;
use orlop_core::*;
use orlop_testkit::scripted::{
    Log, ScriptedExtension, ScriptedFeature, ScriptedProvider, ScriptedReply, config, core_with,
    native_session, texts,
};
use serde_json::{Value, json};
use std::sync::Arc;

fn scripted() -> Config {
    config(json!({"provider": "scripted"}))
}

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

/// An action that runs at `tick`.
fn at_tick(id: &str) -> ActionDefinition {
    ActionDefinition::new(id, id).on(&["tick"])
}

/// A feature whose action `x` runs at `tick`.
fn ticking(
    name: &str,
    run: impl Fn(&ActionInput, &Context) -> Result<ActionResult> + Send + Sync + 'static,
) -> ScriptedFeature {
    ScriptedFeature::new(name).get_actions(|_, _| Ok(vec![at_tick("x")])).execute_action(run)
}

/// A feature whose action at `tick` answers like that.
fn answering(name: &str, answer: Value) -> ScriptedFeature {
    ticking(name, move |_, _| ActionResult::from_json(answer.clone()))
}

/// A feature whose action at `tick` writes its name into `log`.
fn logging(name: &'static str, log: &Log) -> ScriptedFeature {
    let log = log.clone();
    ticking(name, move |_, _| {
        log.add(name);
        Ok(ActionResult::unchanged())
    })
}

fn core_of(features: impl IntoIterator<Item = ScriptedFeature>) -> Core {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    for feature in features {
        core.register_feature(Arc::new(feature)).unwrap();
    }
    core
}

async fn hello(core: &Core) -> Session {
    native_session(core, &[Message::user("hi")], &scripted()).await.unwrap()
}

async fn run(core: &Core, session: &Session, lifecycle: &str) -> Result<LifecycleRun> {
    let context = CallContext::new("test");
    core.execute_lifecycle_actions(session, &scripted(), lifecycle, &context).await
}

#[tokio::test] // H-02
async fn response_finalize_is_run_by_the_core_itself() {
    let log = Log::new();
    let seen = log.clone();
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["Hello"]));
    let mut core = core_with(&provider).unwrap();
    let feature = ScriptedFeature::new("f")
        .get_actions(|_, _| {
            let at = |name: &str| ActionDefinition::new(name, name).on(&[name]);
            Ok(["request_prepare", "response_finalize", "request_complete"].map(at).to_vec())
        })
        .execute_action(move |input, cx| {
            assert_eq!(cx.lifecycle(), Some(input.action_id.as_str()));
            seen.add(input.action_id.as_str());
            Ok(ActionResult::unchanged())
        });
    core.register_feature(Arc::new(feature)).unwrap();
    let session = hello(&core).await;
    core.send_request(&session, &scripted(), RequestOptions::default()).await.unwrap();
    // The others are the application's, and there is none here.
    assert_eq!(log.lines(), ["response_finalize"]);
}

#[tokio::test] // H-14
async fn the_core_runs_whatever_name_it_is_given() {
    let names = ["session_create", "session_list", "my_future_custom_lifecycle", "Ein Name!"];
    let log = Log::new();
    let ran = log.clone();
    let core = core_of([ScriptedFeature::new("f")
        .get_actions(move |_, _| Ok(vec![ActionDefinition::new("x", "X").on(&names)]))
        .execute_action(move |_, cx| {
            ran.add(cx.lifecycle().unwrap());
            Ok(ActionResult::unchanged())
        })]);
    // Nothing runs by itself.
    let session = core.create_session(None);
    let session = core.add_message(&session, Message::user("hi"), &scripted()).await.unwrap();
    assert!(log.lines().is_empty());
    for name in names {
        assert_eq!(run(&core, &session, name).await.unwrap().results.len(), 1);
        assert_eq!(log.take(), [name]);
    }
    assert!(run(&core, &session, "session_delete").await.unwrap().results.is_empty());
}

#[tokio::test] // H-17
async fn extensions_run_in_registration_order_then_features_by_priority() {
    let log = Log::new();
    let extension = |name: &'static str, enabled: bool| -> Arc<dyn Extension> {
        let log = log.clone();
        Arc::new(
            ScriptedExtension::new(name)
                .is_enabled(move |_, _| Ok(Some(enabled)))
                .get_actions(|_, _| Ok(vec![at_tick("x")]))
                .execute_action(move |_, _| {
                    log.add(name);
                    Ok(ActionResult::unchanged())
                }),
        )
    };
    let mut core = Core::new();
    let extensions =
        vec![extension("zeta", true), extension("off", false), extension("alpha", true)];
    core.register_provider(Arc::new(ScriptedProvider::default()), extensions).unwrap();
    let several = {
        let log = log.clone();
        ScriptedFeature::new("several")
            .priority(20)
            .get_actions(|_, _| Ok(["two", "one", "three"].map(at_tick).to_vec()))
            .execute_action(move |input, _| {
                log.add(input.action_id.as_str());
                Ok(ActionResult::unchanged())
            })
    };
    for feature in [
        logging("late", &log).priority(200),
        logging("tie-b", &log).priority(100),
        logging("tie-a", &log).priority(100),
        several,
        logging("early", &log).priority(-5),
    ] {
        core.register_feature(Arc::new(feature)).unwrap();
    }
    let run = run(&core, &core.create_session(None), "tick").await.unwrap();
    let order = ["zeta", "alpha", "early", "two", "one", "three", "tie-b", "tie-a", "late"];
    assert_eq!(log.lines(), order);
    assert_eq!(run.results.len(), order.len());
}

#[tokio::test] // H-18, H-20
async fn each_action_sees_the_session_as_the_one_before_left_it() {
    let seen = Log::new();
    let log = seen.clone();
    let core = core_of([
        answering(
            "first",
            json!({
                "session_metadata": {"mark": 1},
                "native_messages": [{"who": "user", "say": "summary"}],
            }),
        ),
        ticking("second", move |input, cx| {
            log.add(serde_json::to_string(&input.native_messages).unwrap());
            let of_session = |session: &Session| {
                json!([texts(session), session.metadata().get("mark")]).to_string()
            };
            log.add(of_session(&input.session));
            log.add(of_session(cx.session().unwrap()));
            let shown = &cx.to_json()["session"];
            log.add(
                json!([shown["messages"][0]["content"], shown["metadata"]["mark"]]).to_string(),
            );
            ActionResult::from_json(json!({"session_metadata": {"mark": 2}}))
        }),
    ]);
    let session = hello(&core).await;
    let run = run(&core, &session, "tick").await.unwrap();
    let now = r#"["summary",1]"#;
    assert_eq!(seen.lines(), [r#"[{"who":"user","say":"summary"}]"#, now, now, now]);
    assert_eq!(
        (texts(&run.session).as_str(), &run.session.metadata()["mark"]),
        ("summary", &json!(2))
    );
    assert_eq!(texts(&session), "hi", "the session given in stays as it was");
}

#[tokio::test] // H-20
async fn the_actions_are_collected_once_at_the_start() {
    let log = Log::new();
    let asked = log.clone();
    let changing = ScriptedFeature::new("changing")
        .get_actions(move |_, _| {
            asked.add("asked");
            // Were it asked again, there would be more of them.
            let ids = (0..asked.count("asked")).map(|n| at_tick(&n.to_string()));
            Ok(ids.collect())
        })
        .execute_action(|_, _| ActionResult::from_json(json!({"session_metadata": {"a": 1}})));
    let core = core_of([changing, answering("other", json!({}))]);
    let results = run(&core, &core.create_session(None), "tick").await.unwrap().results;
    assert_eq!(log.count("asked"), 1);
    let ids: Vec<_> = results.iter().map(|record| record.action_id.as_str()).collect();
    assert_eq!(ids, ["0", "x"]);
}

#[tokio::test] // H-19
async fn a_run_gives_the_session_and_a_record_of_each_action() {
    let extension = ScriptedExtension::new("e")
        .get_actions(|_, _| Ok(vec![at_tick("e1")]))
        .execute_action(|_, _| {
            ActionResult::from_json(json!({
                "status": "ok", "message": "done", "session_metadata": {"by": "e"},
                "native_messages": [],
            }))
        });
    let mut core = Core::new();
    let provider = Arc::new(ScriptedProvider::default());
    core.register_provider(provider, vec![Arc::new(extension)]).unwrap();
    core.register_feature(Arc::new(answering("f", json!({"error": {"type": "t"}})))).unwrap();
    let args = map(json!({
        "session": {"session_id": "s", "messages": [], "metadata": {}},
        "config": {"provider": "scripted"}, "trigger": "tick",
    }));
    let context = CallContext::new("test");
    assert_eq!(
        core.invoke("execute_lifecycle_actions", args, &context).await.unwrap(),
        json!({
            "session": {"session_id": "s", "messages": [], "metadata": {"by": "e"}},
            "results": [
                {"plugin": "e", "action_id": "e1", "action_owner": "provider_extension",
                 "result": {"status": "ok", "message": "done"}},
                {"plugin": "f", "action_id": "x", "action_owner": "feature",
                 "result": {"error": {"type": "t"}}},
            ],
        })
    );
}

#[tokio::test] // H-21
async fn a_run_needs_a_mapping_and_a_name_and_does_nothing_without_a_provider() {
    let call = |core: Core, config: Value, trigger: Value| async move {
        let session = json!({"session_id": "s", "messages": [], "metadata": {"a": 1}});
        let args = map(json!({"session": session, "config": config, "trigger": trigger}));
        core.invoke("execute_lifecycle_actions", args, &CallContext::new("test")).await
    };
    let core = core_of([answering("f", json!({"session_metadata": {"a": 2}}))]);
    for (config, trigger, class) in [
        (json!([]), json!("tick"), ErrorClass::WrongType),
        (json!(null), json!("tick"), ErrorClass::WrongType),
        (json!({}), json!(""), ErrorClass::BadArgument),
        (json!({}), json!(null), ErrorClass::BadArgument),
        (json!({}), json!(1), ErrorClass::BadArgument),
    ] {
        let error = call(core.clone(), config, trigger).await.unwrap_err();
        assert_eq!(error.class(), class, "{error}");
    }
    let error = run(&core, &core.create_session(None), "").await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadArgument);

    let mut without_provider = Core::new();
    let feature = answering("f", json!({"session_metadata": {"a": 2}}));
    without_provider.register_feature(Arc::new(feature)).unwrap();
    assert_eq!(
        call(without_provider, json!({}), json!("tick")).await.unwrap(),
        json!({"session": {"session_id": "s", "messages": [], "metadata": {"a": 1}}, "results": []})
    );
}

/// What a triggered action with this input receives, or the error of the run.
async fn check_triggered(input: Value) -> Result<Value> {
    let definition: ActionDefinition =
        serde_json::from_value(json!({"id": "x", "trigger": "tick", "inputs": {"depth": input}}))
            .unwrap();
    let core = core_of([ScriptedFeature::new("f")
        .get_actions(move |_, _| Ok(vec![definition.clone()]))
        .execute_action(|input, _| ActionResult::from_json(json!({"got": input.params})))]);
    let run = run(&core, &core.create_session(None), "tick").await?;
    Ok(run.results[0].result["got"].clone())
}

#[tokio::test] // H-22
async fn a_required_input_on_a_triggered_action_is_a_definition_error() {
    let error = check_triggered(json!({"type": "integer", "required": true})).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadArgument);
    for name in ["\"f\"", "\"x\"", "\"depth\""] {
        assert!(error.message().contains(name), "{name} in: {error}");
    }
    let with_default = json!({"type": "integer", "required": true, "default": 3});
    assert_eq!(check_triggered(with_default).await.unwrap(), json!({"depth": 3}));
    let optional = json!({"type": "integer", "required": false});
    assert_eq!(check_triggered(optional).await.unwrap(), json!({}));
}

/// The application supplies `session_id` and `agent_id` when it runs an application action that
/// declares them; what the definition asks of it is decided here.
#[test] // H-23
fn a_required_session_id_is_met_when_the_caller_supplies_it() {
    let definition = at_tick("x")
        .input("session_id", "string", true)
        .input("agent_id", "string", false)
        .input("depth", "integer", false);
    let supplied = map(json!({"session_id": "s", "agent_id": "a"}));
    assert_eq!(definition.validate(&supplied).unwrap(), supplied);
    let error = definition.validate(&Map::new()).unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadArgument);
    assert!(error.message().contains("\"session_id\""), "{error}");
}

#[tokio::test] // H-24
async fn definitions_without_an_id_and_features_that_are_off_are_skipped() {
    let log = Log::new();
    let nameless = {
        let log = log.clone();
        ScriptedFeature::new("nameless")
            .get_actions(|_, _| Ok(vec![at_tick(""), at_tick("named")]))
            .execute_action(move |input, _| {
                log.add(format!("[{}]", input.action_id));
                Ok(ActionResult::unchanged())
            })
    };
    let off = logging("off", &log).is_enabled(|_, _| Ok(Some(false)));
    let untagged = {
        let log = log.clone();
        ScriptedFeature::with_manifest(Manifest::new("untagged", "1").requires(&["missing"]))
            .get_actions(|_, _| Ok(vec![at_tick("x")]))
            .execute_action(move |_, _| {
                log.add("untagged");
                Ok(ActionResult::unchanged())
            })
    };
    let core = core_of([nameless, off, untagged, logging("on", &log)]);
    let results = run(&core, &core.create_session(None), "tick").await.unwrap().results;
    assert_eq!(log.lines(), ["[named]", "on"]);
    assert_eq!(results.len(), 2);
}

/// Runs three actions of which the second does `second`; the third and what came of it.
async fn check_stop(
    second: impl Fn() -> Result<ActionResult> + Send + Sync + 'static,
) -> (Result<LifecycleRun>, Vec<String>) {
    let log = Log::new();
    let core = core_of([
        answering("one", json!({"session_metadata": {"one": true}})),
        ticking("two", move |_, _| second()),
        logging("three", &log),
    ]);
    let session = hello(&core).await;
    let before = session.clone();
    let run = run(&core, &session, "tick").await;
    assert_eq!(session, before);
    (run, log.lines())
}

#[tokio::test] // H-25
async fn a_failure_stops_the_run_and_nothing_of_it_is_kept() {
    let (run, third) = check_stop(|| Err(Error::plugin("broken"))).await;
    let error = run.unwrap_err();
    assert_eq!((error.class(), error.plugin_name()), (ErrorClass::Plugin, Some("two")));
    assert!(third.is_empty());

    let (run, third) = check_stop(|| ActionResult::from_json(json!(["no mapping"]))).await;
    assert_eq!(run.unwrap_err().class(), ErrorClass::BadState);
    assert!(third.is_empty());

    // An error in a result is recorded, and the run goes on.
    let (run, third) = check_stop(|| Ok(ActionResult::error("t", "not today"))).await;
    let run = run.unwrap();
    assert_eq!(run.results[1].result["error"]["message"], "not today");
    assert_eq!(run.session.metadata()["one"], true);
    assert_eq!(third, ["three"]);
}
