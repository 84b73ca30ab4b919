//! The session after a request: where its messages come from, what they map to, its metadata.

use orlop_core::hooks::{ActionInput, FinalizeChange, ModelAnswer};
use orlop_core::*;
use orlop_testkit::scripted::*;
use serde_json::json;
use std::sync::Arc;

fn says(texts: &[&str]) -> ScriptedProvider {
    let provider = ScriptedProvider::default();
    for text in texts {
        provider.reply(ScriptedReply::text(&[text]));
    }
    provider
}

fn core_of(provider: &ScriptedProvider, features: Vec<ScriptedFeature>) -> Core {
    let mut core = core_with(provider).unwrap();
    for feature in features {
        core.register_feature(Arc::new(feature)).unwrap();
    }
    core
}

async fn asked(text: &str) -> Session {
    plain_session(&[Message::user(text)]).await.unwrap()
}

async fn send(core: &Core, session: &Session) -> Response {
    core.send_request(session, &Config::empty(), RequestOptions::default()).await.unwrap()
}

async fn ask(core: &Core, session: &Session, text: &str) -> Response {
    let session = core.add_message(session, Message::user(text), &Config::empty()).await.unwrap();
    send(core, &session).await
}

fn said(item: &NativeItem) -> &str {
    item.get("say").and_then(Value::as_str).unwrap_or_default()
}

fn native_texts(session: &Session) -> String {
    session.native().unwrap().items().iter().map(said).collect::<Vec<_>>().join("|")
}

fn contents(messages: &[Message]) -> String {
    messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("|")
}

