//! A process that hangs, crashes, floods or talks nonsense: the host makes one failure of it, as the
//! hook table and the package declare, and the next call works.

use crate::description::Described;
use crate::kit::bench::{Bench, Subject};
use crate::kit::report::{Finding, Report, Verdict};
use crate::kit::saboteur::{Fault, Saboteur};
use crate::kit::samples;
use crate::launch::Launch;
use crate::plugin::ProcessPlugin;
use crate::process::Process;
use orlop_core::hooks::*;
use orlop_core::{
    ActionDefinition, Answer, Change, Error, Extension, Map, NativeItem, Registered, Result, Value,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;

/// How long an answer is waited for that never comes, and any other, in milliseconds.
const NEVER_MS: u64 = 1_000;
const LIMIT_MS: u64 = 10_000;
/// How often the call after a hang is tried: its limit is short for a busy machine.
const TRIES: usize = 5;

/// How long the end of a process is waited for.
const LONG: Duration = Duration::from_secs(10);

/// Hooks that do nothing in the world and can be asked without a session. The first of a plugin that
/// answers is spoilt.
const QUIET: &[&str] = &[
    "get_tags",
    "get_tool_schemas",
    "get_actions",
    "get_ui_elements",
    "context_providers",
    "before_tool_call",
    "process_chunk",
    "to_native_messages",
    "initialize_request",
    "intercept_chat_request",
];

pub(in crate::kit) fn check(bench: &mut Bench, subjects: &[Subject], report: &mut Report) {
    for subject in subjects {
        let mut quiet = QUIET.iter().filter_map(|name| subject.has(name));
        let Some(hook) = quiet.find(|hook| bench.answers(subject, *hook)) else {
            let why = "it has no hook that can be called without an example and answers";
            report.add(&subject.label, "survives faults as declared", Verdict::skipped(why));
            continue;
        };
        let counts = !subject.described.manifest(bench.package()).goes_on_without(hook);
        let (launch, runtime) = (bench.launch(), &tokio::runtime::Handle::current());
        // Each has a process of its own, so that they need not wait for each other.
        let verdicts = std::thread::scope(|scope| {
            let checks = Fault::ALL.map(|fault| {
                scope.spawn(move || {
                    let _runtime = runtime.enter();
                    spoilt(launch, subject, hook, fault, counts)
                })
            });
            checks.map(|check| check.join().unwrap_or_else(|_| lost()))
        });
        for (fault, verdict) in Fault::ALL.into_iter().zip(verdicts) {
            let name = format!("{} {}", in_words(hook, fault), outcome_in_words(counts));
            report.add(&subject.label, name, verdict);
        }
    }
}

fn lost() -> Verdict {
    Finding::new("the check panicked", "a verdict", "this is a defect of Orlop: report it").into()
}

fn in_words(hook: Hook, fault: Fault) -> String {
    let hook = hook.name();
    match fault {
        Fault::Hang => format!("{hook} that hangs"),
        Fault::Crash => format!("a crash in {hook}"),
        Fault::Flood => format!("{hook} that floods"),
        Fault::Noise => format!("{hook} that answers noise"),
        Fault::Nonsense => format!("{hook} that answers nonsense"),
    }
}

fn outcome_in_words(counts: bool) -> &'static str {
    match counts {
        true => "fails that call and no other",
        false => "is left out of that call and no other",
    }
}

