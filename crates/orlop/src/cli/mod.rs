//! The command line: every command and flag, with the help people read. Commands that have many of
//! their own stand in files of theirs.

mod mcp;
mod model;
mod plugin;
mod run;
mod session;

pub(crate) use mcp::{Mcp, McpAdd};
pub(crate) use model::{Model, Pull, PullFor};
pub(crate) use plugin::{
    Plugin, PluginAdd, PluginDev, PluginExplain, PluginKind, PluginLanguage, PluginNew,
    PluginRecord, PluginReplay, PluginTest,
};
pub(crate) use run::{Output, Run};
pub(crate) use session::{Edit, ExportFormat, Session};

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Agents that answer, use tools and remember, from the command line.
#[derive(Debug, Parser)]
#[command(
    name = "orlop",
    version,
    about,
    propagate_version = true,
    after_help = "Without a command, orlop opens a chat; in a pipe it answers once, as orlop run does."
)]
pub(crate) struct Cli {
    /// Read only this configuration file.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set a configuration key, for instance `--set agents.default.model=m`. May be repeated.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Use everything the project's orlop.toml says, this time. ORLOP_TRUST=1 does the same.
    #[arg(long, global = true)]
    pub(crate) trust: bool,
    /// Work in this folder.
    #[arg(short = 'C', long = "cd", global = true, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Say more on stderr; twice for everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(flatten)]
    pub(crate) chat: Chat,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The chat, where no command is named.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct Chat {
    /// What to say first.
    pub(crate) prompt: Option<String>,
    /// Go on with the session last used in this folder.
    #[arg(long = "continue", short = 'c', conflicts_with = "resume")]
    pub(crate) continue_last: bool,
    /// Go on with this session, or choose one from a list.
    #[arg(long, short, value_name = "ID", num_args = 0..=1)]
    pub(crate) resume: Option<Option<String>>,
    /// The agent of a new session.
    #[arg(long, short, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// The model of a new session.
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Line by line, without redrawing: for screen readers and simple terminals.
    #[arg(long)]
    pub(crate) plain: bool,
    /// The keys of the editor.
    #[arg(long, value_enum, value_name = "KEYS")]
    pub(crate) keys: Option<EditorKeys>,
    /// Bring the embedded model without asking, where it is needed.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Attach a file to what is said first. May be repeated.
    #[arg(long, short = 'f', visible_aliases = ["file", "image"], value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// Answer once, as orlop run does, and print it like this.
    #[arg(long, short, visible_alias = "output-format", value_enum, conflicts_with_all = ["plain", "keys"])]
    pub(crate) output: Option<Output>,
}

/// Whose keys the editor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EditorKeys {
    /// Those of most command lines.
    Emacs,
    /// Those of vi.
    Vi,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask once and print the answer.
    #[command(visible_alias = "exec")]
    Run(Box<Run>),
    /// Serve the agents over HTTP.
    Serve(Serve),
    /// Stored sessions: list, show, search, fork, edit, put away, delete.
    #[command(subcommand)]
    Session(Session),
    /// The agents of the configuration.
    #[command(subcommand)]
    Agent(Agent),
    /// The tools agents have.
    #[command(subcommand)]
    Tool(Tool),
    /// The models a provider offers, and bringing them here.
    #[command(subcommand)]
    Model(Model),
    /// The MCP servers of the configuration: list, test, log in.
    #[command(subcommand)]
    Mcp(Mcp),
    /// What plugins offer to do: list and run.
    #[command(subcommand)]
    Action(Action),
    /// Plugins beside those that ship: write, test, add, list, remove.
    #[command(subcommand)]
    Plugin(Plugin),
    /// Log in to a service of `[device_login]` by entering a code on another device.
    Login {
        /// The service; may be left out where there is only one.
        name: Option<String>,
    },
    /// Remove a login.
    Logout {
        /// The service; may be left out where there is only one.
        name: Option<String>,
    },
    /// Which hook of which plugin did what in a request, and how long it took.
    Trace {
        /// The request; the last one if it is not said.
        request_id: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// The configuration: show, check, describe, begin one.
    #[command(subcommand)]
    Config(Config),
    /// Trust the orlop.toml of a project, so that everything it says is used.
    Trust(Trust),
    /// Check that everything works, and say what to do where it does not.
    Doctor {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the manual page, made of the same text as this help.
    Man {
        /// The page of this command, for instance `session export`.
        command: Vec<String>,
    },
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Serve the agents over HTTP.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where to listen, in place of `server.listen`: an address and a port, 0 for any that is free.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// How logs are written to stderr.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
}

/// How logs are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Trust the orlop.toml of a project.
#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// A folder in the project; the working folder if it is not said.
    pub(crate) path: Option<PathBuf>,
    /// The folders that are trusted, and those that were refused.
    #[arg(long, conflicts_with_all = ["path", "remove"])]
    pub(crate) list: bool,
    /// Forget what was answered about the folder.
    #[arg(long)]
    pub(crate) remove: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// The agents there are.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// What an agent is made of.
    Show {
        /// The agent; the default one if it is not said.
        agent: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tool {
    /// The tools an agent has.
    List {
        /// The agent; the default one if it is not said.
        #[arg(long)]
        agent: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// The actions there are.
    List {
        /// With those of this session's agent.
        #[arg(long)]
        session: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run an action.
    Run {
        /// The plugin.
        plugin: String,
        /// The action.
        action: String,
        /// Its inputs: `key=value`, where a value may be JSON.
        params: Vec<String>,
        /// On this session.
        #[arg(long)]
        session: Option<String>,
        /// Show what it would change, and change nothing.
        #[arg(long, requires = "session")]
        preview: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// The configuration in force and where each value came from. Secrets are masked.
    Show {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Every problem of the configuration, with file and line.
    Check {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// The JSON Schema of the configuration, for editors.
    Schema,
    /// The files and folders in use.
    Path {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a commented orlop.toml to begin with.
    Init {
        /// Where; the working folder if it is not said.
        path: Option<PathBuf>,
    },
}
