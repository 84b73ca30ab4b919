//! The turn as data: every transition, and what holds for any sequence of them.

use orlop_app::Approval;
use orlop_app::turn::machine::*;
use orlop_core::types::InspectedCall;
use orlop_core::types::app_event::ModelName;
use orlop_core::{Error, ErrorClass, Map, Message, Value};
use proptest::prelude::*;
use serde_json::json;

fn turn(max_steps: u32) -> Turn {
    Turn {
        agent: "default".to_owned(),
        overrides: Map::new(),
        context: Map::new(),
        asked: None,
        preface: Vec::new(),
        instructions: None,
        stream: true,
        approval: Approval::Wait,
        first_message: 0,
        step: 0,
        max_steps,
        usage: Map::new(),
        caller_tools: Vec::new(),
        tool_calls_left: None,
        caller_calls: Vec::new(),
        again: Again::default(),
        phase: Phase::Model,
    }
}

fn ready(id: &str) -> Call {
    let call = InspectedCall {
        call_id: Some(id.to_owned()),
        tool_name: Some("t".to_owned()),
        payload: json!({ "of": id }),
        ..InspectedCall::default()
    };
    let (idempotent, concurrent) = (false, false);
    Call { id: id.to_owned(), call, idempotent, concurrent, state: CallState::Ready }
}

fn beside(id: &str) -> Call {
    Call { concurrent: true, ..ready(id) }
}

fn asking(id: &str) -> Call {
    let reason = "why not".to_owned();
    Call { state: CallState::Asking { reason, form: None, remember: Vec::new() }, ..ready(id) }
}

fn answered(calls: Vec<Call>) -> Input {
    Input::Answered { calls, usage: Map::new(), ending: Ending::Done }
}

fn finished(id: &str) -> Input {
    Input::Finished { call: id.to_owned(), message: Message::tool(format!("did {id}")) }
}

fn decided(id: &str, allow: bool) -> Input {
    Input::Decided { call: id.to_owned(), allow, input: None, reason: None }
}

/// What follows, in short: `run(a) ask settle +did a`.
fn shown(next: &Next) -> String {
    let effects = next.effects.iter().map(|effect| match effect {
        Effect::CallModel => "ask".to_owned(),
        Effect::Shorten => "shorten".to_owned(),
        Effect::Run(call) => format!("run({call})"),
        Effect::Settle => "settle".to_owned(),
    });
    let added = next.append.iter().map(|message| format!("+{}", message.text()));
    effects.chain(added).collect::<Vec<_>>().join(" ")
}

fn check(turn: &mut Turn, input: Input, expected: &str) {
    assert_eq!(shown(&turn.apply(input).unwrap()), expected);
    let text = serde_json::to_string(turn).unwrap();
    assert_eq!(serde_json::from_str::<Turn>(&text).unwrap(), *turn, "it survives being stored");
}

/// An input that does not fit changes nothing.
fn check_refused(turn: &Turn, input: Input, class: ErrorClass) {
    let mut tried = turn.clone();
    assert_eq!(tried.apply(input.clone()).unwrap_err().class(), class, "{input:?} at {turn:?}");
    assert_eq!(tried, *turn);
}

#[test]
fn an_answer_without_calls_completes_the_turn() {
    let mut turn = turn(5);
    check(&mut turn, answered(vec![]), "settle");
    assert_eq!((turn.step, turn.outcome()), (1, Some(&Outcome::Complete)));
    assert!(!turn.is_settled());
    check(&mut turn, Input::Told, "");
    assert!(turn.is_settled());
}

#[test]
fn calls_run_one_after_the_other_and_close_the_step_in_order() {
    let mut turn = turn(5);
    check(&mut turn, answered(vec![ready("a"), ready("b")]), "run(a)");
    check(&mut turn, finished("a"), "run(b)");
    check(&mut turn, finished("b"), "ask +did a +did b");
    assert_eq!((turn.phase.clone(), turn.calls().len()), (Phase::Model, 0));
    check(&mut turn, answered(vec![ready("a")]), "run(a)");
}

