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
    /// The plugins that ran, which entries name by their place.
    plugins: Vec<Box<str>>,
    last: usize,
    open: Vec<Open>,
    done: Vec<Done>,
    asked: Vec<Asked>,
    /// The action that is about to start, by plugin.
    next: Vec<(String, Box<Action>)>,
}

/// Something that is over. It is written down once it is asked for: a turn has dozens of these and keeps
/// them, as small as they can be, while it waits for its model.
enum Done {
    Hook(Ran),
    Note(Box<Note>),
}

/// A hook that answered or failed, in microseconds since the beginning.
struct Ran {
    plugin: u16,
    hook: Hook,
    action: Option<Box<Action>>,
    start: u64,
    took: u64,
    outcome: Outcome,
}

/// Something that is no hook.
struct Note {
    what: &'static str,
    detail: Value,
    at: Instant,
    took: Duration,
    outcome: &'static str,
}

enum Outcome {
    Unchanged,
    /// JSON.
    Changed(Box<str>),
    Failed(Box<Failure>),
}

struct Failure {
    message: String,
    timed_out: bool,
}

/// Which action a call of `execute_action` runs, and the lifecycle it runs at.
struct Action {
    id: String,
    lifecycle: Option<String>,
}

struct Open {
    plugin: u16,
    hook: Hook,
    at: Instant,
    action: Option<Box<Action>>,
}

/// What a plugin was asked for, as often as it was asked.
struct Asked {
    plugin: u16,
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
        let State { plugins, asked, done, .. } = &mut *locked(&self.state);
        let (asked, done) = (std::mem::take(asked), std::mem::take(done));
        let name = |place: u16| plugins.get(usize::from(place)).map_or("", |name| name);
        let asked = asked.into_iter().map(|asked| {
            let first = micros(asked.first - self.began);
            let mut entry = entry(name(asked.plugin), asked.hook, first, micros(asked.took));
            entry.insert("calls".to_owned(), asked.calls.into());
            entry
        });
        let done = done.into_iter().map(|done| match done {
            Done::Hook(ran) => {
                let name = name(ran.plugin);
                ran.written(name)
            }
            Done::Note(note) => Map::from_iter([
                ("kind".to_owned(), note.what.into()),
                ("detail".to_owned(), note.detail),
                ("start_us".to_owned(), micros(note.at - self.began).into()),
                ("duration_us".to_owned(), micros(note.took).into()),
                ("outcome".to_owned(), note.outcome.into()),
            ]),
        });
        asked.chain(done).collect()
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
        let note = Note { what, detail, at, took, outcome };
        locked(&self.state).done.push(Done::Note(Box::new(note)));
    }
}

