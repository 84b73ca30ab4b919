//! The flags of a request that change settings of its agent, and what they change.

use crate::exit::Failure;
use clap::{Args, ValueEnum};
use orlop_app::Approval;
use orlop_core::{Config, Map, Value};
use serde_json::json;
use std::path::{Path, PathBuf};

/// What a dry run denies, whatever allows it: changing files, running programs, reaching other
/// machines, and changing what is remembered.
const DRY: [&str; 5] = ["@edit", "@run", "@network", "remember", "forget"];

/// Settings of one request.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Settings of this request")]
pub(crate) struct RunFlags {
    /// What the agent is told first, in place of its system message.
    #[arg(long, value_name = "TEXT")]
    pub(crate) system_prompt: Option<String>,
    /// What the agent is told behind its system message.
    #[arg(long, value_name = "TEXT")]
    pub(crate) append_system_prompt: Option<String>,
    /// At most so many model calls.
    #[arg(long, visible_alias = "max-turns", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_steps: Option<u32>,
    /// What the request may cost, in US dollars.
    #[arg(long, value_name = "DOLLARS", value_parser = dollars, allow_negative_numbers = true)]
    pub(crate) max_budget: Option<f64>,
    /// Run tool calls without asking that this rule covers, such as `shell(git *)`. May be repeated.
    #[arg(long, value_name = "RULE")]
    pub(crate) allowed_tools: Vec<String>,
    /// Never run tool calls that this rule covers. May be repeated.
    #[arg(long, value_name = "RULE")]
    pub(crate) disallowed_tools: Vec<String>,
    /// What holds for tool calls that no rule is about.
    #[arg(long, value_enum)]
    pub(crate) permission_mode: Option<PermissionMode>,
    /// A further folder that tools may use as they use the working folder. May be repeated.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Change nothing: tools may only read, and nothing is stored.
    #[arg(long, conflicts_with_all = ["permission_mode", "dangerously_skip_permissions", "fork", "branch_at", "title"])]
    pub(crate) dry_run: bool,
    /// Run every tool call, also those that rules deny. Only the sandbox is left.
    #[arg(long, conflicts_with = "permission_mode")]
    pub(crate) dangerously_skip_permissions: bool,
}

/// What holds for tool calls that no rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PermissionMode {
    /// Reading in the workspace runs, the rest asks.
    Ask,
    /// Changing files in the workspace runs, too.
    #[value(name = "accept_edits", alias = "accept-edits")]
    AcceptEdits,
    /// Reading in the workspace runs, the rest is denied.
    #[value(name = "read_only", alias = "read-only", alias = "plan")]
    ReadOnly,
    /// Everything runs that no rule is about.
    All,
}

impl PermissionMode {
    fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AcceptEdits => "accept_edits",
            Self::ReadOnly => "read_only",
            Self::All => "all",
        }
    }
}

impl RunFlags {
    /// The overrides that these flags make of the settings in force. Lists grow; they do not lose
    /// what the configuration has.
    pub(crate) fn overrides(&self, config: &Config) -> Result<Map, Failure> {
        let mut overrides = Map::new();
        let mut set = |key: &str, value: Value| overrides.insert(key.to_owned(), value);
        if let Some(text) = self.system_message(config) {
            set("system_message", text.into());
        }
        if let Some(steps) = self.max_steps {
            set("max_steps", steps.into());
        }
        if let Some(dollars) = self.max_budget {
            set("usage.max_cost_per_turn", json!(dollars));
        }
        if !self.allowed_tools.is_empty() {
            set("permissions.allow", extended(config, "permissions.allow", &self.allowed_tools));
        }
        let mut denied = self.disallowed_tools.clone();
        let mut mode = self.permission_mode;
        if self.dry_run {
            denied.extend(DRY.map(str::to_owned));
            mode = Some(PermissionMode::ReadOnly);
        }
        if !denied.is_empty() {
            set("permissions.deny", extended(config, "permissions.deny", &denied));
        }
        if let Some(mode) = mode {
            set("permissions.mode_of_request", mode.name().into());
        }
        if self.dangerously_skip_permissions {
            set("permissions.enabled", false.into());
        }
        if !self.add_dir.is_empty() {
            let folders =
                self.add_dir.iter().map(|path| folder(path)).collect::<Result<Vec<_>, _>>()?;
            set("folders", extended(config, "folders", &folders));
        }
        Ok(overrides)
    }