#[test]
fn calls_that_may_run_side_by_side_do_and_their_results_keep_the_order() {
    let mut turn = turn(5);
    let calls = vec![beside("a"), beside("b"), ready("c"), beside("d"), beside("e")];
    check(&mut turn, answered(calls), "run(a) run(b)");
    check(&mut turn, finished("b"), "");
    check(&mut turn, finished("a"), "run(c)");
    check(&mut turn, finished("c"), "run(d) run(e)");
    check(&mut turn, finished("e"), "");
    check(&mut turn, finished("d"), "ask +did a +did b +did c +did d +did e");
}

#[test]
fn a_call_that_is_asked_about_waits_for_a_person() {
    let mut turn = turn(5);
    let beside_asking = Call { concurrent: true, ..asking("b") };
    check(&mut turn, answered(vec![beside("a"), beside_asking, ready("c")]), "run(a)");
    check(&mut turn, finished("a"), "");
    let with = Input::Decided {
        call: "b".to_owned(),
        allow: true,
        input: Some(json!({"other": 1})),
        reason: None,
    };
    check(&mut turn, with, "run(b)");
    assert_eq!(turn.calls()[1].call.payload, json!({"other": 1}));
    check_refused(&turn, decided("b", false), ErrorClass::Conflict);
    check_refused(&turn, decided("c", true), ErrorClass::Conflict);
    check_refused(&turn, decided("z", true), ErrorClass::NotFound);
    check(&mut turn, finished("b"), "run(c)");
}

#[test]
fn a_call_that_is_refused_tells_the_model_why() {
    let mut turn = turn(5);
    check(&mut turn, answered(vec![asking("a"), asking("b")]), "");
    let no = Input::Decided {
        call: "a".to_owned(),
        allow: false,
        input: Some(json!("ignored")),
        reason: Some("too risky".to_owned()),
    };
    check(&mut turn, no, "");
    let denied = "Error: this call was not allowed:";
    let expected = format!("ask +{denied} too risky +{denied} the user refused this call");
    check(&mut turn, decided("b", false), &expected);
}

#[test]
fn calls_that_are_over_already_close_the_step_at_once() {
    let done = Call { state: CallState::Done { message: Message::tool("no") }, ..ready("a") };
    let mut turn = turn(5);
    check(&mut turn, answered(vec![done.clone()]), "ask +no");
    check(&mut turn, answered(vec![done, ready("b")]), "run(b)");
}

#[test]
fn calls_of_the_caller_end_the_turn_when_the_others_are_over() {
    let caller = |id| Call { state: CallState::Caller, ..ready(id) };
    let mut turn = turn(5);
    check(&mut turn, answered(vec![caller("a"), ready("b"), caller("c")]), "run(b)");
    check_refused(&turn, decided("a", true), ErrorClass::Conflict);
    check_refused(&turn, finished("a"), ErrorClass::BadState);
    check(&mut turn, finished("b"), "settle +did b");
    let handed: Vec<_> = turn.caller_calls.iter().map(|call| &*call.call_id).collect();
    assert_eq!((handed, turn.outcome()), (vec!["a", "c"], Some(&Outcome::Complete)));
}

#[test]
fn the_last_step_there_may_be_ends_the_turn_with_an_error() {
    let mut turn = turn(1);
    check(&mut turn, answered(vec![ready("a")]), "run(a)");
    check(&mut turn, finished("a"), "settle +did a");
    let Some(Outcome::Failed { error }) = turn.outcome() else { panic!() };
    assert_eq!(error["type"], "bad_state");
}

const CANCELLED: &str =
    "the user cancelled this call before it ended; whether it had an effect is not known";
const FAILED: &str =
    "the request failed before this call ended; whether it had an effect is not known";
const GONE: &str =
    "the program ended while this call was running; whether it had an effect is not known";
const NOT_RUN: &str = "this call was not run; the request ended before";