/// Entries as lines of JSON.
pub(crate) fn lines_of(trace: &[Map]) -> String {
    let lines: Vec<String> = trace.iter().filter_map(|it| serde_json::to_string(it).ok()).collect();
    lines.join("\n")
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Ran {
    fn written(self, plugin: &str) -> Map {
        let mut entry = entry(plugin, self.hook, self.start, self.took);
        match self.outcome {
            Outcome::Unchanged => {}
            Outcome::Changed(change) => {
                let change = serde_json::from_str(&change).unwrap_or_default();
                entry.insert("change".to_owned(), change);
            }
            Outcome::Failed(failure) => {
                entry.insert("outcome".to_owned(), "error".into());
                entry.insert("change".to_owned(), failure.message.into());
                if failure.timed_out {
                    entry.insert("timed_out".to_owned(), true.into());
                }
            }
        }
        if let Some(action) = self.action {
            entry.insert("action".to_owned(), action.id.into());
            if let Some(lifecycle) = action.lifecycle {
                entry.insert("lifecycle".to_owned(), lifecycle.into());
            }
        }
        entry
    }
}

/// What is written down of a hook that answered and changed nothing.
fn entry(plugin: &str, hook: Hook, start: u64, took: u64) -> Map {
    let spec = hook.spec();
    Map::from_iter([
        ("kind".to_owned(), "hook".into()),
        ("plugin".to_owned(), plugin.into()),
        ("plugin_kind".to_owned(), spec.kind.as_str().into()),
        ("hook".to_owned(), spec.name.into()),
        ("start_us".to_owned(), start.into()),
        ("duration_us".to_owned(), took.into()),
        ("outcome".to_owned(), "ok".into()),
        ("change".to_owned(), Value::Null),
    ])
}

impl Observer for Tracer {
    fn hook(&self, plugin: &str, hook: Hook, event: HookEvent<'_>) {
        if let (HookEvent::Failed(error), Some(watcher)) = (&event, &self.watcher) {
            watcher.hook_failed(plugin, hook.name(), error);
        }
        let mut state = locked(&self.state);
        let place = state.place_of(plugin);
        if let HookEvent::Started = event {
            let runs = matches!(
                hook,
                Hook::ExtensionExecuteAction
                    | Hook::FeatureExecuteAction
                    | Hook::ApplicationExecuteAction
            );
            let next = state.next.iter().position(|(held, _)| runs && held == plugin);
            let action = next.map(|next| state.next.swap_remove(next).1);
            state.open.push(Open { plugin: place, hook, at: Instant::now(), action });
            return;
        }
        let open = state.open.iter().rposition(|open| open.plugin == place && open.hook == hook);
        let Open { at, action, .. } = match open.map(|open| state.open.swap_remove(open)) {
            Some(open) => open,
            None => Open { plugin: place, hook, at: Instant::now(), action: None },
        };
        let took = at.elapsed();
        let outcome = match event {
            HookEvent::Started => return,
            HookEvent::Answered(_) if hook.asks_only() => {
                return state.asked(place, hook, at, took);
            }
            HookEvent::Answered(outcome) => match summary(&outcome.to_json()) {
                Some(change) => Outcome::Changed(change.into_boxed_str()),
                None => Outcome::Unchanged,
            },
            HookEvent::Failed(error) => {
                let failure = Failure { message: error.to_string(), timed_out: error.is_timeout() };
                Outcome::Failed(Box::new(failure))
            }
        };
        let (start, took) = (micros(at - self.began), micros(took));
        state.done.push(Done::Hook(Ran { plugin: place, hook, action, start, took, outcome }));
    }

    fn action(&self, plugin: &str, action: &str, lifecycle: Option<&str>) {
        let lifecycle = lifecycle.map(str::to_owned);
        let action = Box::new(Action { id: action.to_owned(), lifecycle });
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
    fn place_of(&mut self, plugin: &str) -> u16 {
        // They run in order, so that it is the last one or the one behind it.
        let count = self.plugins.len();
        let mut places = (0..count).map(|step| (self.last + step) % count);
        let known = places.find(|place| &*self.plugins[*place] == plugin);
        self.last = known.unwrap_or_else(|| {
            self.plugins.push(plugin.into());
            count
        });
        u16::try_from(self.last).unwrap_or(u16::MAX)
    }

    fn asked(&mut self, plugin: u16, hook: Hook, at: Instant, took: Duration) {
        let same = |asked: &&mut Asked| asked.hook == hook && asked.plugin == plugin;
        match self.asked.iter_mut().find(same) {
            Some(asked) => {
                asked.took += took;
                asked.calls += 1;
            }
            None => self.asked.push(Asked { plugin, hook, first: at, took, calls: 1 }),
        }
    }
}

/// What a hook changed, short: the outcome itself, or how large it is. `None` if it changed nothing.
fn summary(value: &Value) -> Option<String> {
    let nothing = match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(|value| {
            value.is_null() || value == "keep" || value.as_array().is_some_and(Vec::is_empty)
        }),
        Value::String(text) => text.is_empty() || text == "keep" || text == "allow",
        _ => false,
    };
    if nothing {
        return None;
    }
    let text = value.to_string();
    if text.len() <= KEPT {
        return Some(text);
    }
    let end = (0..=KEPT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    Some(json!({ "bytes": text.len(), "begins": text[..end] }).to_string())
}
