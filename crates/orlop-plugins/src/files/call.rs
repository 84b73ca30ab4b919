//! One call of a tool: its arguments, and where it may act.

use super::seen::Seen;
use crate::sandbox::Sandbox;
use crate::workspace::Workspace;
use orlop_app::Application;
use orlop_core::hooks::ToolInput;
use orlop_core::types::PayloadKind;
use orlop_core::{Context, Error, Result, Value};
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long one call may look for something.
pub(super) const MAX_TIME: Duration = Duration::from_secs(30);

/// What a call works with, on whichever thread.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) workspace: Workspace,
    sandbox: Sandbox,
    pub(super) seen: Arc<Seen>,
    /// The session in words that no other user's session has.
    pub(super) session: String,
    /// Whether the model can look at pictures.
    pub(super) sees_pictures: bool,
    cx: Context,
    until: Instant,
}

impl Call {
    pub(super) fn new(cx: &Context, seen: &Arc<Seen>) -> Result<Self> {
        let session = cx.get("session_id").and_then(Value::as_str).unwrap_or_default();
        let session = match Application::of(cx) {
            Ok(app) => format!("{}/{session}", app.scope()),
            Err(_) => session.to_owned(),
        };
        Ok(Self {
            workspace: Workspace::of(cx)?,
            sandbox: Sandbox::of(cx)?,
            seen: seen.clone(),
            session,
            sees_pictures: cx.tags().iter().any(|tag| tag == "vision" || tag == "images"),
            cx: cx.clone(),
            until: Instant::now() + MAX_TIME,
        })
    }

    /// The real path of what is to be read. Whether the user has to agree is for the permissions to
    /// say; what the sandbox hides, and what the kernel makes up, is refused here.
    pub(super) fn path(&self, path: &str) -> Result<PathBuf> {
        let real = self.workspace.resolve(path)?;
        let made_up = ["/proc", "/sys", "/dev"].iter().any(|folder| real.starts_with(folder));
        if self.workspace.contains(&real) && self.sandbox.may_read(&real) {
            return Ok(real);
        }
        if self.sandbox.may_read(&real) && !made_up {
            return Ok(real);
        }
        Err(Error::bad_argument(format!(
            "{} must not be read by tools: it may hold secrets or is no place for files",
            super::place::shown(&real)
        )))
    }

    /// The real path of what is to be changed, inside of the folders that may be.
    pub(super) fn path_to_change(&self, path: &str) -> Result<PathBuf> {
        let real = self.workspace.resolve(path)?;
        let inside = self.sandbox.writable().iter().any(|folder| real.starts_with(folder));
        if inside && self.sandbox.may_write(&real) {
            return Ok(real);
        }
        let folders: Vec<String> =
            self.workspace.folders().iter().map(|folder| folder.display().to_string()).collect();
        Err(Error::bad_argument(format!(
            "{} is outside of the folders this agent may change ({}); the user can add one with the setting `folders`",
            super::place::shown(&real),
            folders.join(", ")
        )))
    }

    /// A real path as it is told to the model.
    pub(super) fn shown(&self, real: &std::path::Path) -> String {
        match real.strip_prefix(self.workspace.root()) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => super::place::shown(rest),
            Err(_) => super::place::shown(real),
        }
    }

    /// Does work that waits for disks on a thread that the kernel keeps within bounds.
    pub(super) async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let call = self.clone();
        let done = self.sandbox.run(move || work(&call)).await?;
        done.map_err(|error| self.explained(error))
    }

    /// A refusal of the kernel that comes from something hidden nearby says so.
    fn explained(&self, error: Error) -> Error {
        let is_refusal = error.message().contains(super::place::DENIED);
        match self.sandbox.closed_to_new_files().filter(|_| is_refusal) {
            Some(why) => Error::new(error.class(), format!("{}; {why}", error.message())),
            None => error,
        }
    }

    /// Fails if nobody waits any more.
    pub(super) fn go_on(&self) -> Result<()> {
        if self.cx.is_cancelled() {
            Err(Error::cancelled("the request was cancelled"))
        } else {
            Ok(())
        }
    }

    /// Whether the time of the call is over, or nobody waits any more.
    pub(super) fn is_over(&self) -> bool {
        self.cx.is_cancelled() || Instant::now() > self.until
    }
}

/// The arguments of a call, as its tool takes them.
pub(super) fn arguments<T: DeserializeOwned>(input: &ToolInput) -> Result<T> {
    let tool = &input.tool_name;
    let wrong = |problem: String| {
        Error::bad_argument(format!(
            "{tool} was not run: {problem}; see its parameters and call it again"
        ))
    };
    let payload = match &input.payload {
        Value::Object(fields) => Value::Object(fields.clone()),
        // A patch is often sent as it is.
        Value::String(text) if tool == "apply_patch" && input.payload_kind == PayloadKind::Text => {
            serde_json::json!({ "patch": text })
        }
        Value::Null => Value::Object(Default::default()),
        _ => return Err(wrong("its arguments are no JSON object".to_owned())),
    };
    serde_json::from_value(as_meant(payload)).map_err(|error| wrong(error.to_string()))
}

/// Numbers and truth values that small models write as texts.
fn as_meant(payload: Value) -> Value {
    const NUMBERS: [&str; 6] = ["offset", "limit", "byte_offset", "context", "depth", "max_lines"];
    const FLAGS: [&str; 5] = ["replace_all", "ignore_case", "literal", "ignored", "multiline"];
    let Value::Object(mut fields) = payload else { return payload };
    for (key, value) in &mut fields {
        let meant = match value {
            Value::String(text) if NUMBERS.contains(&key.as_str()) => {
                text.trim().parse::<u64>().ok().map(Value::from)
            }
            Value::Number(number) if NUMBERS.contains(&key.as_str()) => number
                .as_f64()
                .filter(|number| number.fract() == 0.0 && *number >= 0.0)
                .map(|number| Value::from(number as u64)),
            Value::String(text) if FLAGS.contains(&key.as_str()) => {
                text.trim().to_ascii_lowercase().parse::<bool>().ok().map(Value::from)
            }
            _ => None,
        };
        if let Some(meant) = meant {
            *value = meant;
        }
    }
    Value::Object(fields)
}
