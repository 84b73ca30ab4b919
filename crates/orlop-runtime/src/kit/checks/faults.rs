//! What the host may do to a process, and what others may send it: it stays in service.

use crate::description::Described;
use crate::kit::bench::{Bench, Subject, params};
use crate::kit::examples::Ran;
use crate::kit::probe::{Probe, Wrong};
use crate::kit::report::{Finding, Report, Verdict};
use crate::kit::samples;
use orlop_core::hooks::Hook;
use orlop_core::{Map, Value};
use serde_json::json;
use std::time::Duration;

/// What is answered without thinking is answered within this time.
const SOON: Duration = Duration::from_secs(5);
/// After `cancel` the host waits so long.
const GRACE: Duration = Duration::from_secs(2);
const BIG: usize = 4 << 20;
const LONG: usize = 10_000;

type Fault = fn(&mut Probe) -> Result<(), Finding>;

pub(in crate::kit) fn check(
    bench: &mut Bench,
    subjects: &[Subject],
    ran: &[Ran],
    report: &mut Report,
) {
    let faults: &[(&str, Fault)] = &[
        ("answers a ping", |probe| ping(probe, &json!({}))),
        ("refuses methods it does not know", unknown_method),
        ("refuses hooks and plugins it does not know", unknown_hook),
        ("passes over lines that are no messages", garbage),
        ("passes over notifications and answers nobody waits for", stray),
        ("takes a line of 4 MiB", |probe| ping(probe, &json!({"pad": "x".repeat(BIG)}))),
    ];
    for (name, fault) in faults {
        report.add("package", *name, on_probe(bench, *fault));
    }
    for subject in subjects {
        let Some((hook, args, context)) = harmless(bench, subject, ran) else {
            report.add(
                &subject.label,
                "takes calls at once",
                Verdict::skipped("no hook that can be called for it answers"),
            );
            continue;
        };
        let call = params(subject, hook, &args, &context);
        let limit = bench.limit(hook);
        let verdict = on_probe(bench, |probe| at_once(probe, &call, limit));
        report.add(&subject.label, "takes calls at once", verdict);
        let (hook, args, context, answers) =
            laborious(bench, subject, ran).unwrap_or((hook, args, context, Map::new()));
        let call = params(subject, hook, &args, &context);
        let verdict = on_probe(bench, |probe| {
            probe.host = answers.clone();
            cancelled(probe, &call)
        });
        report.add(&subject.label, "answers soon after it was cancelled", verdict);
        if let Some((hook, args)) = historical(subject) {
            if !bench.answers(subject, hook) {
                let why = format!("{} does not answer", hook.name());
                report.add(&subject.label, "takes a long history", Verdict::skipped(why));
                continue;
            }
            let verdict = on_probe(bench, |probe| differences(probe, subject, hook, &args));
            report.add(&subject.label, "takes history as differences", verdict);
            let verdict = on_probe(bench, |probe| long(probe, subject, hook, &args));
            report.add(&subject.label, "takes a history of 10,000 items", verdict);
        }
    }
}

/// Does something to the process and sees whether it is in service afterwards.
fn on_probe(bench: &mut Bench, fault: impl FnOnce(&mut Probe) -> Result<(), Finding>) -> Verdict {
    let done = match bench.probe() {
        Ok(probe) => {
            let done = fault(probe).and_then(|()| ping(probe, &json!({})));
            probe.host = Map::new();
            done
        }
        Err(wrong) => Err(Finding::new(wrong.to_string(), "a process", wrong.fix())),
    };
    match done {
        Ok(()) => Verdict::Ok,
        Err(finding) => {
            bench.restart();
            finding.into()
        }
    }
}

fn ping(probe: &mut Probe, params: &Value) -> Result<(), Finding> {
    match probe.ask("ping", params, SOON) {
        Ok(_) => Ok(()),
        Err(wrong) => Err(Finding::new(
            format!("a ping gave {wrong}"),
            "that it stays in service and answers {} to a ping",
            "keep reading lines whatever came before, and answer `ping` with {}",
        )),
    }
}

fn refused(answer: Result<crate::kit::probe::Answered, Wrong>, what: &str) -> Result<(), Finding> {
    match answer {
        Err(Wrong::Refused { .. }) => Ok(()),
        Ok(answered) => Err(Finding::new(
            format!("{what} was answered with {}", answered.outcome),
            "a JSON-RPC error",
            "answer with an error, code -32601",
        )),
        Err(wrong) => Err(Finding::new(
            format!("{what} gave {wrong}"),
            "a JSON-RPC error",
            "answer every request, with an error where it makes no sense",
        )),
    }
}

fn unknown_method(probe: &mut Probe) -> Result<(), Finding> {
    refused(probe.ask("no_such_method", &json!({}), SOON), "an unknown method")
}

fn unknown_hook(probe: &mut Probe) -> Result<(), Finding> {
    let call = json!({"plugin": "no_such_plugin", "kind": "tool", "hook": "no_such_hook", "args": {}, "context": {}});
    refused(probe.ask("hook", &call, SOON), "an unknown hook")
}

fn garbage(probe: &mut Probe) -> Result<(), Finding> {
    for line in
        ["", "this is no JSON", "{\"jsonrpc\": \"2.0\", \"id\"", "[1, 2, 3]", "null", "\u{fffd}{}"]
    {
        probe.write(line);
    }
    Ok(())
}

