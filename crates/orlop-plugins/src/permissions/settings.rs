//! The settings `permissions`, and what people had remembered, as one policy.

use super::rule::Rule;
use orlop_core::{Config, Error, Result, Value};
use serde_json::json;

/// How many rules there may be of one kind in one place.
pub(crate) const MAX_RULES: usize = 1_000;

/// What holds where no rule does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Reading in the workspace is allowed, everything else asks.
    #[default]
    Ask,
    /// Changing files in the workspace is allowed, too.
    AcceptEdits,
    /// Reading in the workspace is allowed, everything else is denied.
    ReadOnly,
    /// Everything is allowed.
    All,
}

impl Mode {
    pub(crate) const NAMES: [&'static str; 4] = ["ask", "accept_edits", "read_only", "all"];

    pub(crate) fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "ask" => Self::Ask,
            "accept_edits" => Self::AcceptEdits,
            "read_only" => Self::ReadOnly,
            "all" => Self::All,
            _ => {
                return Err(Error::bad_argument(format!(
                    "\"{name}\" is no mode of permissions; there are {}",
                    Self::NAMES.join(", ")
                )));
            }
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AcceptEdits => "accept_edits",
            Self::ReadOnly => "read_only",
            Self::All => "all",
        }
    }
}

/// Mode and rules in force.
#[derive(Debug, Clone, Default)]
pub(crate) struct Policy {
    pub(crate) mode: Mode,
    pub(crate) deny: Vec<Rule>,
    pub(crate) ask: Vec<Rule>,
    pub(crate) allow: Vec<Rule>,
}

impl Policy {
    /// The policy of an agent's settings.
    pub(crate) fn of(config: &Config) -> Result<Self> {
        let section = config.get("permissions").cloned().unwrap_or_default();
        let mut policy = Self::default();
        policy.add(&section)?;
        Ok(policy)
    }

    /// Takes the mode that was given for this request alone: it goes before the one of the session.
    pub(crate) fn take_mode_of_request(&mut self, config: &Config) -> Result<()> {
        if let Some(mode) = config.text("permissions.mode_of_request") {
            self.mode = Mode::named(mode)?;
        }
        Ok(())
    }

    /// Lays rules and, if it names one, a mode over what is there.
    pub(crate) fn add(&mut self, section: &Value) -> Result<()> {
        if let Some(mode) = section.get("mode").filter(|mode| !mode.is_null()) {
            let name =
                mode.as_str().ok_or_else(|| Error::bad_argument("permissions.mode is no text"))?;
            self.mode = Mode::named(name)?;
        }
        for (kind, rules) in
            [("deny", &mut self.deny), ("ask", &mut self.ask), ("allow", &mut self.allow)]
        {
            for text in texts(section, kind)? {
                rules.push(Rule::new(text)?);
            }
        }
        Ok(())
    }
}

fn texts<'a>(section: &'a Value, kind: &str) -> Result<Vec<&'a str>> {
    let wrong = || {
        Error::bad_argument(format!(
            "permissions.{kind} has to be a list of at most {MAX_RULES} texts"
        ))
    };
    match section.get(kind) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(rules)) if rules.len() <= MAX_RULES => {
            rules.iter().map(|rule| rule.as_str().ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

/// What the manifest says of the settings.
pub(crate) fn descriptors() -> [(&'static str, Value); 5] {
    // A tool, and in parentheses what of its argument; `Rule::new` looks closer.
    let rule = json!({ "type": "string", "pattern": r"^\s*[^\s()]+\s*(\(.*\))?\s*$" });
    let rules = |meaning: &str| json!({ "type": "array", "items": rule, "description": meaning });
    [
        (
            "permissions.mode",
            json!({
                "type": "string",
                "enum": Mode::NAMES,
                "default": "ask",
                "description": "What holds for calls that no rule is about: ask (reading in the workspace is allowed, the rest asks), accept_edits (changing files in the workspace, too), read_only (the rest is denied), all.",
            }),
        ),
        (
            "permissions.mode_of_request",
            json!({
                "type": "string",
                "enum": Mode::NAMES,
                "description": "A mode that goes before the one that was set for the session; for requests that say so.",
            }),
        ),
        (
            "permissions.allow",
            rules(
                "Calls that run without a question, such as \"shell(cargo test *)\" or \"edit_file(docs/**)\".",
            ),
        ),
        ("permissions.ask", rules("Calls that always ask, whatever allows them.")),
        ("permissions.deny", rules("Calls that never run, whatever allows them.")),
    ]
}
