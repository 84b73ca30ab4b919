//! The same input gives the same answer, and what may run twice changes nothing the second time.

use crate::kit::bench::{Bench, Subject};
use crate::kit::examples::Ran;
use crate::kit::report::{Finding, Report, Verdict, short};
use crate::kit::{compare, effect, samples};
use orlop_core::hooks::{Hook, Kind};
use orlop_core::types::ActionDefinition;
use orlop_core::{Map, Value};
use serde_json::json;

/// Hooks whose answers are kept, compared or asked for again.
const STEADY: &[Hook] = &[
    Hook::GetTags,
    Hook::IsEnabled,
    Hook::ProviderToNative,
    Hook::ProviderFromNative,
    Hook::ExtensionToNative,
    Hook::ExtensionFromNative,
    Hook::FeatureToNative,
    Hook::FeatureFromNative,
    Hook::ExtensionGetActions,
    Hook::FeatureGetActions,
    Hook::ApplicationGetActions,
    Hook::FilterTools,
    Hook::GetTemplate,
    Hook::GetToolSchemas,
    Hook::FormatToolCallPreview,
];

pub(in crate::kit) fn check(
    bench: &mut Bench,
    subjects: &[Subject],
    ran: &[Ran],
    report: &mut Report,
) {
    for subject in subjects {
        for hook in subject.hooks().into_iter().filter(|hook| STEADY.contains(hook)) {
            if let Some(verdict) = is_steady(bench, subject, hook, ran) {
                let name = format!("{} answers the same each time", hook.name());
                report.add(&subject.label, name, verdict);
            }
        }
        if let Some(hook) = subject.has("initialize_request") {
            let verdict = request_is_idempotent(bench, subject, hook, ran);
            report.add(
                &subject.label,
                "initialize_request changes nothing the second time",
                verdict,
            );
        }
        let triggered = subject.actions.iter().filter(|action| !action.lifecycles().is_empty());
        for action in triggered {
            let name = format!("action {} changes nothing the second time", action.id);
            report.add(&subject.label, name, action_is_idempotent(bench, subject, action, ran));
        }
    }
}

fn is_steady(bench: &mut Bench, subject: &Subject, hook: Hook, ran: &[Ran]) -> Option<Verdict> {
    let args = match hook {
        Hook::FormatToolCallPreview => {
            let example = ran.iter().find(|ran| {
                ran.is_good(&subject.label)
                    && matches!(ran.hook, Hook::ExecuteTool | Hook::StreamTool)
            })?;
            example.args.clone()
        }
        _ => args_of(subject, hook, ran),
    };
    let first = bench.effect(subject, hook, &args);
    let second = bench.effect(subject, hook, &args);
    // An answer that is none is told elsewhere.
    let (Ok(first), Ok(second)) = (first, second) else { return None };
    Some(match compare::difference(&first, &second) {
        None => Verdict::Ok,
        Some((_, one, other)) => Finding::new(
            format!("{}, and then {}", short(one), short(other)),
            "the same answer to the same input",
            "let the answer depend on the input alone: no time, no chance, no counters, no order of a set",
        )
        .into(),
    })
}

fn args_of(subject: &Subject, hook: Hook, ran: &[Ran]) -> Map {
    let example = ran.iter().find(|ran| ran.is_good(&subject.label) && ran.hook == hook);
    example.map_or_else(|| samples::args(hook, subject, &Map::new()), |ran| ran.args.clone())
}

fn request_is_idempotent(bench: &mut Bench, subject: &Subject, hook: Hook, ran: &[Ran]) -> Verdict {
    let mut args = args_of(subject, hook, ran);
    let Ok(first) = bench.effect(subject, hook, &args) else {
        return Verdict::skipped("it does not answer");
    };
    for key in ["native_messages", "state"] {
        args.insert(key.to_owned(), first[key].clone());
    }
    let Ok(second) = bench.effect(subject, hook, &args) else {
        return Verdict::skipped("it does not answer the second time");
    };
    twice(&first, &second)
}

fn twice(first: &Value, second: &Value) -> Verdict {
    match compare::difference(first, second) {
        None => Verdict::Ok,
        Some((place, one, other)) => Finding::new(
            format!("{place} is {} after the first run, {} after the second", short(one), short(other)),
            "that a second run on its own result changes nothing",
            "look first whether it is done already: requests are repeated, and lifecycles run again",
        )
        .into(),
    }
}

fn action_is_idempotent(
    bench: &mut Bench,
    subject: &Subject,
    action: &ActionDefinition,
    ran: &[Ran],
) -> Verdict {
    let Some(hook) = subject.has("execute_action") else {
        return Verdict::skipped("it has no execute_action");
    };
    let example = ran.iter().find(|ran| {
        ran.is_good(&subject.label)
            && ran.hook == hook
            && ran.args["action_id"] == action.id.as_str()
    });
    let (mut args, mut context, answers) = match example {
        Some(ran) => (ran.args.clone(), ran.context.clone(), ran.answers.clone()),
        None => {
            let Ok(params) = action.validate(&Map::new()) else {
                return Verdict::skipped("it needs inputs, and no example runs it");
            };
            let given = Map::from_iter([
                ("action_id".to_owned(), json!(action.id)),
                ("params".to_owned(), Value::Object(params)),
            ]);
            (samples::args(hook, subject, &given), Map::new(), Map::new())
        }
    };
    let lifecycle = action.lifecycles().first().map(|name| (*name).to_owned());
    context.entry("lifecycle").or_insert(json!(lifecycle));
    let is_application = subject.kind() == Some(Kind::Application);
    let mut session = match is_application {
        true => context.get("session").cloned(),
        false => args.get("session").cloned(),
    };
    let mut after = Vec::new();
    for _ in 0..2 {
        if let Ok(probe) = bench.probe() {
            probe.host = answers.clone();
        }
        let held = session.unwrap_or_else(|| samples::session(samples::messages(), Map::new()));
        match is_application {
            true => context.insert("session".to_owned(), held.clone()),
            false => args.insert("session".to_owned(), held.clone()),
        };
        let done = bench.ask(subject, hook, &args, &context);
        let done = done.and_then(|answered| {
            effect::of(hook, &args, &answered).map_err(crate::kit::probe::Wrong::Unfit)
        });
        let effect = match done {
            Ok(effect) => effect,
            Err(wrong) => {
                return Verdict::skipped(format!("it needs an example to run: {wrong}"));
            }
        };
        let held = effect::session_after(&held, &effect);
        let native = effect["native_messages"].clone();
        if native.is_array() {
            args.insert("native_messages".to_owned(), native.clone());
        }
        after.push(json!({"native_messages": native, "metadata": held["metadata"]}));
        session = Some(held);
    }
    twice(&after[0], &after[1])
}