/// A turn with a call in each state: done, running, asked about, ready.
fn in_the_middle() -> Turn {
    let mut turn = turn(5);
    let idempotent = Call { idempotent: true, ..beside("b") };
    let calls = vec![beside("a"), idempotent, beside("c"), asking("d"), ready("e")];
    check(&mut turn, answered(calls), "run(a) run(b) run(c)");
    check(&mut turn, finished("a"), "");
    turn
}

#[test]
fn ending_in_the_middle_closes_every_call() {
    for (input, reason) in [
        (Input::Cancelled("enough".to_owned()), CANCELLED),
        (Input::Failed(Error::internal("x")), FAILED),
        (Input::Interrupted { resume: false }, GONE),
    ] {
        let mut turn = in_the_middle();
        let expected = format!(
            "settle +did a +Error: {reason} +Error: {reason} +Error: {NOT_RUN} +Error: {NOT_RUN}"
        );
        check(&mut turn, input, &expected);
        check(&mut turn, Input::Told, "");
        assert!(turn.is_settled());
    }
}

#[test]
fn ending_while_the_model_is_asked_closes_nothing() {
    for input in [
        Input::Cancelled("enough".to_owned()),
        Input::Failed(Error::internal("x")),
        Input::Interrupted { resume: false },
    ] {
        check(&mut turn(5), input, "settle");
    }
}

#[test]
fn a_turn_that_has_its_outcome_keeps_it() {
    let mut turn = turn(5);
    check(&mut turn, answered(vec![]), "settle");
    for _ in 0..2 {
        check(&mut turn, Input::Cancelled("late".to_owned()), "");
        check(&mut turn, Input::Failed(Error::internal("late")), "");
        assert_eq!(turn.outcome(), Some(&Outcome::Complete));
        if !turn.is_settled() {
            check(&mut turn, Input::Interrupted { resume: true }, "settle");
            check(&mut turn, Input::Interrupted { resume: false }, "settle");
            check(&mut turn, Input::Told, "");
        }
    }
    check(&mut turn, Input::Interrupted { resume: true }, "");
    check(&mut turn, Input::Interrupted { resume: false }, "");
}

#[test]
fn resuming_goes_on_where_it_was() {
    check(&mut turn(5), Input::Interrupted { resume: true }, "ask");
    let mut turn = in_the_middle();
    // What may be run twice is; what may not is closed.
    check(&mut turn, Input::Interrupted { resume: true }, "run(b)");
    check(&mut turn, finished("b"), "");
    check_refused(&turn, finished("c"), ErrorClass::BadState);
    check(&mut turn, decided("d", true), "run(d)");
    check(&mut turn, finished("d"), "run(e)");
    let expected = format!("ask +did a +did b +Error: {GONE} +did d +did e");
    check(&mut turn, finished("e"), &expected);
}

#[test]
fn inputs_that_do_not_fit_change_nothing() {
    let asked = turn(5);
    let mut settling = asked.clone();
    settling.apply(answered(vec![])).unwrap();
    let mut settled = settling.clone();
    settled.apply(Input::Told).unwrap();
    let middle = in_the_middle();
    for turn in [&asked, &settling, &settled] {
        check_refused(turn, finished("a"), ErrorClass::NotFound);
        check_refused(turn, decided("a", true), ErrorClass::NotFound);
    }
    for turn in [&middle, &settling, &settled] {
        check_refused(turn, answered(vec![]), ErrorClass::BadState);
    }
    for turn in [&asked, &middle, &settled] {
        check_refused(turn, Input::Told, ErrorClass::BadState);
    }
    for id in ["a", "d", "e"] {
        check_refused(&middle, finished(id), ErrorClass::BadState);
    }
    check_refused(&middle, finished("z"), ErrorClass::NotFound);
}

#[test]
fn token_counts_add_up() {
    let mut turn = turn(5);
    let usage = |value: Value| value.as_object().cloned().unwrap();
    for count in [
        json!({"in": 1, "more": {"x": 1.5}, "model": "a"}),
        json!({"in": 2, "more": {"x": 1}, "model": "b"}),
    ] {
        let done = Call { state: CallState::Done { message: Message::tool("ok") }, ..ready("a") };
        turn.apply(Input::Answered {
            calls: vec![done],
            usage: usage(count),
            ending: Ending::Done,
        })
        .unwrap();
    }
    assert_eq!(turn.usage, usage(json!({"in": 3, "more": {"x": 2.5}, "model": "b"})));
}

