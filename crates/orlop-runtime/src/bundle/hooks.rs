//! `hooks.json`: commands by the event they run at, in the form that several agents share.

use orlop_core::{Error, Result, Value};
use regex::Regex;
use std::time::Duration;

/// How long a command may take, where it does not say.
const USUAL: u64 = 60;

/// When a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    /// Before the first request of a session in this process.
    SessionStart,
    /// When somebody wrote something.
    UserPromptSubmit,
    /// Before a tool runs.
    PreToolUse,
    /// After a tool ran.
    PostToolUse,
    /// When a request has ended.
    Stop,
}

impl HookEvent {
    pub(super) const ALL: [Self; 5] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::Stop,
    ];

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
        }
    }

    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::SessionStart => "when a session begins",
            Self::UserPromptSubmit => "when you write something",
            Self::PreToolUse => "before tools",
            Self::PostToolUse => "after tools",
            Self::Stop => "after requests",
        }
    }
}

/// A command at an event.
#[derive(Debug, Clone)]
pub struct CommandHook {
    /// When it runs.
    pub event: HookEvent,
    /// The tools it runs for; all without one.
    pub(super) matcher: Option<Regex>,
    /// What the shell runs.
    pub command: String,
    pub(super) limit: Duration,
}

impl PartialEq for CommandHook {
    fn eq(&self, other: &Self) -> bool {
        let pattern = |hook: &Self| hook.matcher.as_ref().map(|it| it.as_str().to_owned());
        (self.event, &self.command, self.limit) == (other.event, &other.command, other.limit)
            && pattern(self) == pattern(other)
    }
}

impl CommandHook {
    /// Whether it is for a tool, which may have several names.
    pub(super) fn fits(&self, names: &[&str]) -> bool {
        self.matcher.as_ref().is_none_or(|pattern| names.iter().any(|name| pattern.is_match(name)))
    }
}

/// Reads the commands of a file. What cannot be used is told.
pub(super) fn read(text: &str, problems: &mut Vec<String>) -> Result<Vec<CommandHook>> {
    let file: Value = serde_json::from_str(text)
        .map_err(|error| Error::bad_argument(format!("it is no JSON: {error}")))?;
    let events = file["hooks"].as_object();
    let events = events.ok_or_else(|| Error::bad_argument("it has no mapping \"hooks\""))?;
    let mut found = Vec::new();
    for (name, groups) in events {
        let Some(event) = HookEvent::ALL.into_iter().find(|event| event.name() == name) else {
            problems.push(format!("hooks at {name} do not run: there is no such moment here"));
            continue;
        };
        for group in groups.as_array().into_iter().flatten() {
            let matcher = match matcher(group["matcher"].as_str().unwrap_or_default()) {
                Ok(matcher) => matcher,
                Err(what) => {
                    problems.push(format!("hooks at {name} do not run: {what}"));
                    continue;
                }
            };
            for hook in group["hooks"].as_array().into_iter().flatten() {
                match (hook["type"].as_str(), hook["command"].as_str()) {
                    (Some("command"), Some(command)) => found.push(CommandHook {
                        event,
                        matcher: matcher.clone(),
                        command: command.to_owned(),
                        limit: Duration::from_secs(hook["timeout"].as_u64().unwrap_or(USUAL)),
                    }),
                    (kind, _) => problems.push(format!(
                        "a hook at {name} does not run: type {} is not known, command is",
                        kind.unwrap_or("(none)")
                    )),
                }
            }
        }
    }
    Ok(found)
}

/// A pattern for whole names; nothing and `*` are for all.
fn matcher(text: &str) -> std::result::Result<Option<Regex>, String> {
    if matches!(text, "" | "*") {
        return Ok(None);
    }
    let pattern = Regex::new(&format!("^(?:{text})$"));
    pattern.map(Some).map_err(|_| format!("the matcher {text:?} is no pattern"))
}
