//! The settings of `shell`, and the environment its commands get.

use crate::sandbox::Sandbox;
use orlop_app::config::{RuntimeEnv, Vars};
use orlop_core::{Context, Manifest, Value};
use serde_json::json;
use std::time::Duration;

/// Words in the name of a variable that make it a secret.
const SECRET_WORDS: &[&str] = &[
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASS",
    "PASSPHRASE",
    "PWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "COOKIE",
    "DSN",
];

/// Of those, names that only sound like one.
const NO_SECRETS: &[&str] = &["PWD", "OLDPWD"];

/// Programs print plainly, ask nothing, and page nothing: nobody sits in front of them.
const PLAIN: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
];

/// Caches that build tools cannot work without, kept in the temporary folder.
const CACHES: &[(&str, &str)] =
    &[("GOCACHE", "go-build"), ("UV_CACHE_DIR", "uv"), ("npm_config_cache", "npm")];

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) timeout: Duration,
    pub(super) max_timeout: Duration,
    pub(super) max_output: usize,
    pub(super) max_log_bytes: u64,
    pub(super) max_jobs: usize,
    env: Vars,
}

impl Settings {
    pub(super) fn of(cx: &Context) -> Self {
        let section = cx.config().get("shell");
        let setting = |key: &str| section.and_then(|section| section.get(key));
        let number =
            |key: &str, default: u64| setting(key).and_then(Value::as_u64).unwrap_or(default);
        let env = setting("env").and_then(Value::as_object).into_iter().flatten();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let max_timeout = Duration::from_secs(number("max_timeout_s", 600).max(1));
        Self {
            timeout: Duration::from_secs(number("timeout_s", 120).max(1)).min(max_timeout),
            max_timeout,
            max_output: usize::try_from(number("max_output", 30_000))
                .unwrap_or(usize::MAX)
                .max(300),
            max_log_bytes: number("max_log_bytes", 16 << 20),
            max_jobs: usize::try_from(number("max_jobs", 8)).unwrap_or(usize::MAX),
            env: env.map(|(name, value)| (name.clone(), text(value))).collect(),
        }
    }

    pub(super) fn declared(manifest: Manifest) -> Manifest {
        let number = |default: u64, text: &str| json!({ "type": "integer", "minimum": 0, "default": default, "description": text });
        Sandbox::settings(manifest)
            .config("shell.timeout_s", number(120, "Seconds after which a command is ended, where the model does not say."))
            .config("shell.max_timeout_s", number(600, "The most seconds the model may give a command."))
            .config("shell.max_output", number(30_000, "The most bytes of an output that the model reads; the middle is left out."))
            .config("shell.max_log_bytes", number(16 << 20, "The most bytes of a longer output that are kept in a file."))
            .config("shell.max_jobs", number(8, "The most background jobs of a session that run at the same time."))
            .config("shell.env", json!({ "type": "object", "additionalProperties": { "type": "string" }, "description": "Variables for commands. Keys and tokens of Orlop's own environment reach them only if they are named here." }))
    }

    /// The environment of a command.
    pub(super) fn env(&self, runtime: &RuntimeEnv, sandbox: &Sandbox) -> Vars {
        let mut env = runtime.vars().clone();
        env.retain(|name, _| !is_secret(name));
        let temp = sandbox.temp_folder();
        env.insert("TMPDIR".to_owned(), temp.display().to_string());
        let plain = PLAIN.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        env.extend(plain);
        if sandbox.is_enforced() {
            for (name, folder) in CACHES {
                let folder = temp.join("cache").join(folder).display().to_string();
                env.entry((*name).to_owned()).or_insert(folder);
            }
        }
        env.extend(self.env.clone());
        env
    }
}

/// Whether a variable of this name is likely to hold a secret.
fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let words = upper.split(['_', '-', '.']);
    !NO_SECRETS.contains(&&*upper) && words.into_iter().any(|word| SECRET_WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_secret() {
        for name in [
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "db_password",
            "PGPASSWORD_PASS",
            "SENTRY_DSN",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in
            ["PATH", "HOME", "PWD", "OLDPWD", "KEYBOARD", "TOKENIZERS_PARALLELISM", "SSH_AUTH_SOCK"]
        {
            assert!(!is_secret(name), "{name}");
        }
    }
}
