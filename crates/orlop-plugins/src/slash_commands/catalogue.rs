//! Which commands there are: our own, short names for actions of plugins, all other actions that
//! people run, and the files that people wrote.

use super::files::{self, FileCommand};
use super::own::{self, Own};
use super::typed::arguments;
use crate::place::Place;
use orlop_app::ui::plain_line;
use orlop_core::types::ActionOwner;
use orlop_core::types::nearest::nearest;
use orlop_core::{ActionDefinition, Map, Result, Value};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;

/// At which plugins tell the commands that they take themselves.
const COMMAND_LIST: &str = "command_list";

/// A command that can be typed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Command {
    /// What is typed behind the slash.
    pub name: String,
    /// What may follow it, for instance `[NAME]`.
    pub arguments: String,
    /// What it does.
    pub description: String,
    /// Whose it is: `orlop`, `project`, `user`, or the name of a plugin.
    pub source: String,
    /// Another name, with its owner in front; it is never ambiguous.
    #[serde(skip)]
    full_name: String,
    #[serde(skip)]
    pub(super) run: Run,
}

/// What a command does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Run {
    Own(Own),
    Action(Arc<ActionDefinition>),
    /// One action if nothing follows the command, else another, with an input that gets it all.
    Short {
        bare: Arc<ActionDefinition>,
        given: Option<(Arc<ActionDefinition>, &'static str)>,
        /// Whether it makes sense in a session that has not begun.
        begins: bool,
    },
    File(FileCommand),
    /// Another plugin of the host takes it.
    Elsewhere,
}

impl Command {
    pub(super) fn own(name: &str, arguments: &str, description: &str, run: Own) -> Self {
        Self {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            description: description.to_owned(),
            source: "orlop".to_owned(),
            full_name: format!("orlop:{name}"),
            run: Run::Own(run),
        }
    }

    /// Whether another plugin takes it, and completes it.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.run == Run::Elsewhere
    }

    /// The command with what may follow it.
    pub(super) fn usage(&self) -> String {
        format!("/{} {}", self.name, self.arguments).trim_end().to_owned()
    }
}

/// A short name for an action, which a plugin may or may not offer.
struct Short {
    name: &'static str,
    /// The action if nothing follows the command.
    bare: &'static str,
    /// The action and the input that gets what follows.
    given: Option<(&'static str, &'static str)>,
    arguments: &'static str,
    description: &'static str,
    begins: bool,
}

const SHORT: [Short; 10] = [
    Short {
        name: "compact",
        bare: "compact_range",
        given: Some(("compact_range", "instructions")),
        arguments: "[INSTRUCTIONS]",
        description: "Replaces the conversation so far by a summary",
        begins: false,
    },
    Short {
        name: "context",
        bare: "show_context",
        given: None,
        arguments: "",
        description: "Shows how full the context window is",
        begins: false,
    },
    Short {
        name: "cost",
        bare: "show_usage",
        given: None,
        arguments: "",
        description: "Shows what the conversation cost",
        begins: false,
    },
    Short {
        name: "login",
        bare: "login_start",
        given: Some(("login_start", "name")),
        arguments: "[NAME]",
        description: "Logs in to a service",
        begins: false,
    },
    Short {
        name: "logout",
        bare: "logout",
        given: Some(("logout", "name")),
        arguments: "[NAME]",
        description: "Logs out of a service",
        begins: false,
    },
    Short {
        name: "mcp",
        bare: "list_mcp_servers",
        given: Some(("reconnect_mcp_server", "name")),
        arguments: "[SERVER]",
        description: "Shows the MCP servers, or starts one anew",
        begins: false,
    },
    Short {
        name: "memory",
        bare: "list_memory",
        given: None,
        arguments: "",
        description: "Shows what is remembered of you",
        begins: false,
    },
    Short {
        name: "permissions",
        bare: "list_permissions",
        given: Some(("set_permission_mode", "mode")),
        arguments: "[MODE]",
        description: "Shows what tools may do, or sets the mode",
        begins: true,
    },
    Short {
        name: "skills",
        bare: "list_skills",
        given: None,
        arguments: "",
        description: "Shows the skills there are",
        begins: false,
    },
    Short {
        name: "undo",
        bare: "undo_files",
        given: None,
        arguments: "",
        description: "Puts files back as they were before the last turn that changed some",
        begins: false,
    },
];

/// All commands of a place.
pub(super) struct Catalogue {
    pub(super) commands: Vec<Command>,
    /// What is wrong with files that are no commands.
    pub(super) problems: Vec<String>,
}

impl Catalogue {
    pub(super) async fn of(place: &Place) -> Result<Self> {
        let actions = place.actions().await?;
        let mut all = Self { commands: own::commands(), problems: Vec::new() };
        all.add_short(&actions);
        all.add_actions(&actions);
        let found = files::find(place.app.config().env());
        all.problems = found.problems;
        for file in found.commands {
            let command = Command {
                name: file.name.clone(),
                arguments: file.arguments.clone(),
                description: file.description.clone(),
                source: file.of.to_owned(),
                full_name: format!("{}:{}", file.of, file.name),
                run: Run::File(file),
            };
            all.add(command);
        }
        all.add_elsewhere(place).await?;
        Ok(all)
    }