/// Anything that can happen, in numbers.
#[derive(Debug, Clone)]
enum Any {
    Answered(Vec<(u8, bool, bool)>),
    Finished(u8),
    Decided(u8, bool),
    TooLong,
    Shortened(bool),
    Failed,
    Cancelled,
    Interrupted(bool),
    Told,
}

fn any_input() -> impl Strategy<Value = Any> {
    prop_oneof![
        4 => prop::collection::vec((0u8..4, any::<bool>(), any::<bool>()), 0..5).prop_map(Any::Answered),
        8 => (0u8..6).prop_map(Any::Finished),
        5 => (0u8..6, any::<bool>()).prop_map(|(id, allow)| Any::Decided(id, allow)),
        2 => Just(Any::TooLong),
        2 => any::<bool>().prop_map(Any::Shortened),
        1 => Just(Any::Failed),
        1 => Just(Any::Cancelled),
        1 => any::<bool>().prop_map(Any::Interrupted),
        2 => Just(Any::Told),
    ]
}

fn input_of(any: &Any) -> Input {
    let id = |id: u8| format!("c{id}");
    match any {
        Any::Answered(calls) => answered(
            calls
                .iter()
                .enumerate()
                .map(|(index, (state, idempotent, concurrent))| {
                    let name = format!("c{index}");
                    let state = match state {
                        0 => CallState::Ready,
                        1 => CallState::Asking {
                            reason: String::new(),
                            form: None,
                            remember: Vec::new(),
                        },
                        2 => CallState::Done { message: ready_message(&name) },
                        _ => CallState::Caller,
                    };
                    let (idempotent, concurrent) = (*idempotent, *concurrent);
                    Call { state, idempotent, concurrent, ..ready(&name) }
                })
                .collect(),
        ),
        Any::Finished(call) => {
            Input::Finished { call: id(*call), message: ready_message(&id(*call)) }
        }
        Any::Decided(call, allow) => decided(&id(*call), *allow),
        Any::TooLong => too_long(),
        Any::Shortened(is_shorter) => Input::Shortened { is_shorter: *is_shorter },
        Any::Failed => Input::Failed(Error::internal("x")),
        Any::Cancelled => Input::Cancelled("x".to_owned()),
        Any::Interrupted(resume) => Input::Interrupted { resume: *resume },
        Any::Told => Input::Told,
    }
}

fn ready_message(id: &str) -> Message {
    Message::tool("x").with_metadata_entry("tool_call_id", id)
}

