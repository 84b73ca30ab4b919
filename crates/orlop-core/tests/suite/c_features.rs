//! Features: they shape requests, history, tools and completions, whatever the provider.

use orlop_core::hooks::{ActionInput, ActionsInput, FinalizeChange, HOOKS, Kind, RequestChange};
use orlop_core::*;
use orlop_testkit::scripted::{
    Log, ScriptedFeature, ScriptedProvider, ScriptedReply, ScriptedTool, config, native_session,
    plain_session, texts,
};
use serde_json::json;
use std::sync::{Arc, Mutex};

fn core_of(provider: &ScriptedProvider, features: Vec<ScriptedFeature>) -> Core {
    let mut core = Core::new();
    core.register_provider(Arc::new(provider.clone()), Vec::new()).unwrap();
    for feature in features {
        core.register_feature(Arc::new(feature)).unwrap();
    }
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

async fn send(core: &Core, session: &Session) -> Response {
    core.send_request(session, &Config::empty(), RequestOptions::default()).await.unwrap()
}

fn map(value: Value) -> Map {
    value.as_object().cloned().unwrap()
}

#[tokio::test] // C-37
async fn a_feature_prepends_a_native_item_and_the_provider_sends_it() {
    let provider = scripted(&["yes"]);
    let instructions = ScriptedFeature::new("instructions").initialize_request(|input, cx| {
        assert_eq!(cx.features(), ["instructions"]);
        let has = input.native_messages.iter().any(|item| item.metadata().contains_key("ours"));
        let item = json!({"who": "system", "say": "be kind", "_metadata": {"ours": true}});
        Ok(RequestChange {
            native_messages: if has { Change::Keep } else { Change::insert(0, vec![item.into()]) },
            state: StateChange::request("instructed", true),
        })
    });
    let core = core_of(&provider, vec![instructions]);
    let sent = send(&core, &hi().await).await;
    assert_eq!(provider.last_request(), "be kind|hi");
    assert_eq!(provider.requests()[0].1.request["instructed"], true);
    assert_eq!(texts(&sent.session), "be kind|hi|yes");
}

/// Keeps a message's mood across native history, which has no place for it.
fn mood() -> ScriptedFeature {
    ScriptedFeature::new("mood")
        .to_native_messages(|input, _| {
            assert_eq!(input.messages.len(), input.native_messages.len());
            let edits = input.messages.iter().enumerate().filter_map(|(index, message)| {
                let mood = message.metadata().get("mood")?.clone();
                let patch = Map::from_iter([("mood".to_owned(), mood)]);
                Some(Edit::PatchMetadata { indices: vec![index], patch })
            });
            Ok(Change::Edit(edits.collect()))
        })
        .from_native_messages(|input, cx| {
            assert_eq!(cx.provider(), Some("scripted"), "context is offered, too");
            assert_eq!(&input.state.config, cx.config(), "and so is the state");
            let restored =
                input.messages.iter().zip(&input.native_messages).map(|(message, item)| match item
                    .metadata()
                    .get("mood")
                {
                    Some(mood) => message.clone().with_metadata_entry("mood", mood.clone()),
                    None => message.clone(),
                });
            Ok(Change::Replace(restored.collect()))
        })
}

#[tokio::test] // C-38, C-39
async fn what_a_feature_tags_on_native_items_it_restores_on_messages() {
    let core = core_of(&scripted(&[]), vec![mood()]);
    let messages = [Message::user("hi").with_metadata_entry("mood", "merry"), Message::user("so?")];
    let config = config(json!({"model": "m"}));
    let session = native_session(&core, &messages, &config).await.unwrap();
    let items: Vec<_> = session.native().unwrap().items().iter().map(NativeItem::to_json).collect();
    assert_eq!(
        json!(items),
        json!([
            {"who": "user", "say": "hi", "_metadata": {"mood": "merry"}},
            {"who": "user", "say": "so?"},
        ])
    );
    let moods: Vec<_> =
        session.messages().iter().map(|message| message.metadata().get("mood")).collect();
    assert_eq!(moods, [Some(&json!("merry")), None], "the provider itself restores nothing");
}

#[tokio::test] // C-40
async fn a_feature_removes_a_native_final() {
    let provider = ScriptedProvider::default();
    let items = vec![
        json!({"who": "assistant", "say": "keep"}),
        json!({"who": "assistant", "say": "drop"}),
    ];
    provider.reply(ScriptedReply::items(items));
    let log = Log::new();
    let seen = log.clone();
    let censor = ScriptedFeature::new("censor").finalize(move |input, cx| {
        let finals: Vec<_> = input.final_messages.iter().map(NativeItem::wire).collect();
        let counts = [finals.len(), input.native_messages.len()];
        seen.add(format!("{counts:?} {} {:?}", finals[0], cx.request_id()));
        let last = |items: &Seq<NativeItem>| {
            let (start, end) = (items.len() - 1, items.len());
            Change::Edit(vec![Edit::Replace { start, end, items: vec![] }])
        };
        Ok(FinalizeChange {
            final_messages: last(&input.final_messages),
            native_messages: last(&input.native_messages),
            state: StateChange::set("session_metadata_patch", json!({"censored": 1})),
        })
    });
    let core = core_of(&provider, vec![censor]);
    let options = RequestOptions { request_id: Some("r".into()), ..Default::default() };
    let sent = core.send_request(&hi().await, &Config::empty(), options).await.unwrap();
    assert_eq!(log.text(), r#"[2, 3] {"who":"assistant","say":"keep"} Some("r")"#);
    assert_eq!(sent.messages.iter().map(Message::text).collect::<Vec<_>>(), ["keep"]);
    assert_eq!(texts(&sent.session), "hi|keep");
    assert_eq!(sent.session.native().unwrap().items().len(), 2);
    assert_eq!(sent.session.metadata()["censored"], 1);
}

#[tokio::test] // C-41
async fn an_action_of_a_feature_is_callable_through_the_core() {
    let log = Log::new();
    let seen = log.clone();
    let feature = ScriptedFeature::new("f")
        .init(|_, _| Ok(StateChange::set("ready", true)))
        .get_actions(|input, _| {
            assert_eq!(input.state.values["ready"], true);
            Ok(vec![ActionDefinition::new("shout", "Shout").input("n", "integer", false)])
        })
        .execute_action(move |input, cx| {
            let facts = json!([
                input.action_id,
                input.session.id(),
                input.native_messages.len(),
                input.params,
                cx.get("who"),
                input.state.values["ready"],
            ]);
            seen.add(facts.to_string());
            let shouted = input.native_messages.iter().map(|item| {
                let said = item.get("say").and_then(Value::as_str).unwrap_or_default();
                json!({"who": "user", "say": said.to_uppercase()}).into()
            });
            let native_messages = Change::Replace(shouted.collect());
            Ok(ActionResult { native_messages, public: map(json!({"n": 1})), ..Default::default() })
        });
    let core = core_of(&scripted(&[]), vec![feature]);
    let call = ActionCall::new("f", "shout").param("n", 2);
    let context = CallContext::new("test").with("who", "me");
    let (session, result) =
        core.execute_session_action(&hi().await, &Config::empty(), call, &context).await.unwrap();
    assert_eq!(log.text(), r#"["shout","s",1,{"n":2},"me",true]"#);
    assert_eq!(texts(&session), "HI");
    assert_eq!(result, map(json!({"n": 1})));
}

async fn check_failure_as_data(kind: &'static str) {
    let feature = ScriptedFeature::new("f")
        .get_actions(|_, _| Ok(vec![ActionDefinition::new("go", "Go").on(&["x"])]))
        .execute_action(move |input, _| {
            let native_messages = Change::Replace(input.native_messages.iter().cloned().collect());
            Ok(ActionResult { native_messages, ..ActionResult::error(kind, "not now") })
        });
    let core = core_of(&scripted(&[]), vec![feature]);
    let (config, context) = (Config::empty(), CallContext::new("test"));
    let session = native_session(&core, &[Message::user("hi")], &config).await.unwrap();
    let expected = map(json!({"error": {"type": kind, "message": "not now"}}));

    let call = ActionCall::new("f", "go");
    let (after, result) =
        core.execute_session_action(&session, &config, call, &context).await.unwrap();
    assert_eq!((&after, &result), (&session, &expected));
    let run = core.execute_lifecycle_actions(&session, &config, "x", &context).await.unwrap();
    assert_eq!((&run.session, &run.results[0].result), (&session, &expected));
}

#[tokio::test] // C-42
async fn features_report_failures_as_data_and_leave_native_history_alone() {
    for kind in ["disabled", "invalid_context", "missing_core", "unknown_action"] {
        check_failure_as_data(kind).await;
    }
}

#[tokio::test] // C-43
async fn templates_are_listed_by_feature() {
    let feature = |name: &str| {
        ScriptedFeature::new(name).get_template(|input, _| {
            Ok(input.config.text("lang").map(|lang| format!("Dear {lang},")).unwrap_or_default())
        })
    };
    let core = core_of(&scripted(&[]), vec![feature("letter"), ScriptedFeature::new("none")]);
    let templates = core.templates(&config(json!({"lang": "en"}))).await.unwrap();
    assert_eq!(json!(templates), json!([{"plugin": "letter", "text": "Dear en,"}]));
    assert!(core.templates(&Config::empty()).await.unwrap().is_empty());
}

#[tokio::test] // C-44, C-45
async fn completions_are_offered_and_applied_by_the_feature_they_belong_to() {
    let files = ScriptedFeature::new("files")
        .get_completions(|input, _| {
            let root = input.config.text("root").unwrap_or("/");
            let typed = input.text.rsplit('@').next().unwrap_or_default();
            Ok(vec![json!({
                "replacement": format!("@{root}{typed}"), "start": -(typed.len() as i64 + 1),
                "display": typed, "display_meta": "file",
            })])
        })
        .apply_completion(|input, _| {
            let is_mine = input.completion.get("display_meta") == Some(&json!("file"));
            Ok(if is_mine { format!("<{}>", input.text) } else { String::new() })
        });
    let silent = ScriptedFeature::new("silent");
    let core = core_of(&scripted(&[]), vec![silent, files]);
    let config = config(json!({"root": "src/"}));
    let found = core.completions(&config, "see @ma").await.unwrap();
    assert_eq!(
        json!(found),
        json!([{"replacement": "@src/ma", "start": -3, "display": "ma", "display_meta": "file"}])
    );
    let mine = found[0].clone();
    assert_eq!(core.apply_completion(&config, "see @src/ma", mine).await.unwrap(), "<see @src/ma>");
    let other = map(json!({"display_meta": "emoji"}));
    assert_eq!(core.apply_completion(&config, ":)", other).await.unwrap(), "");
}

#[tokio::test] // C-46
async fn policy_hides_a_tool_from_the_model_but_not_from_the_catalogue() {
    let provider = scripted(&["yes"]);
    let policy = ScriptedFeature::new("policy").filter_tools(|input, _| {
        let hidden = input.config.text("hidden");
        Ok(Some(input.tools.iter().filter(|tool| tool.name() != hidden).cloned().collect()))
    });
    let mut core = core_of(&provider, vec![policy]);
    core.register_tool(Arc::new(ScriptedTool::new("t").offering(&["x", "y"]))).unwrap();
    let config = config(json!({"hidden": "x"}));
    let available = core.available_tools(&config).await.unwrap();
    assert_eq!(available.iter().filter_map(|tool| tool.name()).collect::<Vec<_>>(), ["x", "y"]);
    let schemas = core.tool_schemas(&config).await.unwrap();
    assert_eq!(schemas.iter().map(|schema| &schema["name"]).collect::<Vec<_>>(), ["y"]);
    core.send_request(&hi().await, &config, RequestOptions::default()).await.unwrap();
    let sent = &provider.requests()[0].1.request["tools"];
    assert_eq!(sent.as_array().unwrap().len(), 1);
    assert_eq!(sent[0]["name"], "y");
}

/// Stands for the application of the layer above.
struct App(Mutex<Vec<String>>);

#[tokio::test] // C-47
async fn a_feature_reaches_no_more_than_the_context_lends() {
    let hooks: Vec<_> =
        HOOKS.iter().filter(|row| row.kind == Kind::Feature).map(|row| row.name).collect();
    assert_eq!(
        hooks,
        [
            "to_native_messages",
            "from_native_messages",
            "initialize_request",
            "finalize",
            "get_actions",
            "execute_action",
            "filter_tools",
            "attachment_parts",
            "get_template",
            "get_completions",
            "apply_completion",
        ],
        "none of them is given a store, events or agents"
    );
    let log = Log::new();
    let seen = log.clone();
    let feature = ScriptedFeature::new("f").initialize_request(move |_, cx| {
        let app = cx.handle::<App>("app");
        seen.add(format!("{:?} {}", cx.handles(), app.is_some()));
        Ok(Default::default())
    });
    let core = core_of(&scripted(&["a", "b"]), vec![feature]);
    send(&core, &hi().await).await;
    let app = Arc::new(App(Mutex::default()));
    let context = CallContext::new("application").lending("app", app);
    let options = RequestOptions { context, ..Default::default() };
    core.send_request(&hi().await, &Config::empty(), options).await.unwrap();
    assert_eq!(log.lines(), [r#"["core"] false"#, r#"["core", "app", "application"] true"#]);
}

/// Replaces history by a summary, which it asks the model for: through the application if it is
/// there, else through the core.
struct Compaction;

impl Plugin for Compaction {
    fn manifest(&self) -> Manifest {
        Manifest::new("compaction", "1.0.0").without_models()
    }
}

impl Feature for Compaction {
    fn get_actions<'a>(
        &'a self,
        _: &'a ActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        Answer::ok(vec![ActionDefinition::new("compact", "Compact")])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            let summary = match cx.handle::<App>("app") {
                Some(app) => {
                    let asked = texts(&input.session);
                    app.0.lock().unwrap().push(asked);
                    "by the application".to_owned()
                }
                None => {
                    let ask = Message::user("sum up");
                    let side = cx.core().add_message(&input.session, ask, cx.config()).await?;
                    let options = RequestOptions::default();
                    let answer = cx.core().send_request(&side, cx.config(), options).await?;
                    answer.messages[0].text().to_owned()
                }
            };
            let item = json!({"who": "user", "say": summary}).into();
            Ok(ActionResult { native_messages: Change::Replace(vec![item]), ..Default::default() })
        })
    }
}

#[tokio::test] // C-48
async fn a_feature_asks_the_model_through_the_core_or_the_application() {
    let provider = scripted(&["by the core"]);
    let mut core = core_of(&provider, vec![]);
    core.register_feature(Arc::new(Compaction)).unwrap();
    let (session, config) = (hi().await, Config::empty());
    let compact = async |context: CallContext| {
        let call = ActionCall::new("compaction", "compact");
        core.execute_session_action(&session, &config, call, &context).await.unwrap().0
    };
    assert_eq!(texts(&compact(CallContext::new("test")).await), "by the core");
    assert_eq!(provider.last_request(), "hi|sum up");

    let app = Arc::new(App(Mutex::default()));
    let context = CallContext::new("test").lending("app", app.clone());
    assert_eq!(texts(&compact(context).await), "by the application");
    assert_eq!(*app.0.lock().unwrap(), ["hi"]);
    assert_eq!(provider.requests().len(), 1);
}