    /// Adds the commands that other plugins take, as these tell at the lifecycle `command_list`.
    async fn add_elsewhere(&mut self, place: &Place) -> Result<()> {
        let Ok((_, config)) = place.agent() else { return Ok(()) };
        let session = place.session_or_new();
        let run = place.app.run_session_lifecycle(COMMAND_LIST, &session, &config, Map::new());
        for record in run.await?.results {
            let told = record.result.get("commands").and_then(Value::as_array);
            for command in told.into_iter().flatten() {
                let text = |key: &str| command.get(key).and_then(Value::as_str).map(plain_line);
                let Some(name) = text("name").filter(|name| !name.is_empty()) else { continue };
                self.add(Command {
                    full_name: format!("{}.{name}", record.plugin),
                    name,
                    arguments: text("arguments").unwrap_or_default(),
                    description: text("description").unwrap_or_default(),
                    source: record.plugin.clone(),
                    run: Run::Elsewhere,
                });
            }
        }
        Ok(())
    }

    fn add_short(&mut self, actions: &[Arc<ActionDefinition>]) {
        let find = |id: &str| actions.iter().find(|action| action.id == id).cloned();
        for short in &SHORT {
            let Some(bare) = find(short.bare) else { continue };
            let given = short.given.and_then(|(id, input)| Some((find(id)?, input)));
            let source = bare.plugin.clone().unwrap_or_default();
            self.add(Command {
                name: short.name.to_owned(),
                arguments: short.arguments.to_owned(),
                description: short.description.to_owned(),
                full_name: format!("{source}.{}", short.name),
                source,
                run: Run::Short { bare, given, begins: short.begins },
            });
        }
    }

    fn add_actions(&mut self, actions: &[Arc<ActionDefinition>]) {
        let mut by_hand: Vec<&ActionDefinition> = Vec::new();
        for action in actions.iter().filter(|action| action.trigger.is_none()) {
            let is_own = action.plugin.as_deref() == Some(super::NAME);
            // A plugin may offer one action as two kinds; the first is the one that is run.
            let is_same =
                |held: &&ActionDefinition| (&held.id, &held.plugin) == (&action.id, &action.plugin);
            if !is_own && !by_hand.iter().any(is_same) {
                by_hand.push(action);
            }
        }
        let mut count: HashMap<&str, usize> = HashMap::new();
        by_hand.iter().for_each(|action| *count.entry(&action.id).or_default() += 1);
        for action in by_hand {
            let plugin = action.plugin.clone().unwrap_or_default();
            let full_name = format!("{plugin}.{}", action.id);
            // Two of one name are told apart, whichever was there first.
            let is_alone = count.get(action.id.as_str()) == Some(&1);
            let described = action.description.as_deref().filter(|text| !text.trim().is_empty());
            self.add(Command {
                name: if is_alone { action.id.clone() } else { full_name.clone() },
                arguments: arguments(action),
                description: plain_line(described.unwrap_or(&action.label)),
                source: plugin,
                full_name,
                run: Run::Action(Arc::new(action.clone())),
            });
        }
    }

    /// Adds a command, under its full name if its own is taken.
    fn add(&mut self, mut command: Command) {
        if self.commands.iter().any(|held| same(&held.name, &command.name)) {
            command.name.clone_from(&command.full_name);
        }
        self.commands.push(command);
    }

    /// The command of a name; `-` and `_` are the same, and so are small and large letters.
    pub(super) fn find(&self, name: &str) -> Option<&Command> {
        let by_name = self.commands.iter().find(|command| same(&command.name, name));
        by_name.or_else(|| {
            let dotted =
                |full: &str| same(&full.replacen('.', ":", 1), &name.replacen('.', ":", 1));
            self.commands.iter().find(|command| dotted(&command.full_name))
        })
    }

    /// The name that was meant.
    pub(super) fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.commands.iter().map(|command| command.name.as_str()))
    }

    /// Whether an action has a short name already.
    pub(super) fn has_short(&self, command: &Command) -> bool {
        let Run::Action(action) = &command.run else { return false };
        let is_same =
            |held: &ActionDefinition| (&held.id, &held.plugin) == (&action.id, &action.plugin);
        self.commands.iter().any(|held| match &held.run {
            Run::Short { bare, given, .. } => {
                is_same(bare) || given.as_ref().is_some_and(|(given, _)| is_same(given))
            }
            _ => false,
        })
    }
}

fn same(a: &str, b: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    plain(a) == plain(b)
}

/// Whether an action cannot run without a stored session.
pub(super) fn needs_session(action: &ActionDefinition) -> bool {
    let declared = action.inputs.get("session_id").and_then(|input| input.get("required"));
    action.action_owner != Some(ActionOwner::Application) || declared == Some(&Value::Bool(true))
}
