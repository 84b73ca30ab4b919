//! Session actions: what plugins offer, how inputs are checked, and what a run gives back.

use orlop_core::hooks::ActionInput;
use orlop_core::types::{ActionOwner, ActionStatus};
use orlop_core::*;
use orlop_testkit::scripted::{
    Log, ScriptedExtension, ScriptedFeature, ScriptedProvider, config, core_with, native_session,
    plain_session, texts,
};
use serde_json::{Value, json};
use std::sync::Arc;

fn scripted() -> Config {
    config(json!({"provider": "scripted"}))
}

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

/// A definition as a plugin writes it in JSON.
fn definition(value: Value) -> ActionDefinition {
    serde_json::from_value(value).unwrap()
}

/// An action that runs by hand only.
fn by_hand(id: &str) -> ActionDefinition {
    ActionDefinition::new(id, id)
}

/// A feature named `f` with this action.
fn feature(
    definition: ActionDefinition,
    run: impl Fn(&ActionInput, &Context) -> Result<ActionResult> + Send + Sync + 'static,
) -> ScriptedFeature {
    ScriptedFeature::new("f")
        .get_actions(move |_, _| Ok(vec![definition.clone()]))
        .execute_action(run)
}

fn core_of(features: impl IntoIterator<Item = ScriptedFeature>) -> Core {
    let mut core = core_with(&ScriptedProvider::default()).unwrap();
    for feature in features {
        core.register_feature(Arc::new(feature)).unwrap();
    }
    core
}

/// Two messages with native history for them; the first carries a note that native form has not.
async fn two_messages(core: &Core) -> Session {
    let messages = [Message::user("hi"), Message::assistant("hello")];
    let session = native_session(core, &messages, &scripted()).await.unwrap();
    let mut json = session.to_json();
    json["messages"][0]["metadata"]["note"] = json!("kept");
    json["metadata"]["overrides"] = json!({"model": "m", "effort": "low"});
    let session = Session::from_json(json).unwrap();
    session.verify().unwrap();
    session
}

async fn run(core: &Core, session: &Session, call: ActionCall) -> Result<(Session, Map)> {
    core.execute_session_action(session, &scripted(), call, &CallContext::new("test")).await
}

// --- definitions ---

#[tokio::test] // G-01, G-10
async fn one_definition_serves_every_kind_of_plugin() {
    let shared = definition(json!({
        "id": "tidy", "label": "Tidy up", "description": "Tidies.",
        "inputs": {"deep": {"type": "boolean", "required": false}}, "trigger": "session_create",
    }));
    let answer = |name: &'static str| {
        move |_: &ActionInput, _: &Context| ActionResult::from_json(json!({"by": name}))
    };
    let offered = shared.clone();
    let extension = ScriptedExtension::new("e")
        .get_actions(move |_, _| Ok(vec![offered.clone()]))
        .execute_action(answer("extension"));
    let mut core = Core::new();
    let provider = Arc::new(ScriptedProvider::default());
    core.register_provider(provider, vec![Arc::new(extension)]).unwrap();
    core.register_feature(Arc::new(feature(shared.clone(), answer("feature")))).unwrap();

    let annotated = |plugin: &str, owner: &str| {
        let mut value = serde_json::to_value(&shared).unwrap();
        value["plugin"] = json!(plugin);
        value["action_owner"] = json!(owner);
        value
    };
    let listed = core.session_actions(&scripted()).await.unwrap();
    assert_eq!(
        serde_json::to_value(&listed).unwrap(),
        json!([annotated("e", "provider_extension"), annotated("f", "feature")])
    );
    for (plugin, by) in [("e", "extension"), ("f", "feature")] {
        let session = core.create_session(Some("s"));
        let (_, result) = run(&core, &session, ActionCall::new(plugin, "tidy")).await.unwrap();
        assert_eq!(result["by"], by);
    }

    // An application plugin has the same type, told apart by its owner only.
    let own = ActionDefinition {
        plugin: Some("a".into()),
        action_owner: Some(ActionOwner::Application),
        ..shared.clone()
    };
    assert_eq!(serde_json::to_value(&own).unwrap(), annotated("a", "application"));
    assert_eq!(definition(annotated("a", "application")), own);
}

