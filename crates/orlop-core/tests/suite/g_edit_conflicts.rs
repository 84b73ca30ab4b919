//! Edits against an older revision: moved along where others changed other places, refused with
//! both names where they overlap.

use orlop_core::*;
use orlop_testkit::scripted::{
    ScriptedFeature, ScriptedProvider, ScriptedReply, config, core_with, native_session, texts,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use std::sync::Arc;

/// An item that says `text`.
fn item(text: &str) -> Value {
    json!({"who": "user", "say": text})
}

/// Native history whose items say the letters of `text`.
fn history(text: &str) -> Seq<NativeItem> {
    text.chars().map(|letter| item(&letter.to_string()).into()).collect()
}

/// What the items say, a patched one with its patch behind it.
fn said(native: &Seq<NativeItem>) -> String {
    let one = |item: &NativeItem| {
        let text = item.get("say").and_then(Value::as_str).unwrap().to_owned();
        match item.metadata().is_empty() {
            true => text,
            false => format!("{text}{}", json!(item.metadata())),
        }
    };
    native.iter().map(one).collect()
}

fn items(text: &str) -> Vec<Value> {
    text.chars().map(|letter| item(&letter.to_string())).collect()
}

fn append(text: &str) -> Value {
    json!({"op": "append", "items": items(text)})
}

fn replace(start: usize, end: usize, text: &str) -> Value {
    json!({"op": "replace", "start": start, "end": end, "items": items(text)})
}

fn patch(index: usize, key: &str, value: i64) -> Value {
    json!({"op": "patch_metadata", "indices": [index], "patch": {key: value}})
}

fn edits(edits: &[Value]) -> Value {
    json!({"native_messages": {"edits": edits}})
}

fn whole(text: &str) -> Value {
    json!({"native_messages": items(text)})
}

fn metadata(patch: Value) -> Value {
    json!({"session_metadata": patch})
}

/// The answer of an action that saw `revision`.
fn against(revision: u64, mut answer: Value) -> ActionResult {
    answer["base_revision"] = json!(revision);
    ActionResult::from_json(answer).unwrap()
}

/// Admits the change in `result`; gives the history after it.
fn admit(
    ledger: &mut ChangeLedger,
    native: &Seq<NativeItem>,
    name: &str,
    mut result: ActionResult,
) -> Result<Seq<NativeItem>> {
    let next = ledger.admit(native, name, &format!("{name}-action"), &mut result)?;
    Ok(next.unwrap_or_else(|| native.clone()))
}

/// "abcd" after `first`, then after `second` which was made against "abcd", too.
fn check_pair(first: Value, second: Value) -> Result<String> {
    let mut ledger = ChangeLedger::default();
    let native = admit(&mut ledger, &history("abcd"), "ann", against(0, first)).unwrap();
    let after_first = said(&native);
    let result = admit(&mut ledger, &native, "bob", against(0, second));
    if result.is_err() {
        assert_eq!(said(&native), after_first);
        assert_eq!(ledger.revision(), 1, "a refused change is no revision");
    }
    result.map(|native| said(&native))
}

#[test]
fn edits_of_other_places_are_moved_along() {
    for (first, second, expected) in [
        (append("X"), append("Y"), "abcdXY"),
        (append("X"), replace(4, 4, "Y"), "abcdXY"),
        (replace(0, 0, "XX"), append("Y"), "XXabcdY"),
        // Insertions before, after, and at the same place.
        (replace(1, 1, "X"), replace(3, 3, "Y"), "aXbcYd"),
        (replace(3, 3, "X"), replace(1, 1, "Y"), "aYbcXd"),
        (replace(2, 2, "X"), replace(2, 2, "Y"), "abXYcd"),
        // Items replaced or removed elsewhere, side by side included.
        (replace(0, 2, ""), replace(3, 4, "Y"), "cY"),
        (replace(2, 4, "X"), replace(0, 1, "YYY"), "YYYbX"),
        (replace(0, 2, "X"), replace(2, 4, "Y"), "XY"),
        (replace(2, 4, "X"), replace(0, 2, "Y"), "YX"),
        // An insertion at the border of what another replaced.
        (replace(1, 3, "X"), replace(1, 1, "Y"), "aYXd"),
        (replace(1, 3, "X"), replace(3, 3, "Y"), "aXYd"),
        (replace(1, 1, "X"), replace(1, 3, "Y"), "aXYd"),
        (replace(3, 3, "X"), replace(1, 3, "Y"), "aYXd"),
        // Patches follow their item.
        (replace(0, 0, "X"), patch(1, "k", 1), r#"Xab{"k":1}cd"#),
        (replace(0, 1, ""), patch(3, "k", 1), r#"bcd{"k":1}"#),
        (patch(0, "k", 1), patch(3, "k", 2), r#"a{"k":1}bcd{"k":2}"#),
        (patch(0, "k", 1), patch(0, "n", 2), r#"a{"k":1,"n":2}bcd"#),
        (patch(0, "k", 1), patch(0, "k", 1), r#"a{"k":1}bcd"#),
        (patch(1, "k", 1), replace(2, 3, "Y"), r#"ab{"k":1}Yd"#),
    ] {
        let what = format!("{first} then {second}");
        assert_eq!(check_pair(edits(&[first]), edits(&[second])).unwrap(), expected, "{what}");
    }
}

#[test]
fn several_edits_in_one_answer_are_moved_together() {
    // "bXYcdZ" of one, "ac{k}d1" of the other.
    let first = edits(&[replace(0, 1, ""), replace(1, 1, "XY"), append("Z")]);
    let second = edits(&[append("1"), replace(1, 2, ""), patch(1, "k", 1)]);
    assert_eq!(check_pair(first, second).unwrap(), r#"XYc{"k":1}dZ1"#);
}

#[test]
fn edits_are_moved_past_every_change_since_their_revision() {
    let mut ledger = ChangeLedger::default();
    let mut native = history("abc");
    for (revision, answer, expected) in [
        (0, edits(&[replace(0, 0, "1")]), "1abc"),
        (1, edits(&[replace(2, 3, "2")]), "1a2c"),
        // Made against "1abc", when "c" was the last.
        (1, edits(&[replace(3, 4, "C")]), "1a2C"),
        // Made against "abc".
        (0, edits(&[append("!")]), "1a2C!"),
        (4, edits(&[append("?")]), "1a2C!?"),
    ] {
        native = admit(&mut ledger, &native, "ann", against(revision, answer)).unwrap();
        assert_eq!(said(&native), expected);
    }
    let who: Vec<_> = ledger.entries().iter().map(|entry| entry.plugin.as_str()).collect();
    assert_eq!((ledger.revision(), who.len()), (5, 5));
}

/// `second`, made against the same revision, is refused and the error says so.
fn check_refused(first: Value, second: Value, what: &str) {
    let error = check_pair(first.clone(), second.clone()).expect_err(&format!("{first} {second}"));
    assert_eq!(error.class(), ErrorClass::Conflict);
    for part in ["\"ann\"", "\"ann-action\"", "\"bob\"", "\"bob-action\"", what] {
        assert!(error.message().contains(part), "{part} in: {error}");
    }
}

#[test]
fn edits_of_the_same_place_are_refused_with_both_names() {
    for (first, second, what) in [
        (replace(1, 3, "X"), replace(2, 4, "Y"), "native items 2..3"),
        (replace(1, 2, ""), replace(1, 2, ""), "native items 1..2"),
        (replace(0, 4, "X"), replace(2, 2, "Y"), "native items 2"),
        (replace(2, 2, "X"), replace(1, 3, "Y"), "native items 2"),
        (replace(1, 2, "X"), patch(1, "k", 1), "native item 1"),
        (patch(1, "k", 1), replace(1, 2, "X"), "native item 1"),
        (patch(1, "k", 1), patch(1, "k", 2), "metadata key \"k\" of native item 1"),
    ] {
        check_refused(edits(&[first]), edits(&[second]), what);
    }
}

#[test]
fn a_metadata_key_with_another_value_is_refused() {
    let refused = |first: Value, second: Value, what: &str| {
        check_refused(metadata(first), metadata(second), what);
    };
    refused(json!({"title": "A"}), json!({"title": "B"}), "metadata key \"title\"");
    refused(json!({"a": {"x": 1}}), json!({"a": {"y": 1}}), "metadata key \"a\"");
    refused(
        json!({"overrides": {"model": "m", "effort": 1}}),
        json!({"overrides": {"other": 1, "model": "n"}}),
        "override \"model\"",
    );
    refused(json!({"overrides": {"model": "m"}}), json!({"overrides": {"model": null}}), "model");
    refused(json!({"overrides": {"model": "m"}}), json!({"overrides": null}), "overrides");

    let fine = |first: Value, second: Value| {
        check_pair(metadata(first), metadata(second)).unwrap();
    };
    fine(json!({"title": "A"}), json!({"title": "A"}));
    fine(json!({"title": "A"}), json!({"tag": "B"}));
    fine(json!({"overrides": {"model": "m"}}), json!({"overrides": {"effort": 1}}));
    fine(json!({"overrides": {"model": "m"}}), json!({"overrides": {"model": "m", "n": 1}}));
}

#[test]
fn a_whole_list_against_an_older_revision_conflicts_with_any_change_of_the_list() {
    for first in [
        edits(&[append("X")]),
        edits(&[replace(0, 0, "X")]),
        edits(&[replace(1, 2, "")]),
        edits(&[patch(3, "k", 1)]),
        whole("X"),
    ] {
        check_refused(first, whole("s"), "native history");
    }
    // A change of metadata alone is no change of the list.
    assert_eq!(check_pair(metadata(json!({"a": 1})), whole("s")).unwrap(), "s");
    // After a whole list, what was said of its items is void; its ends are where they were.
    check_refused(whole("s"), edits(&[replace(1, 2, "Y")]), "native items 1..2");
    check_refused(whole("s"), edits(&[patch(0, "k", 1)]), "native item 0");
    assert_eq!(check_pair(whole("s"), edits(&[append("Y")])).unwrap(), "sY");
}

#[test]
fn a_whole_list_against_the_present_revision_replaces() {
    let mut ledger = ChangeLedger::default();
    let native = history("abcd");
    let native = admit(&mut ledger, &native, "ann", against(0, edits(&[append("X")]))).unwrap();
    let native = admit(&mut ledger, &native, "bob", against(1, whole("s"))).unwrap();
    assert_eq!((said(&native).as_str(), ledger.revision()), ("s", 2));
    // Without a revision, the present one is meant.
    let unsaid = ActionResult::from_json(whole("t")).unwrap();
    assert_eq!(said(&admit(&mut ledger, &native, "cid", unsaid).unwrap()), "t");
}

#[test]
fn the_same_list_is_no_change() {
    let mut ledger = ChangeLedger::default();
    let native = history("ab");
    for answer in [whole("ab"), edits(&[]), edits(&[append("")]), json!({}), metadata(json!({}))] {
        let mut result = against(0, answer.clone());
        assert_eq!(ledger.admit(&native, "ann", "x", &mut result).unwrap(), None, "{answer}");
    }
    assert_eq!(ledger.revision(), 0);
    // The list an action was given is no change of it, whatever became of it since.
    assert_eq!(check_pair(edits(&[append("X")]), whole("abcd")).unwrap(), "abcdX");
}

#[test]
fn what_breaks_the_contract_is_no_conflict() {
    let mut ledger = ChangeLedger::default();
    let native = admit(&mut ledger, &history("ab"), "ann", against(0, whole("abc"))).unwrap();
    for (answer, class) in [
        (against(2, edits(&[append("X")])), ErrorClass::BadState),
        (against(u64::MAX, json!({})), ErrorClass::BadState),
        (against(1, edits(&[replace(2, 4, "")])), ErrorClass::OutOfRange),
        // There were two items when it was made.
        (against(0, edits(&[patch(2, "k", 1)])), ErrorClass::OutOfRange),
    ] {
        let error = admit(&mut ledger, &native, "bob", answer).unwrap_err();
        assert_eq!(error.class(), class, "{error}");
    }
    assert_eq!(ledger.revision(), 1);
    for wrong in [json!(-1), json!("1"), json!(1.5)] {
        let error = ActionResult::from_json(json!({"base_revision": wrong})).unwrap_err();
        assert_eq!(error.class(), ErrorClass::BadState);
    }
}

// --- in a run ---

/// A feature whose action at `tick` and `response_finalize` answers with what it makes of the
/// revision it is given.
fn acting(name: &str, answer: impl Fn(u64) -> Value + Send + Sync + 'static) -> ScriptedFeature {
    let id = format!("{name}-action");
    ScriptedFeature::new(name)
        .get_actions(move |_, _| {
            let at = ["tick", lifecycle::RESPONSE_FINALIZE];
            Ok(vec![ActionDefinition::new(id.clone(), "X").on(&at)])
        })
        .execute_action(move |input, _| ActionResult::from_json(answer(input.revision)))
}

fn core_of(features: Vec<ScriptedFeature>) -> Core {
    let provider = ScriptedProvider::default();
    provider.reply(ScriptedReply::text(&["e"]));
    let mut core = core_with(&provider).unwrap();
    features.into_iter().for_each(|one| core.register_feature(Arc::new(one)).unwrap());
    core
}

/// A lifecycle run over the messages "a", "b", "c", "d".
async fn run(features: Vec<ScriptedFeature>) -> Result<LifecycleRun> {
    let core = core_of(features);
    let config = config(json!({"provider": "scripted"}));
    let messages = ["a", "b", "c", "d"].map(Message::user);
    let session = native_session(&core, &messages, &config).await.unwrap();
    core.execute_lifecycle_actions(&session, &config, "tick", &CallContext::new("test")).await
}

fn at(revision: u64, mut answer: Value) -> Value {
    answer["base_revision"] = json!(revision);
    answer
}

#[tokio::test]
async fn a_run_moves_edits_and_keeps_the_earlier_of_two_that_overlap() {
    let run = run(vec![
        acting("ann", |seen| at(seen, edits(&[replace(0, 1, "AA")]))),
        acting("bob", |_| at(0, edits(&[replace(3, 4, "D")]))),
        acting("cid", |_| {
            let mut answer = at(0, edits(&[replace(0, 2, "C")]));
            answer["session_metadata"] = json!({"cid": true});
            answer["message"] = json!("done");
            answer
        }),
        acting("dan", |seen| at(seen, edits(&[append("!")]))),
    ])
    .await
    .unwrap();
    assert_eq!(texts(&run.session), "A|A|b|c|D|!");
    run.session.verify().unwrap();
    assert!(run.session.metadata().is_empty(), "nothing of a refused answer is kept");
    let refused = json!(run.results[2]);
    assert_eq!(refused["result"]["error"]["type"], "conflict");
    let message = refused["result"]["error"]["message"].as_str().unwrap();
    for name in ["\"cid\"", "\"cid-action\"", "\"ann\"", "\"ann-action\""] {
        assert!(message.contains(name), "{name} in: {message}");
    }
    assert!(refused["result"].get("message").is_none());
    assert_eq!(run.results.len(), 4, "the run went on");
}

#[tokio::test]
async fn a_revision_that_never_was_stops_a_run() {
    let error = run(vec![acting("ann", |seen| at(seen + 1, json!({})))]).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadState);
    assert!(error.message().contains("\"ann\"") && error.message().contains("revision 1"));

    // An action run by hand is given revision 0 and can mean no other.
    let core = core_of(vec![acting("ann", |seen| at(seen + 1, edits(&[append("X")])))]);
    let (session, config) = (core.create_session(None), config(json!({})));
    let (call, context) = (ActionCall::new("ann", "ann-action"), CallContext::new("test"));
    let error = core.execute_session_action(&session, &config, call, &context).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::BadState);
}

#[tokio::test]
async fn the_response_in_flight_follows_the_same_rule() {
    let core = core_of(vec![
        acting("ann", |seen| at(seen, edits(&[replace(0, 0, "1")]))),
        // Made against the history before the first: the item that answers.
        acting("bob", |_| at(0, edits(&[patch(1, "k", 1)]))),
        acting("cid", |_| {
            let mut answer = at(0, edits(&[replace(1, 2, "C")]));
            answer["final_messages"] = json!([{"role": "assistant", "content": "C"}]);
            answer
        }),
    ]);
    let config = config(json!({"provider": "scripted"}));
    let session = native_session(&core, &[Message::user("a")], &config).await.unwrap();
    let response = core.send_request(&session, &config, RequestOptions::default()).await.unwrap();
    let native = response.session.native().unwrap().items();
    assert_eq!(said(native), r#"1ae{"k":1}"#);
    let error = &json!(response.action_results[2])["result"]["error"];
    assert_eq!(error["type"], "conflict");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("\"cid\"") && message.contains("\"bob\""), "{message}");
    assert!(response.messages.iter().all(|message| message.text() != "C"));
}

// --- any two answers ---

/// What one action does to a list: something to each item, and items put before each and at the end.
#[derive(Debug, Clone)]
struct Plan {
    items: Vec<Touch>,
    gaps: Vec<u8>,
    /// Whether edits are written from the front, in positions as they are by then.
    forward: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Touch {
    Leave,
    Remove,
    Replace,
    Patch(&'static str, u8),
}

fn plan(len: usize) -> impl Strategy<Value = Plan> {
    let touch = prop_oneof![
        6 => Just(Touch::Leave),
        1 => Just(Touch::Remove),
        1 => Just(Touch::Replace),
        1 => (prop_oneof![Just("k"), Just("n")], 0..2u8).prop_map(|(key, value)| Touch::Patch(key, value)),
    ];
    let gap = prop_oneof![4 => Just(0u8), 1 => 1..3u8];
    (prop::collection::vec(touch, len), prop::collection::vec(gap, len + 1), any::<bool>())
        .prop_map(|(items, gaps, forward)| Plan { items, gaps, forward })
}

fn two_plans() -> impl Strategy<Value = (Plan, Plan)> {
    (0..7usize).prop_flat_map(|len| (plan(len), plan(len))).prop_map(|(first, mut second)| {
        // Who comes first where both insert is only said for a place that is otherwise left alone.
        for gap in 0..second.gaps.len() {
            let beside = [gap.checked_sub(1), Some(gap)].into_iter().flatten();
            let gone = beside.into_iter().any(|at| first.removes(at) || second.removes(at));
            if first.gaps[gap] > 0 && gone {
                second.gaps[gap] = 0;
            }
        }
        (first, second)
    })
}

impl Plan {
    fn removes(&self, at: usize) -> bool {
        matches!(self.items.get(at), Some(Touch::Remove | Touch::Replace))
    }

    /// Whether `gap` lies between two neighbours that this plan takes away.
    fn removes_around(&self, gap: usize) -> bool {
        gap > 0 && self.removes(gap - 1) && self.removes(gap)
    }

    fn inserted(&self, by: &str, gap: usize) -> Vec<Value> {
        (0..self.gaps[gap]).map(|n| item(&format!("({by}{gap}.{n})"))).collect()
    }

    /// The plan as edits.
    fn edits(&self, by: &str) -> Value {
        let mut edits = Vec::new();
        let mut places: Vec<usize> = (0..self.gaps.len()).collect();
        if !self.forward {
            places.reverse();
        }
        let mut moved = 0;
        for at in places {
            let now = at.checked_add_signed(moved).unwrap();
            let mut put = self.inserted(by, at);
            match self.items.get(at) {
                Some(Touch::Patch(key, value)) => edits.push(patch(now, key, i64::from(*value))),
                Some(Touch::Replace) => put.push(item(&format!("[{by}{at}]"))),
                _ => {}
            }
            let taken = usize::from(self.removes(at));
            if self.forward {
                moved += put.len() as isize - taken as isize;
            }
            if !put.is_empty() || taken > 0 {
                edits
                    .push(json!({"op": "replace", "start": now, "end": now + taken, "items": put}));
            }
        }
        json!({"native_messages": {"edits": edits}})
    }
}

/// Whether two plans touch the same place.
fn clash(first: &Plan, second: &Plan) -> bool {
    let items = first.items.iter().zip(&second.items).any(|pair| match pair {
        (Touch::Leave, _) | (_, Touch::Leave) => false,
        (Touch::Patch(one, a), Touch::Patch(other, b)) => one == other && a != b,
        _ => true,
    });
    let gaps = (0..first.gaps.len()).any(|gap| {
        (first.gaps[gap] > 0 && second.removes_around(gap))
            || (second.gaps[gap] > 0 && first.removes_around(gap))
    });
    items || gaps
}

/// Both plans carried out on the list as it was, each item where it belongs.
fn both(native: &Seq<NativeItem>, first: &Plan, second: &Plan) -> Vec<Value> {
    let mut out = Vec::new();
    for gap in 0..=native.len() {
        out.extend(first.inserted("a", gap));
        out.extend(second.inserted("b", gap));
        let Some(held) = native.get(gap) else { break };
        let mut left = Some(held.to_json());
        for (by, plan) in [("a", first), ("b", second)] {
            match &plan.items[gap] {
                Touch::Leave => {}
                Touch::Remove => left = None,
                Touch::Replace => left = Some(item(&format!("[{by}{gap}]"))),
                Touch::Patch(key, value) => {
                    if let Some(left) = &mut left {
                        left["_metadata"][*key] = json!(value);
                    }
                }
            }
        }
        out.extend(left);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn two_answers_to_one_revision_both_hold_or_the_later_is_refused((first, second) in two_plans()) {
        let native = history(&"abcdefg"[..first.items.len()]);
        let mut ledger = ChangeLedger::default();
        let after = admit(&mut ledger, &native, "ann", against(0, first.edits("a"))).unwrap();
        let outcome = admit(&mut ledger, &after, "bob", against(0, second.edits("b")));
        if clash(&first, &second) {
            let error = outcome.expect_err("they touch the same place");
            prop_assert_eq!(error.class(), ErrorClass::Conflict);
            prop_assert!(error.message().contains("\"ann\"") && error.message().contains("\"bob\""));
            prop_assert_eq!(ledger.revision(), 1);
        } else {
            let outcome = outcome.expect("they touch different places");
            let outcome: Vec<_> = outcome.iter().map(NativeItem::to_json).collect();
            prop_assert_eq!(outcome, both(&native, &first, &second));
        }
    }
}
