//! A command as the model asks for it, and its start in the sandbox.

use super::settings::Settings;
use crate::sandbox::Sandbox;
use crate::workspace::Workspace;
use orlop_app::config::{RuntimeEnv, Vars};
use orlop_app::{Printed, ProcessGroup};
use orlop_core::{Context, Error, Result, Value};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// The arguments of a call of `shell`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) command: String,
    pub(super) cwd: Option<String>,
    pub(super) timeout: Duration,
    pub(super) background: bool,
}

impl Request {
    pub(super) fn read(payload: &Value, settings: &Settings) -> Result<Self> {
        let command = payload.get("command").and_then(Value::as_str).unwrap_or_default();
        if command.trim().is_empty() {
            return Err(Error::bad_argument(
                "there is no command; give one, such as {\"command\": \"ls\"}",
            ));
        }
        if command.contains('\0') {
            return Err(Error::bad_argument("the command has a zero byte in it; remove it"));
        }
        let timeout = payload.get("timeout_s").filter(|it| !it.is_null()).map(|it| {
            let seconds = it.as_f64().filter(|it| *it > 0.0 && it.is_finite());
            seconds
                .ok_or_else(|| Error::bad_argument("timeout_s must be a number of seconds above 0"))
        });
        let timeout = match timeout.transpose()? {
            Some(seconds) => Duration::from_secs_f64(seconds.min(1e9)).min(settings.max_timeout),
            None => settings.timeout,
        };
        Ok(Self {
            command: command.to_owned(),
            cwd: payload
                .get("cwd")
                .and_then(Value::as_str)
                .filter(|it| !it.is_empty())
                .map(str::to_owned),
            timeout,
            background: payload.get("background") == Some(&Value::Bool(true)),
        })
    }
}

/// A command that runs.
pub(super) struct Started {
    pub(super) group: ProcessGroup,
    pub(super) printed: Printed,
    pub(super) sandbox: Sandbox,
    pub(super) began: Instant,
}

impl Started {
    /// A name for a file of this command that nobody else uses.
    pub(super) fn file(&self, folder: &str) -> PathBuf {
        let name = self.group.id().get(..8).unwrap_or("0");
        self.sandbox.temp_folder().join(folder).join(format!("{name}.txt"))
    }
}

/// Starts a command in the sandbox, in the working folder or the one asked for.
pub(super) async fn start(request: &Request, settings: &Settings, cx: &Context) -> Result<Started> {
    let folder = folder_of(request, &Workspace::of(cx)?)?;
    let sandbox = Sandbox::of(cx)?;
    let runtime = cx.handle::<RuntimeEnv>("env").unwrap_or_default();
    let env = settings.env(&runtime, &sandbox);
    let mut command = tokio::process::Command::new(program(&env));
    command.arg("-c").arg(&request.command).current_dir(folder);
    let reactor = tokio::runtime::Handle::current();
    let began = Instant::now();
    let spawned = sandbox.start(move || {
        let _here = reactor.enter();
        ProcessGroup::spawn_printing(command, &env)
    });
    let (group, printed) = spawned.await??;
    Ok(Started { group, printed, sandbox, began })
}

fn folder_of(request: &Request, workspace: &Workspace) -> Result<PathBuf> {
    let Some(cwd) = request.cwd.as_deref() else { return Ok(workspace.root().to_owned()) };
    let folder = workspace.resolve(cwd)?;
    if !workspace.contains(&folder) {
        let folders: Vec<_> =
            workspace.folders().iter().map(|it| it.display().to_string()).collect();
        return Err(Error::bad_argument(format!(
            "cwd {cwd:?} is outside of the workspace; commands run in {}, or below",
            folders.join(", ")
        )));
    }
    match folder.is_dir() {
        true => Ok(folder),
        false => Err(Error::bad_argument(format!("cwd {cwd:?} is no folder"))),
    }
}

/// bash, where there is one: models write for it.
fn program(env: &Vars) -> &'static str {
    let path = env.get("PATH").map(String::as_str).unwrap_or("/usr/bin:/bin");
    let name = format!("bash{}", std::env::consts::EXE_SUFFIX);
    let has_bash = |folder: PathBuf| Path::is_file(&folder.join(&name));
    if std::env::split_paths(path).any(has_bash) { "bash" } else { "sh" }
}

/// How a command ended, in words.
pub(super) fn ending(status: ExitStatus) -> String {
    if let Some(code) = status.code() {
        return format!("exit code {code}");
    }
    let signal = signal_of(status).unwrap_or_default();
    let name = match signal {
        1 => " (HUP)",
        2 => " (INT)",
        6 => " (ABRT)",
        9 => " (KILL)",
        11 => " (SEGV)",
        13 => " (PIPE)",
        15 => " (TERM)",
        24 => " (XCPU)",
        _ => "",
    };
    format!("ended by signal {signal}{name}")
}

#[cfg(unix)]
pub(super) fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
pub(super) fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

/// A time in words, where it is long enough to matter.
pub(super) fn after(took: Duration) -> String {
    match took.as_secs() {
        0 => String::new(),
        seconds => format!(" after {seconds} s"),
    }
}
