//! Runs a changed plugin against a recording: every recorded call is made again, what the plugin
//! asks meanwhile is answered from the recording, and what comes out otherwise is told.

use super::calls::{RecordedCall, calls_of};
use super::recording::{Line, Recording};
use super::talk::Talk;
use crate::launch::Launch;
use crate::package::Package;
use crate::tap::Way;
use orlop_app::config::RuntimeEnv;
use orlop_core::types::protocol::{Description, PluginDescription};
use orlop_core::{Error, Map, Result, Value};
use serde_json::json;
use similar::TextDiff;
use std::path::{Path, PathBuf};

/// What to play, and with which package.
pub struct Replay {
    recording: Recording,
    package: String,
    launch: Launch,
    /// What the plugin keeps is kept here, and then removed.
    data: PathBuf,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Replayed {
    /// How many calls were made.
    pub calls: usize,
    /// What is different, one text a call.
    pub differences: Vec<String>,
    /// What people should know beside.
    pub notes: Vec<String>,
    /// The recording with what came out now; nothing if it cannot be known.
    pub updated: Option<Recording>,
}

impl Replay {
    /// A replay with a package; its data folder is an empty one.
    pub fn new(
        recording: Recording,
        package: Package,
        env: &RuntimeEnv,
        home: &Path,
    ) -> Result<Self> {
        let recorded = recording.package(Some(&package.name))?;
        let data = home.join("cache").join(format!("replay-{}", std::process::id()));
        let (name, config): (String, Map) = (recorded.name.clone(), recorded.config.clone());
        let launch = Launch::with_data(package, env, home, config, data.clone());
        Ok(Self { recording, package: name, launch, data })
    }

    /// Plays it. Blocks; must be called within a Tokio runtime.
    pub fn run(self) -> Result<Replayed> {
        let played = self.play();
        let _ = std::fs::remove_dir_all(&self.data);
        played
    }

    fn play(&self) -> Result<Replayed> {
        let mut done = Replayed::default();
        let mut updated = self.recording.clone();
        let mut knows_all = true;
        let calls = calls_of(&self.recording.lines, &self.package);
        let mut processes: Vec<u64> = calls.iter().map(|call| call.process).collect();
        processes.dedup();
        for (round, process) in processes.into_iter().enumerate() {
            let (mut talk, description) = Talk::begin(&self.launch)?;
            if round == 0 {
                let (recorded, now) = (self.described()?, json!(description));
                let diff = difference(&pretty(&recorded), &pretty(&now));
                done.differences.extend(diff.map(|diff| format!("what it holds\n{diff}")));
                done.notes.extend(self.new_hooks(&description)?);
                let held = updated.head.packages.iter_mut().find(|held| held.name == self.package);
                if let Some(held) = held {
                    held.description = description;
                }
            }
            for call in calls.iter().filter(|call| call.process == process) {
                done.calls += 1;
                let played = match talk.play(call) {
                    Ok(played) => played,
                    Err(error) => {
                        let why = error.message();
                        done.differences.push(format!("{}\n{why}\n", call.title()));
                        done.notes.push(
                            "the calls after that one were not made: they build on it".to_owned(),
                        );
                        return Ok(done);
                    }
                };
                for what in &played.unrecorded {
                    knows_all = false;
                    done.notes.push(format!(
                        "{} asked what the recording cannot answer: {what}",
                        call.title()
                    ));
                }
                if call.cancelled || call.outcome.end.is_none() {
                    let title = call.title();
                    done.notes.push(format!("{title} has no answer in the recording"));
                    continue;
                }
                if let Some(diff) = difference(&call.shown(), &played.call.shown()) {
                    let logged = talk.logged();
                    let logged: String = logged.iter().map(|line| format!("{line}\n")).collect();
                    done.differences.push(format!("{}\n{diff}{logged}", call.title()));
                }
                update(&mut updated.lines, &self.package, call, &played.call);
            }
        }
        done.updated = knows_all.then_some(updated);
        Ok(done)
    }

    /// What is said of hooks that the plugins did not have when the recording was made.
    fn new_hooks(&self, now: &Description) -> Result<Vec<String>> {
        let recorded = &self.recording.package(Some(&self.package))?.description.plugins;
        let had = |plugin: &PluginDescription, hook: &String| {
            let mut same = recorded.iter().filter(|held| held.name == plugin.name);
            same.any(|held| held.kind == plugin.kind && held.hooks.contains(hook))
        };
        let new = now.plugins.iter().flat_map(|plugin| {
            let new = plugin.hooks.iter().filter(|hook| !had(plugin, hook));
            new.map(|hook| format!("{}.{hook} is new, and the recording has no call of it; record the turn again to see what it does", plugin.name))
        });
        Ok(new.collect())
    }

    fn described(&self) -> Result<Value> {
        let recorded = self.recording.package(Some(&self.package))?;
        serde_json::to_value(&recorded.description)
            .map_err(|error| Error::internal(format!("a description does not serialise: {error}")))
    }
}

fn pretty(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    format!("{text}\n")
}

/// A unified diff; nothing if there is no difference.
fn difference(recorded: &str, now: &str) -> Option<String> {
    if recorded == now {
        return None;
    }
    let diff = TextDiff::from_lines(recorded, now);
    Some(diff.unified_diff().context_radius(3).header("recorded", "now").to_string())
}

/// Puts what came out now in the place of what was recorded.
fn update(lines: &mut Vec<Line>, package: &str, call: &RecordedCall, now: &RecordedCall) {
    let dropped: Vec<&Value> = call
        .asked
        .iter()
        .filter(|asked| now.asked.iter().all(|kept| kept.id != asked.id))
        .map(|asked| &asked.id)
        .collect();
    lines.retain(|held| {
        if held.package != package || held.process != call.process {
            return true;
        }
        let is_part = held.line.get("method").is_some_and(|it| it == "part" || it == "tool.part");
        let of_call = held.line["params"].get("call").and_then(Value::as_u64) == Some(call.id);
        let is_dropped = held.line.get("id").is_some_and(|id| dropped.contains(&id));
        !(is_part && of_call || is_dropped)
    });
    let is_end = |held: &Line| {
        held.package == package
            && held.process == call.process
            && held.to == Way::Host
            && held.line.get("method").is_none()
            && held.line.get("id").and_then(Value::as_u64) == Some(call.id)
    };
    let Some(place) = lines.iter().position(is_end) else { return };
    if let Some((kind, value)) = &now.outcome.end {
        lines[place].line = json!({"jsonrpc": "2.0", "id": call.id, kind: value});
    }
    let parts = now.outcome.parts.iter().map(|part| Line {
        package: package.to_owned(),
        process: call.process,
        to: Way::Host,
        line: json!({
            "jsonrpc": "2.0", "method": "part", "params": {"call": call.id, "value": part},
        }),
    });
    let parts: Vec<Line> = parts.collect();
    lines.splice(place..place, parts);
}
