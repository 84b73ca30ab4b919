//! The trace of a request: which hook of which plugin ran, how long, and what it changed.

use crate::lock::locked;
use crate::watch::Watcher;
use orlop_core::Value;
use orlop_core::hooks::{Hook, HookEvent, Observer};
use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// How much of an outcome is kept, in bytes of JSON.
const KEPT: usize = 2_048;

/// Something that ran in a request. As JSON it is a line of the trace that is stored.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Traced {
    /// A hook of a plugin.
    Hook(TracedHook),
    /// Something that is no hook: a model call, a tool that ran, a lifecycle.
    Note(TracedNote),
}

/// A hook that answered or failed.
#[derive(Debug, Serialize)]
pub struct TracedHook {
    kind: &'static str,
    /// The plugin.
    pub plugin: Arc<str>,
    /// What kind of plugin it is.
    pub plugin_kind: &'static str,
    /// The hook.
    pub hook: &'static str,
    /// When it began, in microseconds since the request did.
    pub start_us: u64,
    /// How long it took.
    pub duration_us: u64,
    outcome: Success,
    /// What came of it.
    pub change: Changed,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    timed_out: bool,
    /// The action it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The lifecycle that triggered the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<String>,
    /// How often it was called, where all calls are one entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
}

/// What came of a hook.
#[derive(Debug)]
pub enum Changed {
    /// It changed nothing.
    Nothing,
    /// It changed this.
    To(Box<RawValue>),
    /// It failed, and why.
    Failed(Box<str>),
}

/// What ran that is no hook.
#[derive(Debug, Serialize)]
pub struct TracedNote {
    /// What it is: `model_call`, `tool_call`, `lifecycle` and the like.
    pub kind: &'static str,
    /// What there is to say of it.
    pub detail: Value,
    /// When it began, in microseconds since the request did.
    pub start_us: u64,
    /// How long it took.
    pub duration_us: u64,
    outcome: Success,
}

impl Traced {
    /// Whether it failed.
    pub fn is_failed(&self) -> bool {
        match self {
            Self::Hook(hook) => !hook.outcome.0,
            Self::Note(note) => !note.outcome.0,
        }
    }
}

/// `ok` or `error`.
#[derive(Debug, Clone, Copy)]
struct Success(bool);

impl Serialize for Success {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if self.0 { "ok" } else { "error" })
    }
}

impl Serialize for Changed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.serialize_unit(),
            Self::To(change) => change.serialize(serializer),
            Self::Failed(why) => serializer.serialize_str(why),
        }
    }
}

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
    plugins: Vec<Arc<str>>,
    last: usize,
    open: Vec<Open>,
    done: Vec<Done>,
    asked: Vec<Asked>,
    /// The action that is about to start, by plugin.
    next: Vec<(String, Box<Action>)>,
}

/// Something that is over. It is made into an entry once it is asked for: a turn has dozens of these
/// and keeps them, as small as they can be, while it waits for its model.
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
    success: bool,
}

enum Outcome {
    Unchanged,
    Changed(Box<RawValue>),
    Failed(Box<Failure>),
}

struct Failure {
    message: Box<str>,
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
    calls: u64,
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
    pub(crate) fn take(&self) -> Vec<Traced> {
        let State { plugins, asked, done, .. } = &mut *locked(&self.state);
        let (asked, done) = (std::mem::take(asked), std::mem::take(done));
        let name = |place: u16| plugins.get(usize::from(place)).cloned().unwrap_or_default();
        let asked = asked.into_iter().map(|asked| {
            let first = micros(asked.first - self.began);
            let entry = entry(name(asked.plugin), asked.hook, first, micros(asked.took));
            Traced::Hook(TracedHook { calls: Some(asked.calls), ..entry })
        });
        let done = done.into_iter().map(|done| match done {
            Done::Hook(ran) => {
                let name = name(ran.plugin);
                Traced::Hook(ran.entry(name))
            }
            Done::Note(note) => Traced::Note(TracedNote {
                kind: note.what,
                detail: note.detail,
                start_us: micros(note.at - self.began),
                duration_us: micros(note.took),
                outcome: Success(note.success),
            }),
        });
        asked.chain(done).collect()
    }

    /// Gives back the room that was kept for more.
    pub(crate) fn shrink(&self) {
        let State { plugins, open, done, asked, next, .. } = &mut *locked(&self.state);
        plugins.shrink_to_fit();
        open.shrink_to_fit();
        done.shrink_to_fit();
        asked.shrink_to_fit();
        next.shrink_to_fit();
    }

    /// Adds something that is no hook of the table: a model call, a tool run, a lifecycle.
    pub(crate) fn note(&self, what: &'static str, detail: Value, at: Instant, success: bool) {
        let took = at.elapsed();
        let note = Note { what, detail, at, took, success };
        locked(&self.state).done.push(Done::Note(Box::new(note)));
    }
}

/// Entries as lines of JSON.
pub(crate) fn lines_of(trace: &[Traced]) -> String {
    let mut lines = Vec::with_capacity(trace.len() * 192);
    for entry in trace {
        let length = lines.len();
        if length > 0 {
            lines.push(b'\n');
        }
        if serde_json::to_writer(&mut lines, entry).is_err() {
            lines.truncate(length);
        }
    }
    String::from_utf8(lines).unwrap_or_default()
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Ran {
    fn entry(self, plugin: Arc<str>) -> TracedHook {
        let (action, lifecycle) = match self.action {
            Some(action) => (Some(action.id), action.lifecycle),
            None => (None, None),
        };
        let (change, timed_out) = match self.outcome {
            Outcome::Unchanged => (Changed::Nothing, false),
            Outcome::Changed(change) => (Changed::To(change), false),
            Outcome::Failed(failure) => (Changed::Failed(failure.message), failure.timed_out),
        };
        let outcome = Success(!matches!(change, Changed::Failed(_)));
        let entry = entry(plugin, self.hook, self.start, self.took);
        TracedHook { outcome, change, timed_out, action, lifecycle, ..entry }
    }
}

/// A hook that answered and changed nothing.
fn entry(plugin: Arc<str>, hook: Hook, start_us: u64, duration_us: u64) -> TracedHook {
    let spec = hook.spec();
    TracedHook {
        kind: "hook",
        plugin,
        plugin_kind: spec.kind.as_str(),
        hook: spec.name,
        start_us,
        duration_us,
        outcome: Success(true),
        change: Changed::Nothing,
        timed_out: false,
        action: None,
        lifecycle: None,
        calls: None,
    }
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
                Some(change) => Outcome::Changed(change),
                None => Outcome::Unchanged,
            },
            HookEvent::Failed(error) => {
                let (message, timed_out) = (error.to_string().into(), error.is_timeout());
                Outcome::Failed(Box::new(Failure { message, timed_out }))
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
        self.note("action_refused", detail, Instant::now(), false);
    }

    fn lifecycle(&self, lifecycle: &str) {
        self.note("lifecycle", lifecycle.into(), Instant::now(), true);
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
fn summary(value: &Value) -> Option<Box<RawValue>> {
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
    let text = match text.len() > KEPT {
        true => {
            let end = (0..=KEPT).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            json!({ "bytes": text.len(), "begins": text[..end] }).to_string()
        }
        false => text,
    };
    RawValue::from_string(text).ok()
}
