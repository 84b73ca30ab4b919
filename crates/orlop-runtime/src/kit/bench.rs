//! Where a package is tested: its process, started again where it died, a folder of its own, and
//! what was seen of its hooks so far.

use super::effect;
use super::probe::{Answered, Probe, Wrong};
use super::samples;
use super::schemas::Schemas;
use crate::description::{self, Described};
use crate::launch::Launch;
use crate::package::Package;
use orlop_app::config::RuntimeEnv;
use orlop_core::hooks::{Hook, Kind};
use orlop_core::types::ActionDefinition;
use orlop_core::types::protocol::{Description, PluginDescription, Wanted};
use orlop_core::{Error, Map, Result, Value};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a process may take to say what it holds.
pub(super) const BEGINNING: Duration = Duration::from_secs(10);
/// How long a hook without a limit of its own may take in a test.
const PATIENCE: Duration = Duration::from_secs(30);

/// A plugin under test.
pub(super) struct Subject {
    pub(super) described: PluginDescription,
    /// Kind and name.
    pub(super) label: String,
    /// The state after `init`.
    pub(super) state: Value,
    /// History in its native form.
    pub(super) native: Vec<Value>,
    /// The tools it offers.
    pub(super) schemas: Vec<Value>,
    /// The actions it offers.
    pub(super) actions: Vec<ActionDefinition>,
}

impl Subject {
    /// The hook of a name, if the plugin has it.
    pub(super) fn has(&self, name: &str) -> Option<Hook> {
        let listed = self.described.hooks.iter().any(|held| held == name);
        if listed { self.described.hook(name) } else { None }
    }

    /// The hooks it has, in the order of the table, which is the same in every language.
    pub(super) fn hooks(&self) -> Vec<Hook> {
        let held = self.described.hooks.iter();
        let mut hooks: Vec<Hook> = held.filter_map(|name| self.described.hook(name)).collect();
        hooks.sort();
        hooks.dedup();
        hooks
    }

    pub(super) fn kind(&self) -> Option<Kind> {
        self.described.kind()
    }
}

/// What was seen of the answers of one hook: nothing wrong, or the first thing that was.
pub(super) type Seen = Option<(String, &'static str)>;

/// A package under test.
pub(super) struct Bench {
    launch: Launch,
    home: Folder,
    probe: Option<Probe>,
    schemas: Schemas,
    /// By label and hook.
    pub(super) seen: BTreeMap<(String, Hook), Seen>,
}

/// A folder that is gone with the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn folder_prefix() -> String {
    format!("orlop-plugin-test-{}-", std::process::id())
}