#[tokio::test] // G-02
async fn a_definition_needs_an_id_and_nothing_else() {
    let plain = definition(json!({"id": "x"}));
    assert_eq!((plain.label.as_str(), &plain.description), ("", &None));
    assert_eq!((plain.inputs.len(), &plain.trigger), (0, &None));
    for without_id in [json!({"label": "X"}), json!({"id": 7})] {
        assert!(serde_json::from_value::<ActionDefinition>(without_id).is_err());
    }
    let core = core_of([ScriptedFeature::new("f")
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("", "no id"), by_hand("kept")]))]);
    let listed = core.session_actions(&scripted()).await.unwrap();
    assert_eq!(listed.iter().map(|found| found.id.as_str()).collect::<Vec<_>>(), ["kept"]);
}

#[tokio::test] // G-03
async fn input_descriptors_reach_frontends_as_written() {
    let inputs = json!({
        "title": {"type": "string", "required": true, "description": "A name."},
        "count": {"type": "integer", "required": false, "default": 3, "minimum": 1},
        "force": {"type": "boolean", "required": false},
        "when": {"type": "date", "required": false},
    });
    let offered = definition(json!({"id": "x", "label": "X", "inputs": inputs}));
    let core = core_of([feature(offered, |_, _| Ok(ActionResult::unchanged()))]);
    let args = map(json!({"config": {"provider": "scripted"}}));
    let listed = core.invoke("get_session_actions", args, &CallContext::new("test")).await.unwrap();
    assert_eq!(listed[0]["inputs"].to_string(), inputs.to_string(), "in this order, too");
}

// --- inputs ---

/// What the plugin receives for `given`, or the input that the error names.
async fn check_params(given: Value, expected: Result<Value, &str>) {
    let inputs = json!({
        "start": {"type": "integer", "required": true},
        "title": {"type": "string", "required": false},
        "force": {"type": "boolean", "required": false},
        "ratio": {"type": "number", "default": 0.5},
        "tags": {"type": "array"},
        "more": {"type": "object"},
        "when": {"type": "date"},
    });
    let received = Log::new();
    let log = received.clone();
    let core =
        core_of([feature(definition(json!({"id": "x", "inputs": inputs})), move |input, _| {
            log.add(serde_json::to_string(&input.params).unwrap());
            Ok(ActionResult::unchanged())
        })]);
    let session = core.create_session(Some("s"));
    let call = ActionCall { params: map(given.clone()), ..ActionCall::new("f", "x") };
    match (run(&core, &session, call).await, expected) {
        (Ok(_), Ok(params)) => assert_eq!(received.text(), params.to_string(), "{given}"),
        (Err(error), Err(input)) => {
            assert_eq!(error.class(), ErrorClass::BadArgument, "{given}");
            assert!(error.message().contains(&format!("\"{input}\"")), "{given}: {error}");
            assert!(received.lines().is_empty(), "{given}: the plugin was called");
        }
        (other, _) => panic!("{given}: {:?}", other.map(|_| ())),
    }
}

#[tokio::test] // G-04
async fn inputs_are_checked_before_the_plugin_runs() {
    check_params(json!({"start": 1, "ratio": 2}), Ok(json!({"start": 1, "ratio": 2}))).await;
    check_params(
        json!({"start": 0, "title": "t", "force": true, "ratio": 1.5, "tags": [], "more": {}, "when": 9}),
        Ok(json!({"start": 0, "title": "t", "force": true, "ratio": 1.5, "tags": [], "more": {}, "when": 9})),
    )
    .await;
    // Optional ones that are absent, or null, stay absent or take their default.
    check_params(json!({"start": 1}), Ok(json!({"start": 1, "ratio": 0.5}))).await;
    check_params(
        json!({"start": 1, "title": null, "ratio": null}),
        Ok(json!({"start": 1, "ratio": 0.5})),
    )
    .await;
    check_params(json!({}), Err("start")).await;
    check_params(json!({"start": null}), Err("start")).await;
    check_params(json!({"start": "x"}), Err("start")).await;
    check_params(json!({"start": 1.5}), Err("start")).await;
    check_params(json!({"start": true}), Err("start")).await;
    check_params(json!({"start": 1, "title": 1}), Err("title")).await;
    check_params(json!({"start": 1, "force": "yes"}), Err("force")).await;
    check_params(json!({"start": 1, "ratio": "1"}), Err("ratio")).await;
    check_params(json!({"start": 1, "tags": {}}), Err("tags")).await;
    check_params(json!({"start": 1, "more": []}), Err("more")).await;
}