fn map(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

/// The positions that the finals map to, after one user message, or two items with the system
/// feature.
async fn check_mapping(mapping: Mapping, reply: Vec<Value>, expected: &[Option<&[usize]>]) {
    for (features, baseline) in [(vec![], 1), (vec![system_feature()], 2)] {
        let provider = ScriptedProvider::default().mapping(mapping);
        provider.reply(ScriptedReply::items(reply.clone()));
        let response = send(&core_of(&provider, features), &asked("hi").await).await;
        let found: Vec<_> =
            response.messages.iter().map(|message| message.native_indices().positions()).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|local| {
                local.map(|local| local.iter().map(|at| at + baseline).collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(found, expected, "{mapping:?}, {reply:?}");
        check_session(&response);
    }
}

/// No mapping leaves native history, and the answer is in the session once.
fn check_session(response: &Response) {
    let session = &response.session;
    session.verify().unwrap();
    let len = session.native().unwrap().items().len();
    for message in session.messages().iter() {
        let positions = message.native_indices().positions().unwrap_or_default();
        assert!(positions.iter().all(|&position| position < len), "{message:?} of {len}");
    }
    let tail = session.messages().len() - response.messages.len();
    assert!(session.messages().iter().skip(tail).eq(&response.messages), "{}", texts(session));
    let earlier: Vec<_> = session.messages().iter().take(tail).cloned().collect();
    assert!(!contents(&earlier).contains(response.messages.first().map_or("\0", Message::text)));
}

#[tokio::test] // E-18
async fn the_first_final_maps_to_the_baseline() {
    let (say, think) = (json!({"who": "assistant", "say": "a"}), json!({"think": "hm"}));
    let reported = Mapping::Reported;
    check_mapping(reported, vec![say.clone()], &[Some(&[0])]).await;
    check_mapping(reported, vec![say.clone(), say.clone()], &[Some(&[0]), Some(&[1])]).await;
    check_mapping(reported, vec![think, say], &[Some(&[0, 1])]).await;
    let pair = vec![json!({"pair": ["a", "b"]})];
    check_mapping(reported, pair, &[Some(&[0]), Some(&[0])]).await;
}

#[tokio::test] // E-19
async fn a_provider_without_mapping_is_tolerated() {
    let (say, think) = (json!({"who": "assistant", "say": "a"}), json!({"think": "hm"}));
    let missing = Mapping::Missing;
    check_mapping(missing, vec![say.clone()], &[Some(&[0])]).await;
    check_mapping(missing, vec![think, say], &[Some(&[0, 1])]).await;
    let pair = vec![json!({"pair": ["a", "b"]})];
    check_mapping(missing, pair, &[Some(&[0]), Some(&[0])]).await;
    check_mapping(missing, vec![], &[]).await;
}

#[tokio::test] // E-19
async fn no_index_leaves_native_history() {
    let forgetful = ScriptedFeature::new("forgetful").finalize(|input, _| {
        let kept = input.native_messages.prefix(input.native_messages.len() - 1);
        let kept = kept.iter().cloned().collect();
        Ok(FinalizeChange { native_messages: Change::Replace(kept), ..FinalizeChange::default() })
    });
    let boastful = ScriptedFeature::new("boastful").from_native_messages(|input, _| {
        let far = |message: &Message| message.clone().with_native_indices(NativeIndices::new([7]));
        Ok(Change::Replace(input.messages.iter().map(far).collect()))
    });
    let inventive = at_response("inventive", |_, _| {
        let far = Message::assistant("far").with_native_indices(NativeIndices::new([9]));
        Ok(ActionResult { final_messages: Some(vec![far]), ..ActionResult::default() })
    });
    for feature in [forgetful, boastful, inventive] {
        let response = send(&core_of(&says(&["one"]), vec![feature]), &asked("hi").await).await;
        check_session(&response);
        assert_eq!(response.messages[0].native_indices(), &NativeIndices::Absent);
    }
}

/// Lays a patch of the state and one of a response action over the session's metadata.
async fn check_metadata(session: Value, state: Value, action: Value, expected: Value) {
    let patching = at_response("patching", move |_, _| {
        Ok(ActionResult { session_metadata: Some(action.clone()), ..ActionResult::default() })
    })
    .finalize(move |_, _| {
        let state = StateChange::set("session_metadata_patch", state.clone());
        Ok(FinalizeChange { state, ..FinalizeChange::default() })
    });
    let asked = asked("hi").await.with_metadata_patch(&map(session));
    let response = send(&core_of(&says(&["one"]), vec![patching]), &asked).await;
    assert_eq!(Value::Object(response.session.metadata().clone()), expected);
    response.session.verify().unwrap();
}

#[tokio::test] // E-21
async fn the_actions_patch_wins_over_the_states() {
    let held = json!({"kept": 0});
    check_metadata(
        held.clone(),
        json!({"a": "state", "b": "state"}),
        json!({"b": "action"}),
        json!({"kept": 0, "a": "state", "b": "action"}),
    )
    .await;
    check_metadata(
        held.clone(),
        json!({"overrides": {"x": "state", "y": "state"}}),
        json!({"overrides": {"y": "action"}}),
        json!({"kept": 0, "overrides": {"x": "state", "y": "action"}}),
    )
    .await;
    for no_mapping in [json!("text"), json!([1]), json!(7), json!(null)] {
        check_metadata(
            held.clone(),
            no_mapping.clone(),
            json!({"b": 1}),
            json!({"kept": 0, "b": 1}),
        )
        .await;
        check_metadata(held.clone(), json!({"a": 1}), no_mapping, json!({"kept": 0, "a": 1})).await;
    }
}

#[tokio::test] // E-22
async fn overrides_merge_key_by_key_and_null_removes() {
    let held = json!({"list": [1], "overrides": {"model": "m", "theme": "dark"}});
    let unchanged = json!({});
    check_metadata(
        held.clone(),
        json!({"list": [2], "overrides": {"model": "n"}}),
        unchanged.clone(),
        json!({"list": [2], "overrides": {"model": "n", "theme": "dark"}}),
    )
    .await;
    let without_theme = json!({"list": [1], "overrides": {"model": "m"}});
    let removal = json!({"overrides": {"theme": null}});
    check_metadata(held.clone(), unchanged.clone(), removal.clone(), without_theme.clone()).await;
    check_metadata(held.clone(), removal.clone(), unchanged, without_theme.clone()).await;
    check_metadata(
        held.clone(),
        json!({"overrides": {"theme": "x"}}),
        removal.clone(),
        without_theme,
    )
    .await;
    check_metadata(
        held,
        removal,
        json!({"overrides": {"theme": "light"}}),
        json!({"list": [1], "overrides": {"model": "m", "theme": "light"}}),
    )
    .await;
}

#[tokio::test] // E-22
async fn a_patch_cannot_touch_native_history() {
    let hostile = json!({
        "native_messages": [], "native_messages_integrity": "sha256:0",
        "native_messages_format": "other", "mine": 1,
    });
    check_metadata(json!({}), hostile.clone(), json!({}), json!({"mine": 1})).await;
    check_metadata(json!({}), json!({}), hostile.clone(), json!({"mine": 1})).await;

    let patching = at_response("patching", move |_, _| {
        Ok(ActionResult { session_metadata: Some(hostile.clone()), ..ActionResult::default() })
    });
    let response = send(&core_of(&says(&["one"]), vec![patching]), &asked("hi").await).await;
    assert_eq!(native_texts(&response.session), "hi|one");
    assert_eq!(response.session.native().unwrap().format(), Some("scripted"));
}

#[tokio::test] // E-23
async fn changed_history_is_read_back_once_and_then_appended_to() {
    let provider = says(&["one", "two"]);
    let core = core_of(&provider, vec![system_feature()]);
    let first = ask(&core, &Session::new("s"), "hi").await;
    assert_eq!(texts(&first.session), "be kind|hi|one");
    assert_eq!(first.session.messages().get(0).unwrap().role(), Role::System);
    check_session(&first);

    provider.log().take();
    let second = ask(&core, &first.session, "on").await;
    assert_eq!(texts(&second.session), "be kind|hi|one|on|two");
    assert_eq!(provider.log().count("from_native(1)"), 1, "only the finals were read back");
    assert_eq!(
        provider.log().lines().iter().filter(|line| line.contains("from_native")).count(),
        1
    );
}

#[tokio::test] // E-23
async fn three_turns_have_one_system_message() {
    // Q50: initialisation runs again in the rebuild and must find its own mark.
    let core = core_of(&says(&["one", "two", "three"]), vec![system_feature()]);
    let mut session = Session::new("s");
    for text in ["a", "b", "c"] {
        session = ask(&core, &session, text).await.session;
        session.verify().unwrap();
    }
    assert_eq!(texts(&session), "be kind|a|one|b|two|c|three");
    assert_eq!(native_texts(&session), texts(&session));
    let items = session.native().unwrap().items();
    assert_eq!(items.iter().filter(|item| !item.metadata().is_empty()).count(), 1);
}

/// What an action at `response_finalize` does to the third turn; the session must end with what
/// the caller gets, whether it is appended to or made anew.
async fn check_response_action(
    act: fn(&ActionInput) -> ActionResult,
    finals: &str,
    appended: &str,
    native: &str,
) {
    for system in [false, true] {
        let acting = at_response("acting", move |input, _| {
            let is_third = input.native_messages.iter().any(|item| said(item) == "c");
            Ok(if is_third { act(input) } else { ActionResult::unchanged() })
        });
        // The system item comes only now, so that the third turn is the one with the rebuild.
        let mut features = vec![acting];
        let core = core_of(&says(&["A", "B"]), features.clone());
        let first = ask(&core, &Session::new("s"), "a").await.session;
        let second = ask(&core, &first, "b").await.session;
        let (messages, native) = match system {
            true => (format!("be kind|{appended}"), format!("be kind|{native}")),
            false => (appended.to_owned(), native.to_owned()),
        };
        features.extend(system.then(system_feature));
        let third = ask(&core_of(&says(&["C"]), features), &second, "c").await;
        assert_eq!(contents(&third.messages), finals);
        assert_eq!(texts(&third.session), messages);
        assert_eq!(native_texts(&third.session), native);
        check_session(&third);
    }
}

#[tokio::test] // E-23, E-25
async fn finals_an_action_replaced_are_in_the_session_too() {
    check_response_action(
        |_| ActionResult {
            final_messages: Some(vec![Message::assistant("edited")]),
            ..ActionResult::default()
        },
        "edited",
        "a|A|b|B|c|edited",
        "a|A|b|B|c|C",
    )
    .await;
}

#[tokio::test] // E-23
async fn finals_follow_native_history_that_an_action_changed() {
    // Q17: an action that changes native history only has the finals derived from it again.
    check_response_action(
        |input| {
            let last = input.native_messages.len() - 1;
            let items = vec![item("assistant", "C1"), item("assistant", "C2")];
            ActionResult {
                native_messages: Change::Edit(vec![Edit::Replace {
                    start: last,
                    end: last + 1,
                    items,
                }]),
                ..ActionResult::default()
            }
        },
        "C1|C2",
        "a|A|b|B|c|C1|C2",
        "a|A|b|B|c|C1|C2",
    )
    .await;
}

#[tokio::test] // E-23
async fn an_action_may_shorten_the_history_before_the_turn() {
    check_response_action(
        |input| {
            let mut items: Vec<_> = input.native_messages.iter().cloned().collect();
            let start = items.iter().position(|item| said(item) == "a").unwrap();
            items.splice(start..start + 4, [item("user", "summary")]);
            ActionResult { native_messages: Change::Replace(items), ..ActionResult::default() }
        },
        "C",
        "summary|c|C",
        "summary|c|C",
    )
    .await;
}

#[tokio::test] // E-23
async fn a_feature_may_reshape_the_history_before_the_turn() {
    for (start, removed, added) in [(0, 0, "preface"), (0, 1, "rewritten"), (0, 2, "summary")] {
        let reshaping = ScriptedFeature::new("reshaping").finalize(move |_, _| {
            let items = vec![item("user", added)];
            let edit = Edit::Replace { start, end: start + removed, items };
            let native_messages = Change::Edit(vec![edit]);
            Ok(FinalizeChange { native_messages, ..FinalizeChange::default() })
        });
        let core = core_of(&says(&["A"]), vec![]);
        let first = ask(&core, &Session::new("s"), "a").await.session;
        let second = ask(&core_of(&says(&["B"]), vec![reshaping]), &first, "b").await;
        let history = ["a", "A", "b", "B"].into_iter().skip(removed);
        let expected: Vec<_> = [added].into_iter().chain(history).collect();
        assert_eq!(texts(&second.session), expected.join("|"));
        assert_eq!(contents(&second.messages), "B");
        check_session(&second);
        let last = second.session.native().unwrap().items().len() - 1;
        assert_eq!(second.messages[0].native_indices().positions(), Some(vec![last]));
    }
}

#[tokio::test] // E-23
async fn a_feature_may_take_its_item_out_again() {
    // Initialisation puts the item back, but the history that is kept does not have it.
    let fleeting = system_feature().finalize(|input, _| {
        let kept = input.native_messages.iter().filter(|item| item.metadata().is_empty());
        let native_messages = Change::Replace(kept.cloned().collect());
        Ok(FinalizeChange { native_messages, ..FinalizeChange::default() })
    });
    let provider = says(&["one", "two"]);
    let core = core_of(&provider, vec![fleeting]);
    let first = ask(&core, &Session::new("s"), "hi").await;
    let second = ask(&core, &first.session, "on").await;
    assert_eq!(provider.last_request(), "be kind|hi|one|on");
    for (response, expected) in [(first, "hi|one"), (second, "hi|one|on|two")] {
        assert_eq!(texts(&response.session), expected);
        assert_eq!(native_texts(&response.session), expected);
        check_session(&response);
    }
}

/// Answers with a history of its own making: one summary, then the answer.
fn summing() -> Over<ScriptedProvider> {
    Over::new(ScriptedProvider::default()).named("summing").call_api(|_| {
        let (summary, answer) = (item("user", "summary"), item("assistant", "answer"));
        ModelAnswer {
            final_messages: vec![answer.clone()],
            native_messages: Change::Replace(vec![summary, answer]),
            ..ModelAnswer::default()
        }
    })
}

#[tokio::test] // E-22, E-23
async fn a_provider_may_answer_with_a_history_of_its_own() {
    let mut core = Core::new();
    core.register_provider(Arc::new(summing()), vec![]).unwrap();
    let long = ["a", "b", "c", "d"].map(Message::user);
    let response = send(&core, &plain_session(&long).await.unwrap()).await;
    assert_eq!(contents(&response.messages), "answer");
    assert_eq!(texts(&response.session), "summary|answer");
    assert_eq!(native_texts(&response.session), "summary|answer");
    check_session(&response);
}

#[tokio::test] // E-24
async fn earlier_messages_keep_their_metadata() {
    let core = core_of(&says(&["one", "two"]), vec![]);
    let marked = |text: &str| Message::user(text).with_metadata_entry("mark", text);
    let fresh = core.add_message(&Session::new("s"), marked("a"), &Config::empty()).await.unwrap();
    let first = send(&core, &fresh).await.session;
    let again = core.add_message(&first, marked("b"), &Config::empty()).await.unwrap();
    let second = send(&core, &again).await.session;
    let marks: Vec<_> =
        second.messages().iter().map(|message| message.metadata().get("mark")).collect();
    assert_eq!(marks, [Some(&json!("a")), None, Some(&json!("b")), None]);
}

#[tokio::test] // E-25
async fn the_answer_is_the_tail_of_the_session() {
    let two = vec![json!({"think": "hm"}), json!({"pair": ["a", "b"]})];
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::items(two));
    let session = asked("hi").await.with_id("kept");
    let Response { session, messages, .. } = send(&core_of(&provider, vec![]), &session).await;
    assert_eq!(session.id(), "kept");
    assert_eq!(texts(&session), "hi|a|b");
    let tail: Vec<_> = session.messages().iter().skip(1).cloned().collect();
    assert_eq!(messages, tail);
}

#[tokio::test] // E-08
async fn another_provider_gets_the_history_converted_anew() {
    let (first, second) = (ScriptedProvider::new("first"), ScriptedProvider::new("second"));
    first.reply(ScriptedReply::items(vec![
        json!({"think": "hm"}),
        json!({"who": "assistant", "say": "one"}),
    ]));
    second.reply(ScriptedReply::text(&["two"]));
    let mut core = core_with(&first).unwrap();
    core.register_provider(Arc::new(second.clone()), vec![]).unwrap();
    let [with_first, with_second] =
        ["first", "second"].map(|name| config(json!({"provider": name})));

    let options = RequestOptions::default;
    let asked =
        core.add_message(&asked("hi").await, Message::user("you"), &with_first).await.unwrap();
    let old = core.send_request(&asked, &with_first, options()).await.unwrap().session;
    let before = old.to_json();
    assert_eq!(old.native().unwrap().items().len(), 4);
    let new = core.send_request(&old, &with_second, options()).await.unwrap().session;

    assert_eq!(second.last_request(), "hi|you|one");
    assert_eq!(native_texts(&new), "hi|you|one|two");
    assert_eq!(new.native().unwrap().format(), Some("second"));
    let mapped = new.messages().iter().map(|message| message.native_indices().positions());
    assert!(mapped.eq((0..4).map(|index| Some(vec![index]))), "the mapping is to the new items");
    assert_eq!(old.to_json(), before, "the session that was sent is a value and stays");
    assert_eq!(old.native().unwrap().format(), Some("first"));
}

#[tokio::test] // E-08
async fn a_history_that_no_longer_fits_leaves_no_stale_mapping() {
    // The second provider's history has an item of its own, so messages and items differ.
    let (first, second) = (says(&["one"]), ScriptedProvider::new("second"));
    second.reply(ScriptedReply::text(&["two"]));
    let mut core = core_with(&first).unwrap();
    core.register_provider(Arc::new(second.clone()), vec![]).unwrap();
    let preamble = ScriptedFeature::new("preamble").to_native_messages(|input, cx| {
        let item = json!({"who": "system", "say": "preamble"});
        let is_second = cx.provider() == Some("second") && input.messages.len() > 1;
        Ok(if is_second { Change::insert(0, vec![item.into()]) } else { Change::Keep })
    });
    core.register_feature(Arc::new(preamble)).unwrap();
    let [with_first, with_second] =
        ["scripted", "second"].map(|name| config(json!({"provider": name})));
    let options = RequestOptions::default;
    let old = core.send_request(&asked("hi").await, &with_first, options()).await.unwrap().session;
    let new = core.send_request(&old, &with_second, options()).await.unwrap().session;
    assert_eq!(native_texts(&new), "preamble|hi|one|two");
    for message in new.messages().iter() {
        if let Some(positions) = message.native_indices().positions() {
            let item = new.native().unwrap().items().get(positions[0]).unwrap();
            assert_eq!(item.get("say").unwrap(), message.content());
        }
    }
}
