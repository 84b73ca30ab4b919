//! Runs the commands of `hooks.json` where host plugins are called. A command reads what happens as
//! JSON; exit code 2 blocks, with the reason on its standard error; 0 may answer with JSON; with any
//! other it failed, and what it is about goes on.

use super::Bundle;
use super::hooks::{CommandHook, HookEvent};
use crate::launch::Launch;
use orlop_app::ProcessGroup;
use orlop_app::config::Vars;
use orlop_core::hooks::*;
use orlop_core::{Context, Error, Manifest, Result, Value};
use serde_json::json;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// How much of what a command says is read.
const MAX_SAID: u64 = 64 << 10;
/// The exit code that blocks.
const BLOCKS: i32 = 2;

/// Names of our tools in agents that these files are written for.
const NAMES: &[(&str, &str)] = &[
    ("shell", "Bash"),
    ("read_file", "Read"),
    ("write_file", "Write"),
    ("edit_file", "Edit"),
    ("find_files", "Glob"),
    ("search_files", "Grep"),
    ("web_fetch", "WebFetch"),
    ("delegate", "Task"),
    ("update_todo", "TodoWrite"),
];

/// The commands of a package, as a host plugin.
pub(crate) struct CommandHooks {
    name: String,
    version: String,
    hooks: Vec<CommandHook>,
    env: Vars,
    /// Where commands run: the working folder.
    folder: PathBuf,
    /// Sessions that have begun.
    begun: Mutex<HashSet<String>>,
}

/// What came of a command.
enum Said {
    /// It blocks, and this is why.
    Blocked(String),
    /// What it printed, as JSON where it is some.
    Answer(Value),
}

impl CommandHooks {
    pub(crate) fn new(launch: &Launch, bundle: &Bundle) -> Self {
        let (vars, work, data) = launch.surroundings();
        let mut env = vars.clone();
        let folder = launch.package.folder.display().to_string();
        // The last two are what files that are written for other agents look for.
        for (name, value) in [
            ("PLUGIN_ROOT", folder.clone()),
            ("PLUGIN_DATA", data.display().to_string()),
            ("CLAUDE_PLUGIN_ROOT", folder),
            ("CLAUDE_PROJECT_DIR", work.display().to_string()),
        ] {
            env.insert(name.to_owned(), value);
        }
        Self {
            name: launch.package.name.clone(),
            version: launch.package.version.clone(),
            hooks: bundle.hooks.clone(),
            env,
            folder: work.to_owned(),
            begun: Mutex::default(),
        }
    }

    fn at<'a>(
        &'a self,
        event: HookEvent,
        names: &'a [&'a str],
    ) -> impl Iterator<Item = &'a CommandHook> {
        self.hooks.iter().filter(move |hook| hook.event == event && hook.fits(names))
    }

    fn has(&self, event: HookEvent) -> bool {
        self.hooks.iter().any(|hook| hook.event == event)
    }

    /// What every command is told.
    fn told(&self, event: HookEvent, request: &RequestInfo) -> Value {
        json!({
            "hook_event_name": event.name(), "session_id": request.session_id,
            "turn_id": request.request_id, "agent_id": request.agent_id, "cwd": self.folder,
            "transcript_path": null, "permission_mode": "default",
        })
    }

    async fn run(&self, hook: &CommandHook, told: &Value) -> Result<Said> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&hook.command).current_dir(&self.folder);
        let (mut group, pipes) = ProcessGroup::spawn_talking(command, &self.env)?;
        let orlop_app::Pipes { mut input, output, errors } = pipes;
        let talk = async {
            // A command need not read what it is told.
            let _ = input.write_all(told.to_string().as_bytes()).await;
            drop(input);
            let (mut said, mut why) = (String::new(), String::new());
            let (mut output, mut errors) = (output.take(MAX_SAID), errors.take(MAX_SAID));
            let read = futures::future::join(
                output.read_to_string(&mut said),
                errors.read_to_string(&mut why),
            );
            let _ = read.await;
            (group.wait().await, said, why)
        };
        let ended = tokio::time::timeout(hook.limit, talk).await.map_err(|_| {
            Error::plugin(format!("{} took longer than {} s", hook.command, hook.limit.as_secs()))
        })?;
        let (status, said, why) = ended;
        match status?.code() {
            Some(0) => Ok(answered(&said)),
            Some(BLOCKS) => Ok(Said::Blocked(why.trim().to_owned())),
            code => Err(Error::plugin(format!(
                "{} ended with {}: {}",
                hook.command,
                code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}")),
                why.trim()
            ))),
        }
    }

    /// Runs all commands of an event. One that fails is left out, and the log tells of it.
    async fn all(&self, event: HookEvent, names: &[&str], told: &Value) -> Vec<Said> {
        let mut all = Vec::new();
        for hook in self.at(event, names) {
            match self.run(hook, told).await {
                Ok(said) => all.push(said),
                Err(error) => {
                    tracing::warn!(target: "orlop::plugin", plugin = self.name, %error, "a command at {} failed", event.name());
                }
            }
        }
        all
    }
}

/// What a command printed: JSON that blocks, other JSON, or a text.
fn answered(said: &str) -> Said {
    let value: Value = match serde_json::from_str(said.trim()) {
        Ok(value @ Value::Object(_)) => value,
        _ => json!({"additionalContext": said.trim()}),
    };
    let reason = |key: &str| value[key].as_str().unwrap_or("it does not say why").to_owned();
    if value["continue"] == false {
        return Said::Blocked(reason("stopReason"));
    }
    match value["decision"].as_str() {
        Some("block") => Said::Blocked(reason("reason")),
        _ => Said::Answer(value),
    }
}

