//! The trace of a request: which hook of which plugin ran, how long, and what it changed.

use crate::lock::locked;
use crate::watch::Watcher;
use orlop_core::hooks::{Hook, HookEvent, Observer};
use orlop_core::{Map, Value};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// How much of an outcome is kept, in bytes of JSON.
const KEPT: usize = 2_048;

/// Collects what hooks do while a request runs.
pub(crate) struct Tracer {
    began: Instant,
    /// The same moment by the clock on the wall.
    pub(crate) began_at: SystemTime,
    watcher: Option<Arc<dyn Watcher>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Vec<Open>,
    done: Vec<Done>,
    asked: Vec<Asked>,
    /// The action that is about to start, by plugin.
    next: Vec<(String, Action)>,
}

/// Something that is over. It is written down once it is asked for: a turn has dozens of these and keeps
/// them while it waits for its model.
enum Done {
    Hook(Box<Ran>),
    Note { what: &'static str, detail: Value, at: Instant, took: Duration, outcome: &'static str },
}

/// A hook that answered or failed.
struct Ran {
    open: Open,
    took: Duration,
    outcome: Outcome,
}

enum Outcome {
    Changed(Value),
    Failed { message: String, timed_out: bool },
}

/// Which action a call of `execute_action` runs, and the lifecycle it runs at.
struct Action {
    id: String,
    lifecycle: Option<String>,
}

struct Open {
    plugin: String,
    hook: Hook,
    at: Instant,
    action: Option<Action>,
}

/// What a plugin was asked for, as often as it was asked.
struct Asked {
    plugin: String,
    hook: Hook,
    first: Instant,
    took: Duration,
    calls: usize,
}

impl Tracer {
    pub(crate) fn new(watcher: Option<Arc<dyn Watcher>>) -> Self {
        Self {
            began: Instant::now(),
            began_at: SystemTime::now(),
            watcher,
            state: Mutex::default(),
        }
    }

    /// How long the request has been under way here.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// What has been collected since the last time.
    pub(crate) fn take(&self) -> Vec<Map> {
        let State { asked, done, .. } = &mut *locked(&self.state);
        let (asked, done) = (std::mem::take(asked), std::mem::take(done));
        let asked = asked.into_iter().map(|asked| {
            let mut entry = self.entry(&asked.plugin, asked.hook, asked.first, asked.took);
            entry.insert("calls".to_owned(), asked.calls.into());
            entry
        });
        let done = done.into_iter().map(|done| match done {
            Done::Hook(ran) => self.ran(*ran),
            Done::Note { what, detail, at, took, outcome } => Map::from_iter([
                ("kind".to_owned(), what.into()),
                ("detail".to_owned(), detail),
                ("start_us".to_owned(), micros(at - self.began).into()),
                ("duration_us".to_owned(), micros(took).into()),
                ("outcome".to_owned(), outcome.into()),
            ]),
        });
        asked.chain(done).collect()
    }

    fn ran(&self, Ran { open, took, outcome }: Ran) -> Map {
        let mut entry = self.entry(&open.plugin, open.hook, open.at, took);
        match outcome {
            Outcome::Changed(change) => drop(entry.insert("change".to_owned(), change)),
            Outcome::Failed { message, timed_out } => {
                entry.insert("outcome".to_owned(), "error".into());
                entry.insert("change".to_owned(), message.into());
                if timed_out {
                    entry.insert("timed_out".to_owned(), true.into());
                }
            }
        }
        if let Some(action) = open.action {
            entry.insert("action".to_owned(), action.id.into());
            if let Some(lifecycle) = action.lifecycle {
                entry.insert("lifecycle".to_owned(), lifecycle.into());
            }
        }
        entry
    }

    /// What is written down of a hook that answered and changed nothing.
    fn entry(&self, plugin: &str, hook: Hook, at: Instant, took: Duration) -> Map {
        let spec = hook.spec();
        Map::from_iter([
            ("kind".to_owned(), "hook".into()),
            ("plugin".to_owned(), plugin.into()),
            ("plugin_kind".to_owned(), spec.kind.as_str().into()),
            ("hook".to_owned(), spec.name.into()),
            ("start_us".to_owned(), micros(at - self.began).into()),
            ("duration_us".to_owned(), micros(took).into()),
            ("outcome".to_owned(), "ok".into()),
            ("change".to_owned(), Value::Null),
        ])
    }