    fn system_message(&self, config: &Config) -> Option<String> {
        let told = self.system_prompt.as_deref().or_else(|| config.text("system_message"));
        match (&self.append_system_prompt, &self.system_prompt) {
            (None, None) => None,
            (None, Some(text)) => Some(text.clone()),
            (Some(more), _) => {
                let parts = [told.unwrap_or_default(), more].map(str::trim_end);
                Some(
                    parts
                        .into_iter()
                        .filter(|part| !part.is_empty())
                        .collect::<Vec<_>>()
                        .join("\n\n"),
                )
            }
        }
    }

    /// What becomes of calls that would ask, if the flags say so.
    pub(crate) fn approval(&self) -> Option<Approval> {
        match (self.dangerously_skip_permissions, self.dry_run) {
            (true, _) => Some(Approval::Allow),
            (false, true) => Some(Approval::Deny),
            (false, false) => None,
        }
    }
}

/// A list of the configuration with more behind it.
fn extended(config: &Config, key: &str, more: &[String]) -> Value {
    let mut list = config.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    list.extend(more.iter().map(|text| Value::from(text.clone())));
    list.into()
}

fn folder(path: &Path) -> Result<String, Failure> {
    let real = path.canonicalize().ok().filter(|real| real.is_dir());
    let real = real.ok_or_else(|| {
        Failure::usage(format!(
            "--add-dir: {} is no folder; name one that is there",
            path.display()
        ))
    })?;
    Ok(real.display().to_string())
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "write a number of US dollars, such as 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(flags: RunFlags, expected: Expect) {
        let config = Config::from_json(json!({
            "system_message": "Be kind.", "permissions": { "deny": ["shell(rm *)"] },
        }));
        let overrides = flags.overrides(&config.unwrap()).unwrap();
        expected.assert_eq(&Value::Object(overrides).to_string());
    }

    #[test]
    fn flags_become_overrides_and_lists_keep_what_they_had() {
        check(RunFlags::default(), expect!["{}"]);
        let more = Some("Be brief.".to_owned());
        check(
            RunFlags { append_system_prompt: more.clone(), ..RunFlags::default() },
            expect![[r#"{"system_message":"Be kind.\n\nBe brief."}"#]],
        );
        check(
            RunFlags {
                system_prompt: Some("Be a pirate.".to_owned()),
                append_system_prompt: more,
                max_steps: Some(3),
                max_budget: Some(0.5),
                ..RunFlags::default()
            },
            expect![[
                r#"{"system_message":"Be a pirate.\n\nBe brief.","max_steps":3,"usage.max_cost_per_turn":0.5}"#
            ]],
        );
        check(
            RunFlags {
                allowed_tools: vec!["shell(git *)".to_owned()],
                disallowed_tools: vec!["web_fetch".to_owned()],
                permission_mode: Some(PermissionMode::AcceptEdits),
                ..RunFlags::default()
            },
            expect![[
                r#"{"permissions.allow":["shell(git *)"],"permissions.deny":["shell(rm *)","web_fetch"],"permissions.mode_of_request":"accept_edits"}"#
            ]],
        );
        check(
            RunFlags { dry_run: true, ..RunFlags::default() },
            expect![[
                r#"{"permissions.deny":["shell(rm *)","@edit","@run","@network","remember","forget"],"permissions.mode_of_request":"read_only"}"#
            ]],
        );
        check(
            RunFlags { dangerously_skip_permissions: true, ..RunFlags::default() },
            expect![[r#"{"permissions.enabled":false}"#]],
        );
    }
}