fn stray(probe: &mut Probe) -> Result<(), Finding> {
    probe.notify("no_such_notification", &json!({}));
    probe.notify("cancel", &json!({"call": 9_999_999}));
    probe.write(&json!({"jsonrpc": "2.0", "id": "p999999", "result": null}).to_string());
    Ok(())
}

fn at_once(probe: &mut Probe, call: &Value, limit: Duration) -> Result<(), Finding> {
    let ids: Vec<u64> = (0..8).map(|_| probe.request("hook", call)).collect();
    for id in ids.into_iter().rev() {
        match probe.answer(id, limit) {
            Ok(_) | Err(Wrong::Refused { .. }) => {}
            Err(wrong) => {
                return Err(Finding::new(
                    format!("one of 8 calls at once gave {wrong}"),
                    "an answer to each, with the id of its request",
                    "share nothing between calls that two of them cannot use at the same time",
                ));
            }
        }
    }
    Ok(())
}

fn cancelled(probe: &mut Probe, call: &Value) -> Result<(), Finding> {
    let id = probe.request("hook", call);
    probe.notify("cancel", &json!({"call": id}));
    match probe.answer(id, GRACE) {
        Ok(_) | Err(Wrong::Refused { .. }) => Ok(()),
        Err(wrong) => Err(Finding::new(
            wrong.to_string(),
            "any answer within 2 s after `cancel`",
            "look from time to time whether the call is cancelled (Python: orlop.current().cancelled, JavaScript: call.signal)",
        )),
    }
}

/// The same list whole, and as two messages that build on each other.
fn differences(
    probe: &mut Probe,
    subject: &Subject,
    hook: Hook,
    args: &Map,
) -> Result<(), Finding> {
    let failed = |wrong: Wrong| Finding::new(wrong.to_string(), "an answer", wrong.fix());
    let whole = params(subject, hook, args, &Map::new());
    let expected = probe.ask("hook", &whole, SOON).map_err(failed)?.outcome;
    let items = args["native_messages"].as_array().cloned().unwrap_or_default();
    let mut last = Value::Null;
    for (keep, items) in [(0, &items[..1]), (1, &items[1..])] {
        let mut call = whole.clone();
        call["args"]["native_messages"] =
            json!({"$list": {"slot": 63, "keep": keep, "items": items}});
        last = probe.ask("hook", &call, SOON).map_err(failed)?.outcome;
    }
    match last == expected {
        true => Ok(()),
        false => Err(Finding::new(
            format!("{last} for a list in two pieces"),
            format!("{expected}, as for the same list in one piece"),
            "keep what a slot holds between calls: the first `keep` items, then those that came",
        )),
    }
}

fn long(probe: &mut Probe, subject: &Subject, hook: Hook, args: &Map) -> Result<(), Finding> {
    let item = args["native_messages"][0].clone();
    let mut args = args.clone();
    args.insert("native_messages".to_owned(), Value::Array(vec![item; LONG]));
    let call = params(subject, hook, &args, &Map::new());
    match probe.ask("hook", &call, Duration::from_secs(30)) {
        Ok(_) => Ok(()),
        Err(wrong) => Err(Finding::new(
            format!("{} gave {wrong}", hook.name()),
            "an answer within 30 s",
            "do not go through all of the history; `history` of the plugin says how much of it a hook wants",
        )),
    }
}

/// A call that does nothing in the world.
fn harmless(bench: &mut Bench, subject: &Subject, ran: &[Ran]) -> Option<(Hook, Map, Map)> {
    let quiet = [
        "get_tags",
        "get_tool_schemas",
        "get_actions",
        "is_enabled",
        "get_ui_elements",
        "process_chunk",
        "context_providers",
        "before_tool_call",
        "to_native_messages",
        "initialize_request",
        "intercept_chat_request",
        "init",
    ];
    let mut hooks = quiet.iter().filter_map(|name| subject.has(name));
    let found = hooks.find(|hook| bench.answers(subject, *hook));
    if let Some(hook) = found {
        return Some((hook, samples::args(hook, subject, &Map::new()), Map::new()));
    }
    let ran =
        ran.iter().find(|ran| ran.label == subject.label && !bench.failed(subject, ran.hook))?;
    Some((ran.hook, ran.args.clone(), ran.context.clone()))
}

/// A call of an example: what may take its time.
fn laborious(bench: &Bench, subject: &Subject, ran: &[Ran]) -> Option<(Hook, Map, Map, Map)> {
    let works =
        |hook: Hook| super::answers::BY_EXAMPLE.contains(&hook) && !bench.failed(subject, hook);
    let ran = ran.iter().find(|ran| ran.label == subject.label && works(ran.hook))?;
    Some((ran.hook, ran.args.clone(), ran.context.clone(), ran.answers.clone()))
}

/// A hook that gets the whole history, with its input.
fn historical(subject: &Subject) -> Option<(Hook, Map)> {
    let hook = ["initialize_request", "to_native_messages", "from_native_messages"]
        .iter()
        .find_map(|name| subject.has(name))?;
    let wanted = subject.described.wanted(hook);
    if wanted.is_some_and(|wanted| wanted != orlop_core::types::protocol::Wanted::Full) {
        return None;
    }
    let args = samples::args(hook, subject, &Map::new());
    args["native_messages"].as_array().is_some_and(|items| items.len() > 1).then_some((hook, args))
}
