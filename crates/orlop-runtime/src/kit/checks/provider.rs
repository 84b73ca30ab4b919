//! What a provider owes: messages survive its native form, and its two ways to answer agree.

use super::broken;
use crate::kit::bench::{Bench, Subject};
use crate::kit::examples::Ran;
use crate::kit::report::{Finding, Report, Verdict, short};
use crate::kit::{compare, samples};
use orlop_core::hooks::Kind;
use orlop_core::{Map, Value};
use serde_json::json;

pub(in crate::kit) fn check(
    bench: &mut Bench,
    subjects: &[Subject],
    ran: &[Ran],
    report: &mut Report,
) {
    for subject in subjects.iter().filter(|subject| subject.kind() == Some(Kind::Provider)) {
        let verdict = round_trip(bench, subject);
        report.add(&subject.label, "gives messages back as they were", verdict);
        let verdict = same_answer(bench, subject, ran);
        report.add(&subject.label, "answers the same in one piece and as a stream", verdict);
    }
}

fn round_trip(bench: &mut Bench, subject: &Subject) -> Verdict {
    let (Some(to), Some(from)) =
        (subject.has("to_native_messages"), subject.has("from_native_messages"))
    else {
        return Verdict::skipped("it does not convert both ways");
    };
    let given = Map::from_iter([("native_messages".to_owned(), json!([]))]);
    let native = match bench.effect(subject, to, &samples::args(to, subject, &given)) {
        Ok(native) => native,
        Err(_) => return Verdict::skipped("to_native_messages does not answer"),
    };
    let given = Map::from_iter([
        ("native_messages".to_owned(), native.clone()),
        ("messages".to_owned(), json!([])),
    ]);
    let back = match bench.effect(subject, from, &samples::args(from, subject, &given)) {
        Ok(back) => back,
        Err(_) => return Verdict::skipped("from_native_messages does not answer"),
    };
    let core = |messages: &[Value]| -> Vec<Value> {
        messages.iter().map(|it| json!({"role": it["role"], "content": it["content"]})).collect()
    };
    let empty = Vec::new();
    let back = back.as_array().unwrap_or(&empty);
    if core(back) != core(&samples::messages()) {
        return Finding::new(
            short(&json!(core(back))),
            short(&json!(core(&samples::messages()))),
            "from_native_messages must undo to_native_messages",
        )
        .into();
    }
    let items = native.as_array().map_or(0, Vec::len);
    let fits = |message: &Value| {
        let indices = message["metadata"]["native_indices"].as_array();
        indices.is_some_and(|indices| {
            let mut positions = indices.iter().map(Value::as_u64);
            !indices.is_empty() && positions.all(|at| at.is_some_and(|at| (at as usize) < items))
        })
    };
    match back.iter().find(|message| !fits(message)) {
        None => Verdict::Ok,
        Some(message) => Finding::new(
            format!("metadata {}", short(&message["metadata"])),
            format!("native_indices: the positions of its items, of which there are {items}"),
            "let from_native_messages put {\"native_indices\": [position]} into the metadata of each message",
        )
        .into(),
    }
}

fn same_answer(bench: &mut Bench, subject: &Subject, ran: &[Ran]) -> Verdict {
    let (Some(call), Some(stream)) = (subject.has("call_api"), subject.has("stream_api")) else {
        return Verdict::skipped("it has one of them; Orlop makes the other");
    };
    let mine = |ran: &&Ran| ran.is_good(&subject.label) && (ran.hook == call || ran.hook == stream);
    let Some(example) = ran.iter().find(mine) else {
        return Verdict::skipped("no example asks the model");
    };
    let args = example.args.clone();
    let mut finals = Vec::new();
    for hook in [call, stream] {
        if let Ok(probe) = bench.probe() {
            probe.host = example.answers.clone();
        }
        match bench.effect(subject, hook, &args) {
            Ok(effect) => finals.push(effect["final_messages"].clone()),
            Err(wrong) => return broken(&wrong, "an answer"),
        }
    }
    match compare::same(&finals[0], &finals[1]) {
        true => Verdict::Ok,
        false => Finding::new(
            format!("{} in one piece, {} as a stream", short(&finals[0]), short(&finals[1])),
            "the same final_messages",
            "make both from one function, or leave call_api out: Orlop makes it from the stream",
        )
        .into(),
    }
}