/// Asks twice, and spoils the first answer.
fn spoilt(launch: &Launch, subject: &Subject, hook: Hook, fault: Fault, counts: bool) -> Verdict {
    let saboteur = Saboteur::default();
    let mut launch = launch.clone();
    let longest = if fault == Fault::Hang { NEVER_MS } else { LIMIT_MS };
    let limit = launch.package.limits.timeout_ms.unwrap_or(longest).min(longest);
    launch.package.limits.timeout_ms = Some(limit);
    let process = Process::through(launch, saboteur.between());
    let plugin = ProcessPlugin::new(&process, subject.described.clone(), Vec::new());
    let runtime = tokio::runtime::Handle::current();
    let seen = runtime.block_on(async {
        // It is there before anything happens to it.
        process.peer().await?;
        saboteur.spoil(fault);
        let first = ask(&plugin, subject, hook).await;
        if fault.ends_it() {
            // On a busy machine the limit may be over before all of a flood was heard.
            let is_gone = async {
                while process.running().is_some() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let _ = tokio::time::timeout(LONG, is_gone).await;
        }
        let mut second = ask(&plugin, subject, hook).await;
        for _ in 1..TRIES {
            if fault == Fault::Hang && second.is_err() {
                second = ask(&plugin, subject, hook).await;
            }
        }
        Ok::<_, Error>((first, second))
    });
    runtime.block_on(process.stop());
    let (first, second) = match seen {
        Ok(both) => both,
        Err(error) => {
            return Finding::new(error.message(), "that it starts", "let it start again and again")
                .into();
        }
    };
    let held = match &first {
        Err(error) => counts && error.plugin_name() == Some(&subject.described.name),
        Ok(()) => !counts,
    };
    if !held || !saboteur.is_done() {
        let seen = first.map_or_else(|error| error.to_string(), |()| "no failure".to_owned());
        let expected = match counts {
            true => "one error that names the plugin, as the hook table or limits.on_failure says",
            false => "that the hook is left out, as the hook table says",
        };
        return Finding::new(seen, expected, "this is a defect of Orlop: report it").into();
    }
    match second {
        Ok(()) => Verdict::Ok,
        Err(error) => Finding::new(
            format!("the call after it gave {error}"),
            "that the next call works, with a new process where the old one is gone",
            "keep what must survive in the data folder or with set_state, and answer soon",
        )
        .into(),
    }
}

/// Asks a hook as the host does, its failure rule included.
async fn ask(plugin: &ProcessPlugin, subject: &Subject, hook: Hook) -> Result<()> {
    let args = samples::args(hook, subject, &Map::new());
    match (hook.name(), subject.kind()) {
        ("process_chunk", _) => chunk(plugin.clone(), args).await,
        ("get_tags" | "context_providers", _) => {
            asked::<Vec<String>>(plugin, subject, hook, args).await
        }
        ("get_tool_schemas", _) => asked::<Vec<Map>>(plugin, subject, hook, args).await,
        ("get_actions", _) => asked::<Vec<ActionDefinition>>(plugin, subject, hook, args).await,
        ("before_tool_call", _) => asked::<ToolGate>(plugin, subject, hook, args).await,
        ("to_native_messages", Some(Kind::Provider)) => {
            asked::<Vec<NativeItem>>(plugin, subject, hook, args).await
        }
        ("to_native_messages", _) => asked::<Change<NativeItem>>(plugin, subject, hook, args).await,
        ("initialize_request", _) => asked::<RequestChange>(plugin, subject, hook, args).await,
        ("intercept_chat_request", _) => {
            asked::<Option<Interception>>(plugin, subject, hook, args).await
        }
        _ => asked::<Vec<Value>>(plugin, subject, hook, args).await,
    }
}

async fn asked<T: DeserializeOwned + Default + Serialize + Send + 'static>(
    plugin: &ProcessPlugin,
    subject: &Subject,
    hook: Hook,
    args: Map,
) -> Result<()> {
    let manifest = Plugin::manifest(plugin);
    let registered = Registered { manifest, plugin: Arc::new(plugin.clone()) };
    let args = samples::crossing(&subject.described, hook, &args);
    let Value::Object(args) = args else { return Err(Error::internal("arguments are a mapping")) };
    let args = &args;
    let ask = |plugin: &'_ ProcessPlugin| {
        let plugin = plugin.clone();
        let args = args.clone();
        Answer::later(async move { plugin.ask_in::<T>(hook, &args, None).await })
    };
    Runner::default().call(&registered, hook, ask).await.map(drop)
}

/// Chunks have their own way to the process, which knows the rule.
async fn chunk(plugin: ProcessPlugin, args: Map) -> Result<()> {
    let chunk: Chunk = serde_json::from_value(args["chunk"].clone()).unwrap_or_default();
    let name = Plugin::manifest(&plugin).name;
    match plugin.process_chunk_later(&State::default(), &chunk) {
        Some(later) => {
            let changed = later.await;
            changed.map(drop).map_err(|error| error.in_hook(&name, "process_chunk"))
        }
        None => Ok(()),
    }
}