    /// Adds something that is no hook of the table: a model call, a tool run, a lifecycle.
    pub(crate) fn note(
        &self,
        what: &'static str,
        detail: Value,
        at: Instant,
        outcome: &'static str,
    ) {
        let took = at.elapsed();
        locked(&self.state).done.push(Done::Note { what, detail, at, took, outcome });
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Observer for Tracer {
    fn hook(&self, plugin: &str, hook: Hook, event: HookEvent<'_>) {
        if let (HookEvent::Failed(error), Some(watcher)) = (&event, &self.watcher) {
            watcher.hook_failed(plugin, hook.name(), error);
        }
        let mut state = locked(&self.state);
        if let HookEvent::Started = event {
            let runs = matches!(
                hook,
                Hook::ExtensionExecuteAction
                    | Hook::FeatureExecuteAction
                    | Hook::ApplicationExecuteAction
            );
            let next = state.next.iter().position(|(held, _)| runs && held == plugin);
            let action = next.map(|place| state.next.swap_remove(place).1);
            state.open.push(Open { plugin: plugin.to_owned(), hook, at: Instant::now(), action });
            return;
        }
        let place = state.open.iter().rposition(|open| open.plugin == plugin && open.hook == hook);
        let open = match place.map(|place| state.open.swap_remove(place)) {
            Some(open) => open,
            None => Open { plugin: plugin.to_owned(), hook, at: Instant::now(), action: None },
        };
        let took = open.at.elapsed();
        let outcome = match event {
            HookEvent::Started => return,
            HookEvent::Answered(_) if hook.asks_only() => {
                return state.asked(plugin, hook, open.at, took);
            }
            HookEvent::Answered(outcome) => Outcome::Changed(summary(outcome.to_json())),
            HookEvent::Failed(error) => {
                Outcome::Failed { message: error.to_string(), timed_out: error.is_timeout() }
            }
        };
        state.done.push(Done::Hook(Box::new(Ran { open, took, outcome })));
    }

    fn action(&self, plugin: &str, action: &str, lifecycle: Option<&str>) {
        let action = Action { id: action.to_owned(), lifecycle: lifecycle.map(str::to_owned) };
        let mut state = locked(&self.state);
        state.next.retain(|(held, _)| held != plugin);
        state.next.push((plugin.to_owned(), action));
    }

    fn refused(&self, plugin: &str, action: &str, why: &str) {
        let detail = json!({ "plugin": plugin, "action": action, "why": why });
        self.note("action_refused", detail, Instant::now(), "error");
    }

    fn lifecycle(&self, lifecycle: &str) {
        self.note("lifecycle", lifecycle.into(), Instant::now(), "ok");
    }
}

impl State {
    fn asked(&mut self, plugin: &str, hook: Hook, at: Instant, took: Duration) {
        let same = |asked: &&mut Asked| asked.hook == hook && asked.plugin == plugin;
        match self.asked.iter_mut().find(same) {
            Some(asked) => {
                asked.took += took;
                asked.calls += 1;
            }
            None => {
                let plugin = plugin.to_owned();
                self.asked.push(Asked { plugin, hook, first: at, took, calls: 1 });
            }
        }
    }
}

/// What a hook changed, short: the outcome itself, or how large it is.
fn summary(value: Value) -> Value {
    let nothing = match &value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(|value| {
            value.is_null() || value == "keep" || value.as_array().is_some_and(Vec::is_empty)
        }),
        Value::String(text) => text.is_empty() || text == "keep" || text == "allow",
        _ => false,
    };
    if nothing {
        return Value::Null;
    }
    let text = value.to_string();
    if text.len() <= KEPT {
        return value;
    }
    let end = (0..=KEPT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    json!({ "bytes": text.len(), "begins": text[..end] })
}