#[tokio::test] // G-05
async fn parameters_that_are_not_declared_pass() {
    check_params(
        json!({"start": 1, "ratio": 1, "end_inclusive": true, "extra": [1]}),
        Ok(json!({"start": 1, "ratio": 1, "end_inclusive": true, "extra": [1]})),
    )
    .await;
}

// --- triggers ---

/// Whether an action with this trigger runs at each lifecycle.
async fn check_trigger(trigger: Value, lifecycle: &str, runs: bool) {
    let offered = definition(json!({"id": "x", "trigger": trigger}));
    let core = core_of([feature(offered, |_, _| Ok(ActionResult::unchanged()))]);
    let session = core.create_session(Some("s"));
    let context = CallContext::new("test");
    let run =
        core.execute_lifecycle_actions(&session, &scripted(), lifecycle, &context).await.unwrap();
    assert_eq!(!run.results.is_empty(), runs, "trigger {trigger} at {lifecycle}");
}

#[tokio::test] // G-06, G-07, G-08
async fn a_trigger_matches_by_exact_equality() {
    check_trigger(json!("session_create"), "session_create", true).await;
    check_trigger(json!("session_create"), "session_creat", false).await;
    check_trigger(json!("session_create"), "Session_Create", false).await;
    check_trigger(json!(["a", "b"]), "b", true).await;
    check_trigger(json!(["a", "b"]), "c", false).await;
    check_trigger(json!([7, "b"]), "b", true).await;
    check_trigger(json!([]), "a", false).await;
    check_trigger(json!(7), "7", false).await;
    check_trigger(json!(true), "true", false).await;
    check_trigger(json!({"a": "a"}), "a", false).await;
    // Without one, an action runs by hand only.
    check_trigger(json!(null), "session_create", false).await;
    // Names are free.
    check_trigger(json!("my_future_custom_lifecycle"), "my_future_custom_lifecycle", true).await;
}

#[tokio::test] // G-09
async fn a_triggered_action_runs_by_hand_too() {
    let offered = ActionDefinition::new("x", "X").on(&["session_create"]);
    let core = core_of([feature(offered, |_, cx| {
        ActionResult::from_json(json!({"lifecycle": cx.lifecycle()}))
    })]);
    let session = core.create_session(Some("s"));
    let (_, result) = run(&core, &session, ActionCall::new("f", "x")).await.unwrap();
    assert_eq!(Value::Object(result), json!({"lifecycle": null}));
}

// --- listing and calling ---

#[tokio::test] // G-11
async fn listing_needs_a_mapping_and_gives_none_without_providers() {
    let call = |core: Core, config: Value| async move {
        let args = map(json!({ "config": config }));
        core.invoke("get_session_actions", args, &CallContext::new("test")).await
    };
    let offering = || feature(by_hand("x"), |_, _| Ok(ActionResult::unchanged()));
    for config in [json!(null), json!([]), json!("scripted")] {
        let error = call(core_of([offering()]), config).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::WrongType);
    }
    let mut without_provider = Core::new();
    without_provider.register_feature(Arc::new(offering())).unwrap();
    assert_eq!(call(without_provider, json!({})).await.unwrap(), json!([]));
    assert_eq!(call(core_of([offering()]), json!({})).await.unwrap()[0]["id"], "x");
}