/// Removes the folders of tests of this process, for one that ends in the middle of them.
pub fn remove_folders() {
    let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(&folder_prefix()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Bench {
    pub(super) fn new(package: Package, env: &RuntimeEnv, config: Map) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("{}{count}", folder_prefix()));
        std::fs::create_dir_all(&home).map_err(|error| {
            Error::unavailable(format!("{} cannot be made: {error}", home.display()))
        })?;
        let launch = Launch::new(package, env, &home, config);
        let (probe, schemas, seen) = Default::default();
        Ok(Self { launch, home: Folder(home), probe, schemas, seen })
    }

    /// How its process is started.
    pub(super) fn launch(&self) -> &Launch {
        &self.launch
    }

    pub(super) fn package(&self) -> &Package {
        &self.launch.package
    }

    /// A process that was told nothing yet, beside the one that answers hooks.
    pub(super) fn fresh(&self) -> Result<Probe, Wrong> {
        debug_assert!(self.home.0.is_dir());
        Probe::start(&self.launch).map_err(|error| Wrong::NotStarted(error.message().to_owned()))
    }

    pub(super) fn introduction(&self) -> Value {
        json!(self.launch.introduction())
    }

    /// Begins with a process that says what it holds.
    pub(super) fn begin(&self) -> Result<(Probe, Description), Wrong> {
        let mut probe = self.fresh()?;
        let answered = probe.ask("initialize", &self.introduction(), BEGINNING)?;
        let described = description::read(&answered.outcome.to_string(), &self.launch.package.name)
            .map_err(|error| Wrong::Unfit(error.message().to_owned()))?;
        Ok((probe, described))
    }

    /// Begins with the process that answers hooks.
    pub(super) fn open(&mut self) -> Result<Description, Wrong> {
        let (probe, description) = self.begin()?;
        self.probe = Some(probe);
        Ok(description)
    }

    /// The process that answers hooks.
    pub(super) fn probe(&mut self) -> Result<&mut Probe, Wrong> {
        let is_there = self.probe.as_mut().is_some_and(Probe::is_alive);
        if !is_there {
            self.open()?;
        }
        self.probe.as_mut().ok_or_else(|| Wrong::Ended(String::new()))
    }

    /// Goes on with another process.
    pub(super) fn restart(&mut self) {
        self.probe = None;
    }

    /// The plugins of a package, each after its `init` and with what it offers.
    pub(super) fn subjects(&mut self, description: &Description) -> Vec<Subject> {
        let mut subjects = Vec::new();
        for described in &description.plugins {
            let mut subject = Subject {
                label: format!("{} {}", described.kind, described.name),
                described: described.clone(),
                state: json!({"config": samples::config(), "request": {}}),
                native: samples::native(),
                schemas: Vec::new(),
                actions: Vec::new(),
            };
            if let Some(hook) = subject.has("init") {
                let args = samples::args(hook, &subject, &Map::new());
                if let Ok(state) = self.effect(&subject, hook, &args) {
                    subject.state = state;
                }
            }
            if let (Some(Kind::Provider), Some(hook)) =
                (subject.kind(), subject.has("to_native_messages"))
            {
                let empty = Map::from_iter([("native_messages".to_owned(), json!([]))]);
                let args = samples::args(hook, &subject, &empty);
                if let Ok(Value::Array(items)) = self.effect(&subject, hook, &args) {
                    subject.native = items;
                }
            }
            subjects.push(subject);
        }
        subjects
    }

    /// Asks a hook. What was seen of it is kept.
    pub(super) fn ask(
        &mut self,
        subject: &Subject,
        hook: Hook,
        args: &Map,
        context: &Map,
    ) -> Result<Answered, Wrong> {
        let limit = self.limit(hook);
        let params = params(subject, hook, args, context);
        let asked = self.probe().and_then(|probe| probe.ask("hook", &params, limit));
        let asked = asked.and_then(|answered| self.fits(hook, answered));
        if matches!(asked, Err(Wrong::Late(_) | Wrong::Noise(_))) {
            self.restart();
        }
        let seen = self.seen.entry((subject.label.clone(), hook)).or_default();
        if let (None, Err(wrong)) = (&seen, &asked) {
            // A refusal may be what an example wants; everything else is a defect.
            if !matches!(wrong, Wrong::Refused { .. }) {
                *seen = Some((wrong.to_string(), wrong.fix()));
            }
        }
        asked
    }

    fn fits(&mut self, hook: Hook, answered: Answered) -> Result<Answered, Wrong> {
        let is_stream = matches!(hook, Hook::StreamApi | Hook::StreamTool);
        let values =
            if is_stream { &answered.parts[..] } else { std::slice::from_ref(&answered.outcome) };
        let problem = values.iter().find_map(|value| self.schemas.problem(hook, value));
        match problem {
            None => Ok(answered),
            Some(problem) => Err(Wrong::Unfit(problem)),
        }
    }

    /// Asks a hook what it must be able to answer, and gives what is so afterwards.
    pub(super) fn effect(
        &mut self,
        subject: &Subject,
        hook: Hook,
        args: &Map,
    ) -> Result<Value, Wrong> {
        let answered = self.ask(subject, hook, args, &Map::new());
        let effect =
            answered.and_then(|answered| effect::of(hook, args, &answered).map_err(Wrong::Unfit));
        if let Err(wrong) = &effect {
            let seen = self.seen.entry((subject.label.clone(), hook)).or_default();
            seen.get_or_insert_with(|| (wrong.to_string(), wrong.fix()));
        }
        effect
    }

    /// Whether a hook gave what it must not. That is told once, and other checks leave it alone.
    pub(super) fn failed(&self, subject: &Subject, hook: Hook) -> bool {
        matches!(self.seen.get(&(subject.label.clone(), hook)), Some(Some(_)))
    }

    /// Whether a hook answers its sample, and never failed.
    pub(super) fn answers(&mut self, subject: &Subject, hook: Hook) -> bool {
        let args = samples::args(hook, subject, &Map::new());
        !self.failed(subject, hook) && self.effect(subject, hook, &args).is_ok()
    }

    /// How long a hook may take.
    pub(super) fn limit(&self, hook: Hook) -> Duration {
        let limit = hook.spec().timeout.unwrap_or(PATIENCE).min(PATIENCE);
        self.package().limits.timeout().map_or(limit, |own| own.min(limit))
    }
}

/// The params of a hook call.
pub(super) fn params(subject: &Subject, hook: Hook, args: &Map, context: &Map) -> Value {
    let described = &subject.described;
    let mut told = json!({
        "trigger_source": "application", "handles": ["core", "app"], "request_id": "r1",
        "session_id": "s1", "stream": hook == Hook::StreamApi,
    });
    let is_action = matches!(
        hook,
        Hook::ExtensionExecuteAction | Hook::FeatureExecuteAction | Hook::ApplicationExecuteAction
    );
    if is_action || hook == Hook::IsEnabled {
        let config = subject.state.get("config").cloned().unwrap_or_else(samples::config);
        told["config"] = config.clone();
        told["base_config"] = config;
        told["request_context"] = json!({});
        told["request_runtime"] = json!({});
    }
    if hook == Hook::ApplicationExecuteAction {
        let session = samples::session(samples::messages(), Map::new());
        told["session"] = samples::session_crossing(&session, args, Wanted::Full);
    }
    for (key, value) in context {
        told[key] = match key.as_str() {
            "session" => samples::session_crossing(value, args, Wanted::Full),
            _ => value.clone(),
        };
    }
    json!({
        "plugin": described.name, "kind": described.kind, "hook": hook.name(),
        "args": samples::crossing(described, hook, args), "context": told,
    })
}