proptest! {
    #[test]
    fn whatever_happens_every_call_is_answered_once_and_there_is_one_outcome(
        inputs in prop::collection::vec(any_input(), 0..60),
        max_steps in 1u32..6,
    ) {
        let mut turn = turn(max_steps);
        let mut outcome: Option<Outcome> = None;
        let mut settles = 0;
        for any in &inputs {
            let before = turn.clone();
            let interrupted = matches!(any, Any::Interrupted(_));
            let Ok(next) = turn.apply(input_of(any)) else {
                prop_assert_eq!(&turn, &before, "a refusal changes nothing");
                continue;
            };
            // What the calls of the step are, whether it just began or went on.
            let calls: Vec<String> = match any {
                Any::Answered(calls) => {
                    // Those of the caller come last.
                    let mut order: Vec<usize> = (0..calls.len()).collect();
                    order.sort_by_key(|index| calls[*index].0 == 3);
                    order.into_iter().map(|index| format!("c{index}")).collect()
                }
                _ => before.calls().iter().map(|call| call.id.clone()).collect(),
            };
            let closed: Vec<_> = next
                .append
                .iter()
                .map(|message| message.metadata()["tool_call_id"].as_str().unwrap().to_owned())
                .collect();
            let left_tools = turn.calls().is_empty() && !calls.is_empty();
            let handed = turn.caller_calls.iter().map(|call| call.call_id.clone());
            let told: Vec<String> = closed.into_iter().chain(handed).collect();
            prop_assert!(told.is_empty() || left_tools || before.outcome().is_some());
            if left_tools {
                prop_assert_eq!(told, calls);
            }
            for effect in &next.effects {
                match effect {
                    Effect::CallModel => {
                        prop_assert_eq!(&turn.phase, &Phase::Model);
                        let shorter = matches!(any, Any::Shortened(true));
                        prop_assert!(interrupted || left_tools || shorter, "asked once a step");
                    }
                    Effect::Shorten => {
                        let is_due = matches!(turn.phase, Phase::Shortening { .. });
                        prop_assert!(is_due);
                        prop_assert!(interrupted || !before.again.shortened, "once an answer");
                    }
                    Effect::Run(id) => {
                        let now = turn.calls().iter().find(|call| call.id == *id).unwrap();
                        prop_assert_eq!(&now.state, &CallState::Running);
                        let was = before.calls().iter().find(|call| call.id == *id);
                        let again = was.is_some_and(|was| was.state == CallState::Running);
                        prop_assert!(!again || (interrupted && now.idempotent), "run twice");
                    }
                    Effect::Settle => {
                        settles += usize::from(!interrupted || outcome.is_none());
                        prop_assert!(turn.outcome().is_some());
                    }
                }
            }
            // What is stored of a call is written again only when it gets further.
            for (was, now) in before.calls().iter().zip(turn.calls()) {
                let stage = |call: &Call| std::mem::discriminant(&call.state);
                prop_assert!(stage(was) != stage(now) || was == now, "a call changed in secret");
            }
            // Two calls run at once only if both may.
            let running: Vec<_> =
                turn.calls().iter().filter(|call| call.state == CallState::Running).collect();
            prop_assert!(running.len() <= 1 || running.iter().all(|call| call.concurrent));
            // While the turn goes on, something can happen next.
            if let Phase::Tools { calls } = &turn.phase {
                let waits = calls.iter().any(|call| {
                    matches!(call.state, CallState::Running | CallState::Asking { .. })
                });
                prop_assert!(waits, "nothing would ever happen");
            }
            if let Some(outcome) = &outcome {
                prop_assert_eq!(turn.outcome(), Some(outcome), "an outcome stays");
            }
            outcome = turn.outcome().cloned();
            prop_assert!(turn.step <= max_steps);
        }
        prop_assert_eq!(settles, usize::from(outcome.is_some()));
    }
}

fn failed_model(name: &str, models: usize) -> Input {
    let name = ModelName { provider: None, model: Some(name.to_owned()) };
    let error = Error::provider("busy").with_retryable(true);
    Input::ModelFailed { name, error, models }
}

fn unfit() -> Input {
    let unfit = Unfit { text: "no".to_owned(), problems: vec!["bad".to_owned()] };
    Input::Answered { calls: Vec::new(), usage: Map::new(), ending: Ending::Unfit(unfit) }
}

#[test]
fn models_are_asked_round_and_each_once_a_step() {
    let mut turn = turn(9);
    assert_eq!(shown(&turn.apply(failed_model("a", 3)).unwrap()), "ask");
    turn.apply(failed_model("b", 3)).unwrap();
    assert_eq!(turn.again.model, 2);
    // What is stored goes on as it was.
    let mut turn: Turn = serde_json::from_value(serde_json::to_value(&turn).unwrap()).unwrap();
    turn.apply(answered(vec![ready("x")])).unwrap();
    turn.apply(finished("x")).unwrap();
    assert_eq!((turn.again.model, turn.again.failed.len()), (2, 0));
    turn.apply(failed_model("c", 3)).unwrap();
    turn.apply(failed_model("a", 3)).unwrap();
    assert_eq!(turn.again.model, 1);
    assert_eq!(shown(&turn.apply(failed_model("b", 3)).unwrap()), "settle");
    let Some(Outcome::Failed { error }) = turn.outcome() else { panic!("{turn:?}") };
    assert_eq!(error["message"], "busy (other models failed before: c: busy; a: busy)");
    assert_eq!((error["retryable"].clone(), turn.again.model), (json!(true), 2));
    assert_eq!(turn.apply(failed_model("a", 3)).unwrap_err().class(), ErrorClass::BadState);
}