#[tokio::test] // G-12
async fn two_plugins_may_use_the_same_action_id() {
    let named = |name: &'static str| {
        ScriptedFeature::new(name)
            .get_actions(|_, _| Ok(vec![by_hand("x")]))
            .execute_action(move |_, _| ActionResult::from_json(json!({"by": name})))
    };
    let core = core_of([named("one"), named("two")]);
    let session = core.create_session(Some("s"));
    for name in ["one", "two"] {
        let (_, result) = run(&core, &session, ActionCall::new(name, "x")).await.unwrap();
        assert_eq!(result["by"], name);
    }
}

#[tokio::test] // G-13
async fn a_call_is_checked_before_anything_runs() {
    let core = core_of([feature(by_hand("x"), |_, _| {
        ActionResult::from_json(json!({"status": "ok", "session_metadata": {"ran": true}}))
    })]);
    let good = json!({
        "session": {"session_id": "s", "messages": [], "metadata": {}}, "config": {},
        "plugin_id": "f", "action_id": "x", "params": {},
    });
    let call = |core: Core, key: &'static str, value: Value| {
        let mut args = good.clone();
        args[key] = value;
        async move { core.invoke("execute_session_action", map(args), &CallContext::new("test")).await }
    };
    assert_eq!(
        call(core.clone(), "params", json!({})).await.unwrap(),
        json!([{"session_id": "s", "messages": [], "metadata": {"ran": true}}, {"status": "ok"}])
    );
    for (key, value, class) in [
        ("config", json!([]), ErrorClass::WrongType),
        ("config", json!("f"), ErrorClass::WrongType),
        ("plugin_id", json!(""), ErrorClass::BadArgument),
        ("plugin_id", json!(1), ErrorClass::BadArgument),
        ("action_id", json!(""), ErrorClass::BadArgument),
        ("action_id", json!(null), ErrorClass::BadArgument),
        ("params", json!([]), ErrorClass::BadArgument),
        ("params", json!("x"), ErrorClass::BadArgument),
        ("plugin_id", json!("other"), ErrorClass::NotFound),
        ("action_id", json!("other"), ErrorClass::NotFound),
    ] {
        let error = call(core.clone(), key, value.clone()).await.unwrap_err();
        assert_eq!(error.class(), class, "{key} = {value}: {error}");
    }
    for call in [ActionCall::new("", "x"), ActionCall::new("f", "")] {
        let error = run(&core, &core.create_session(None), call).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::BadArgument);
    }
    let error = call(Core::new(), "params", json!({})).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadState);
    assert!(error.message().starts_with("no provider registered"), "{error}");
}