/// What a command adds for the model to read.
fn context_of(answer: &Value) -> Option<&str> {
    let specific = &answer["hookSpecificOutput"]["additionalContext"];
    let text = specific.as_str().or_else(|| answer["additionalContext"].as_str())?;
    Some(text).filter(|text| !text.is_empty())
}

/// A tool under both of its names.
fn names_of(tool: &str) -> Vec<&str> {
    let other = NAMES.iter().find(|(own, _)| *own == tool).map(|(_, other)| *other);
    std::iter::once(tool).chain(other).collect()
}

/// The input of a tool, with the path under the name that commands look for.
fn input_of(input: &Value) -> Value {
    let mut input = input.clone();
    if let (Some(path), None) = (input.get("path").cloned(), input.get("file_path")) {
        input["file_path"] = path;
    }
    input
}

impl HostPlugin for CommandHooks {
    fn manifest(&self) -> Manifest {
        let hooks = [
            (HookEvent::UserPromptSubmit, Hook::InterceptChatRequest),
            (HookEvent::SessionStart, Hook::ContextProviders),
            (HookEvent::PreToolUse, Hook::BeforeToolCall),
            (HookEvent::PostToolUse, Hook::AfterToolCall),
            (HookEvent::Stop, Hook::OnRequestEnd),
        ];
        let hooks: Vec<Hook> =
            hooks.into_iter().filter(|(event, _)| self.has(*event)).map(|(_, hook)| hook).collect();
        Manifest::host(&self.name, &self.version).only(HookSet::of(&hooks))
    }

    fn intercept_chat_request<'a>(
        &'a self,
        input: &'a InterceptInput,
        _: &'a Context,
    ) -> Answer<'a, Option<Interception>> {
        Answer::later(async move {
            let event = HookEvent::UserPromptSubmit;
            let mut told = self.told(event, &input.request);
            told["prompt"] = json!(input.text);
            let mut added = Vec::new();
            for said in self.all(event, &[], &told).await {
                match said {
                    Said::Blocked(why) => {
                        let text = format!("This was not sent ({}): {why}", self.name);
                        return Ok(Some(Handled::text(text).into()));
                    }
                    Said::Answer(answer) => added.extend(context_of(&answer).map(str::to_owned)),
                }
            }
            if added.is_empty() {
                return Ok(None);
            }
            let text = format!("{}\n\n{}", input.text, added.join("\n\n"));
            Ok(Some(Rewrite::text(text).into()))
        })
    }

    fn context_providers<'a>(
        &'a self,
        input: &'a ContextInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<String>> {
        let is_new = self
            .begun
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(input.request.session_id.clone());
        if !is_new || !self.has(HookEvent::SessionStart) {
            return Answer::default();
        }
        Answer::later(async move {
            let mut told = self.told(HookEvent::SessionStart, &input.request);
            told["source"] = json!("startup");
            let said = self.all(HookEvent::SessionStart, &[], &told).await.into_iter();
            let added = said.filter_map(|said| match said {
                Said::Blocked(_) => None,
                Said::Answer(answer) => context_of(&answer).map(str::to_owned),
            });
            Ok(added.collect())
        })
    }

    fn before_tool_call<'a>(
        &'a self,
        call: &'a ToolCallInfo,
        _: &'a Context,
    ) -> Answer<'a, ToolGate> {
        Answer::later(async move {
            let names = names_of(&call.tool_name);
            let mut told = self.told(HookEvent::PreToolUse, &call.request);
            told["tool_name"] = json!(names.last());
            told["tool_input"] = input_of(&call.input);
            told["tool_use_id"] = json!(call.call_id);
            let mut gate = ToolGate::Allow;
            for said in self.all(HookEvent::PreToolUse, &names, &told).await {
                let answer = match said {
                    Said::Blocked(why) => return Ok(ToolGate::Deny(why)),
                    Said::Answer(answer) => answer,
                };
                let specific = &answer["hookSpecificOutput"];
                let why = specific["permissionDecisionReason"].as_str().unwrap_or("a hook says so");
                match specific["permissionDecision"].as_str() {
                    Some("deny") => return Ok(ToolGate::Deny(why.to_owned())),
                    Some("ask") => gate = ToolGate::Ask(why.to_owned()),
                    // To allow is left to the permissions: a hook only makes them stricter.
                    _ => {}
                }
            }
            Ok(gate)
        })
    }

    fn after_tool_call<'a>(
        &'a self,
        call: &'a ToolResultInfo,
        _: &'a Context,
    ) -> Answer<'a, Option<String>> {
        Answer::later(async move {
            let names = names_of(&call.tool_name);
            let mut told = self.told(HookEvent::PostToolUse, &call.request);
            told["tool_name"] = json!(names.last());
            told["tool_input"] = input_of(&call.input);
            told["tool_response"] = json!({"output": call.result, "success": !call.failed});
            told["tool_use_id"] = json!(call.call_id);
            let said = self.all(HookEvent::PostToolUse, &names, &told).await.into_iter();
            let added: Vec<String> = said
                .filter_map(|said| match said {
                    Said::Blocked(why) => Some(why),
                    // What a command prints is for its user; what it says of context for the model.
                    Said::Answer(answer) => answer["hookSpecificOutput"]["additionalContext"]
                        .as_str()
                        .map(str::to_owned),
                })
                .collect();
            Ok((!added.is_empty()).then(|| format!("{}\n\n{}", call.result, added.join("\n\n"))))
        })
    }

    fn on_request_end<'a>(&'a self, request: &'a RequestInfo, _: &'a Context) -> Answer<'a, ()> {
        Answer::later(async move {
            let mut told = self.told(HookEvent::Stop, request);
            told["stop_hook_active"] = json!(false);
            self.all(HookEvent::Stop, &[], &told).await;
            Ok(())
        })
    }
}