#[test]
fn a_model_that_is_the_only_one_ends_the_turn_with_its_error() {
    let mut turn = turn(9);
    assert_eq!(shown(&turn.apply(failed_model("a", 1)).unwrap()), "settle");
    let Some(Outcome::Failed { error }) = turn.outcome() else { panic!("{turn:?}") };
    assert_eq!(error["message"], "busy");
}

#[test]
fn repairs_and_pauses_are_steps() {
    let mut turn = turn(3);
    turn.again.repairs = 1;
    assert!(turn.may_repair());
    assert_eq!(shown(&turn.apply(unfit()).unwrap()), "ask");
    assert!(turn.again.unfit.is_some() && !turn.may_repair());
    let paused = Input::Answered { calls: Vec::new(), usage: Map::new(), ending: Ending::Paused };
    assert_eq!(shown(&turn.apply(paused.clone()).unwrap()), "ask");
    assert_eq!((turn.step, turn.again.unfit.clone()), (2, None));
    assert_eq!(shown(&turn.clone().apply(paused).unwrap()), "settle");
    assert_eq!(shown(&turn.apply(unfit()).unwrap()), "settle");
    let Some(Outcome::Failed { error }) = turn.outcome() else { panic!("{turn:?}") };
    assert_eq!(error["answer"], "no");
}

fn too_long() -> Input {
    Input::TooLong(Error::provider("too long").with_context_overflow())
}

fn shortened(is_shorter: bool) -> Input {
    Input::Shortened { is_shorter }
}

#[test]
fn a_conversation_that_is_too_long_is_made_shorter_and_sent_again() {
    let mut turn = turn(9);
    check(&mut turn, too_long(), "shorten");
    check_refused(&turn, answered(vec![]), ErrorClass::BadState);
    check(&mut turn, shortened(true), "ask");
    check_refused(&turn, shortened(true), ErrorClass::BadState);
    // The next answer may be too much again.
    check(&mut turn, answered(vec![ready("a")]), "run(a)");
    check_refused(&turn, too_long(), ErrorClass::BadState);
    check(&mut turn, finished("a"), "ask +did a");
    check(&mut turn, too_long(), "shorten");
    check(&mut turn, shortened(true), "ask");
    check(&mut turn, answered(vec![]), "settle");
    assert_eq!((turn.outcome(), turn.step), (Some(&Outcome::Complete), 2));
}

#[test]
fn what_cannot_be_made_short_enough_ends_with_the_error_of_the_server() {
    let mut same = turn(9);
    check(&mut same, too_long(), "shorten");
    check(&mut same, shortened(false), "settle");
    let mut still = turn(9);
    check(&mut still, too_long(), "shorten");
    check(&mut still, shortened(true), "ask");
    check(&mut still, too_long(), "settle");
    for turn in [same, still] {
        let Some(Outcome::Failed { error }) = turn.outcome() else { panic!("{turn:?}") };
        assert_eq!(error["message"], "too long");
        assert_eq!(error["context_overflow"], true);
    }
}

#[test]
fn making_it_shorter_is_taken_up_again_after_a_crash() {
    let mut resumed = turn(9);
    check(&mut resumed, too_long(), "shorten");
    check(&mut resumed, Input::Interrupted { resume: true }, "shorten");
    check(&mut resumed, shortened(true), "ask");
    for input in [Input::Interrupted { resume: false }, Input::Cancelled("x".to_owned())] {
        let mut turn = turn(9);
        check(&mut turn, too_long(), "shorten");
        check(&mut turn, input, "settle");
    }
}