#[tokio::test] // G-14
async fn the_plugin_gets_session_native_history_inputs_context_and_state() {
    let seen = Log::new();
    let log = seen.clone();
    let offered = ActionDefinition::new("x", "X").input("n", "integer", true);
    let core = core_of([feature(offered, move |input, cx| {
        log.add(serde_json::to_string(&input.native_messages).unwrap());
        log.add(json!([input.session.id(), input.params, input.state.values]).to_string());
        log.add(json!([cx.get("from"), cx.session().unwrap().id(), cx.config()]).to_string());
        Ok(ActionResult::unchanged())
    })
    .init(|_, _| Ok(StateChange::set("mark", 1)))]);
    let call = || ActionCall::new("f", "x").param("n", 4);
    let context = CallContext::new("test").with("from", "here");
    let ask = |session: Session| {
        let (core, call, context, seen) = (core.clone(), call(), context.clone(), seen.clone());
        async move {
            core.execute_session_action(&session, &scripted(), call, &context).await.unwrap();
            seen.take()
        }
    };

    // Retained history as it is, with what only native form knows.
    let retained = Session::from_json({
        let mut json = two_messages(&core).await.to_json();
        json["metadata"]["native_messages"][1]["signature"] = json!("s1");
        json
    })
    .unwrap();
    let lines = ask(retained).await;
    assert_eq!(
        lines[0],
        r#"[{"who":"user","say":"hi"},{"who":"assistant","say":"hello","signature":"s1"}]"#
    );
    assert_eq!(lines[1], r#"["s",{"n":4},{"mark":1}]"#);
    assert_eq!(lines[2], r#"["here","s",{"provider":"scripted"}]"#);

    // Without native history, the conversion of the messages.
    let plain = plain_session(&[Message::user("only this")]).await.unwrap();
    assert_eq!(ask(plain).await[0], r#"[{"who":"user","say":"only this"}]"#);
}

// --- results ---

/// What an action that answers `answer` makes of [`two_messages`].
async fn check_result(answer: Value) -> Result<(Session, Session, Map)> {
    let core =
        core_of([feature(by_hand("x"), move |_, _| ActionResult::from_json(answer.clone()))]);
    let session = two_messages(&core).await;
    let (changed, result) = run(&core, &session, ActionCall::new("f", "x")).await?;
    changed.verify().unwrap();
    Ok((session, changed, result))
}

#[tokio::test] // G-15
async fn a_result_that_is_no_mapping_is_a_bad_state() {
    for answer in [json!([]), json!("done"), json!(null), json!(1)] {
        let error = check_result(answer).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::BadState);
        assert_eq!(error.message(), "session action must return a mapping");
        assert_eq!(error.plugin_name(), Some("f"));
    }
}

#[tokio::test] // G-16
async fn changed_native_history_rebuilds_the_messages() {
    let summary = json!({"who": "user", "say": "summary"});
    let (_, session, _) = check_result(json!({"native_messages": [summary]})).await.unwrap();
    assert_eq!(texts(&session), "summary");
    assert_eq!(session.native().unwrap().items().iter().count(), 1);

    let edits = json!({"edits": [{"op": "replace", "start": 0, "end": 1, "items": []}]});
    let (_, session, _) = check_result(json!({ "native_messages": edits })).await.unwrap();
    assert_eq!(texts(&session), "hello");
}

#[tokio::test] // G-16
async fn the_same_native_history_or_none_leaves_messages_as_they_are() {
    let same = json!([{"who": "user", "say": "hi"}, {"who": "assistant", "say": "hello"}]);
    for answer in [
        json!({"session_metadata": {"title": "t"}}),
        json!({"session_metadata": {"title": "t"}, "native_messages": null}),
        json!({"session_metadata": {"title": "t"}, "native_messages": same}),
    ] {
        let (before, session, _) = check_result(answer).await.unwrap();
        assert_eq!(session.messages(), before.messages());
        assert_eq!(session.messages().get(0).unwrap().metadata()["note"], "kept");
        assert_eq!(session.native(), before.native());
        assert_eq!(session.metadata()["title"], "t");
    }
}

#[tokio::test] // G-17
async fn metadata_is_laid_on_top_and_overrides_merge_key_by_key() {
    for (patch, expected) in [
        (
            json!({"overrides": {"prompt_cache_key": "k"}}),
            json!({"overrides": {"model": "m", "effort": "low", "prompt_cache_key": "k"}}),
        ),
        (json!({"overrides": {"model": null}}), json!({"overrides": {"effort": "low"}})),
        (
            json!({"overrides": {"absent": null}}),
            json!({"overrides": {"model": "m", "effort": "low"}}),
        ),
        (
            json!({"a": {"x": 1}, "b": null}),
            json!({"overrides": {"model": "m", "effort": "low"}, "a": {"x": 1}, "b": null}),
        ),
    ] {
        let (_, session, _) = check_result(json!({ "session_metadata": patch })).await.unwrap();
        assert_eq!(Value::Object(session.metadata().clone()), expected);
    }
    // Other mappings are replaced as a whole.
    let core = core_of([feature(by_hand("x"), |_, _| {
        ActionResult::from_json(json!({"session_metadata": {"a": {"y": 2}}}))
    })]);
    let session = core.create_session(Some("s")).with_metadata_patch(&map(json!({"a": {"x": 1}})));
    let (session, _) = run(&core, &session, ActionCall::new("f", "x")).await.unwrap();
    assert_eq!(Value::Object(session.metadata().clone()), json!({"a": {"y": 2}}));
}

#[tokio::test] // G-18
async fn everything_else_is_the_public_result() {
    let public = json!({
        "status": "noop", "message": "nothing to do", "debug_info": {"tokens": 3},
        "display": {"body": "b", "format": "text"}, "own": [1],
    });
    let mut answer = public.clone();
    answer["native_messages"] = json!([]);
    answer["session_metadata"] = json!({"a": 1});
    answer["base_revision"] = json!(0);
    let (_, session, result) = check_result(answer).await.unwrap();
    assert_eq!(Value::Object(result), public);
    assert!(session.messages().is_empty() && session.metadata().contains_key("a"));

    for (answer, status) in [
        (json!({}), ActionStatus::Ok),
        (json!({"message": "done"}), ActionStatus::Ok),
        (json!({"status": "ok"}), ActionStatus::Ok),
        (json!({"status": "noop"}), ActionStatus::Noop),
        (json!({"status": "error"}), ActionStatus::Error),
        (json!({"error": {"type": "t"}}), ActionStatus::Error),
    ] {
        assert_eq!(ActionResult::from_json(answer).unwrap().status(), status);
    }
}

#[tokio::test] // G-19
async fn an_error_in_the_result_is_data() {
    let error = json!({"type": "too_short", "message": "nothing to compact"});
    let same = json!([{"who": "user", "say": "hi"}, {"who": "assistant", "say": "hello"}]);
    let (before, session, result) =
        check_result(json!({"error": error, "native_messages": same})).await.unwrap();
    assert_eq!(session, before);
    assert_eq!(result["error"], error);

    // What the same result changes is applied all the same.
    let answer =
        json!({"error": error, "native_messages": [], "session_metadata": {"tried": true}});
    let (_, session, result) = check_result(answer).await.unwrap();
    assert_eq!((texts(&session).as_str(), &session.metadata()["tried"]), ("", &json!(true)));
    assert_eq!(result["error"], error);
}

#[tokio::test] // G-19
async fn an_error_in_a_result_does_not_stop_a_lifecycle_run() {
    let named = |name: &'static str, answer: fn() -> ActionResult| {
        ScriptedFeature::new(name)
            .get_actions(|_, _| Ok(vec![ActionDefinition::new("x", "X").on(&["tick"])]))
            .execute_action(move |_, _| Ok(answer()))
    };
    let core = core_of([
        named("one", || ActionResult::error("t", "no")),
        named("two", ActionResult::unchanged),
    ]);
    let session = core.create_session(Some("s"));
    let context = CallContext::new("test");
    let run = core.execute_lifecycle_actions(&session, &scripted(), "tick", &context).await;
    let results = run.unwrap().results;
    assert_eq!(
        Value::Object(results[0].result.clone()),
        json!({"error": {"type": "t", "message": "no"}})
    );
    assert_eq!((results.len(), results[1].plugin.as_str()), (2, "two"));
}

#[tokio::test] // G-20
async fn a_failing_action_leaves_the_session_alone() {
    let core = core_of([feature(by_hand("x"), |_, _| {
        Err(Error::unavailable("the index is being built"))
    })]);
    let session = two_messages(&core).await;
    let before = session.clone();
    let error = run(&core, &session, ActionCall::new("f", "x")).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unavailable);
    assert_eq!(error.message(), "the index is being built");
    assert_eq!((error.plugin_name(), error.hook_name()), (Some("f"), Some("execute_action")));
    assert_eq!(session, before);

    // A panic is a failure as well.
    let core = core_of([feature(by_hand("x"), |_, _| panic!("oh"))]);
    let error = run(&core, &session, ActionCall::new("f", "x")).await.unwrap_err();
    assert_eq!((error.class(), error.plugin_name()), (ErrorClass::Plugin, Some("f")));
    assert_eq!(session, before);
}
