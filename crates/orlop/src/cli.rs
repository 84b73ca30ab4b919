//! The command line: every command and flag, with the help people read.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Agents that answer, use tools and remember, from the command line.
#[derive(Debug, Parser)]
#[command(
    name = "orlop",
    version,
    about,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
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
    /// Say more on stderr; twice for everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask once and print the answer.
    Run(Run),
    /// Serve the agents over HTTP.
    Serve(Serve),
    /// Stored sessions: list, show, search, fork, edit, delete.
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
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// Begin a plugin: a folder with a plugin that works, and its test.
    New(PluginNew),
    /// Test a plugin: its examples, and what every plugin has to do.
    Test(PluginTest),
    /// Add a plugin: a folder, a file, a git URL, `npm:NAME` or `pip:NAME`.
    Add(PluginAdd),
    /// Grant a plugin what it asks for now.
    Accept {
        /// The plugin.
        name: String,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
    /// Remove a plugin. Files that are yours stay.
    Remove {
        /// The plugin.
        name: String,
    },
    /// Work on a plugin: start it again whenever a file of it changes, and show what it does.
    Dev(PluginDev),
    /// Ask once, as `orlop run` does, and keep everything that crosses to and from plugins.
    Record(PluginRecord),
    /// Run a plugin against a recording and show what comes out otherwise.
    Replay(PluginReplay),
    /// Say why an action of a plugin ran or did not.
    Explain(PluginExplain),
    /// The plugins there are, and those that cannot be used.
    List {
        /// All plugins, those that ship among them, in the order they run in.
        #[arg(long)]
        order: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Begin a plugin.
#[derive(Debug, Args)]
pub(crate) struct PluginNew {
    /// Its name, and that of the new folder.
    pub(crate) name: String,
    /// What it is.
    #[arg(long, value_enum, default_value_t = PluginKind::Tool)]
    pub(crate) kind: PluginKind,
    /// What it is written in.
    #[arg(long, value_enum, default_value_t = PluginLanguage::Python)]
    pub(crate) lang: PluginLanguage,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum PluginKind {
    /// Talks to a model server.
    Provider,
    /// Stands beside a provider, on its stream.
    Extension,
    /// Shapes sessions and requests.
    Feature,
    /// Something for the model to call.
    Tool,
    /// Works on all sessions.
    Application,
    /// Stands around every request.
    Host,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PluginLanguage {
    /// Python 3.10 or later.
    Python,
    /// TypeScript on Node 20 or later.
    Typescript,
    /// JavaScript on Node 20 or later.
    Javascript,
    /// Rust, as a part of a program of your own.
    Rust,
}

/// Test a plugin.
#[derive(Debug, Args)]
pub(crate) struct PluginTest {
    /// The folder or file of the plugin, or the name of one that was added.
    #[arg(default_value = ".")]
    pub(crate) path: String,
    /// Write down what people see of the examples, instead of comparing it.
    #[arg(long)]
    pub(crate) update: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Why a plugin did something, or did not.
#[derive(Debug, Args)]
pub(crate) struct PluginExplain {
    /// The plugin.
    pub(crate) plugin: String,
    /// One of its actions, or of its hooks; all if it is not said.
    pub(crate) action: Option<String>,
    /// In this request; the last one if it is not said.
    #[arg(long, value_name = "ID")]
    pub(crate) request: Option<String>,
    /// For this agent; the one of the request if it is not said.
    #[arg(long, short, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Work on a plugin.
#[derive(Debug, Args)]
pub(crate) struct PluginDev {
    /// Its folder or file.
    pub(crate) path: PathBuf,
    /// Ask this now and after every change. Without it, every line that is typed is asked.
    pub(crate) prompt: Option<String>,
    /// The agent.
    #[arg(long, short, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Run tool calls that would ask; without it they are refused.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Keep what crosses between Orlop and its plugins.
#[derive(Debug, Args)]
pub(crate) struct PluginRecord {
    /// The file to write.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) run: Run,
}

/// Run a plugin against a recording.
#[derive(Debug, Args)]
pub(crate) struct PluginReplay {
    /// The recording.
    pub(crate) file: PathBuf,
    /// The plugin: its folder or file. Without it, the one in use of the recorded name.
    pub(crate) path: Option<PathBuf>,
    /// Write what came out now into the recording.
    #[arg(long)]
    pub(crate) update: bool,
}

/// Add a plugin.
#[derive(Debug, Args)]
pub(crate) struct PluginAdd {
    /// Where it is: a folder, a file, a git URL, `npm:NAME` or `pip:NAME`.
    pub(crate) source: String,
    /// Call it this.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Grant what it asks for without asking.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Ask once and print the answer.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// What to ask. `-` reads it from standard input; input that is piped in is added to it.
    pub(crate) prompt: Option<String>,
    /// The agent of a new session.
    #[arg(long, short, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// The model, for this request.
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Go on with this session, or begin one with this id.
    #[arg(long, short, value_name = "ID", conflicts_with = "continue_last")]
    pub(crate) session: Option<String>,
    /// Go on with the session last used in this folder.
    #[arg(long = "continue", short = 'c')]
    pub(crate) continue_last: bool,
    /// Attach a file. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// How to print the answer.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
    /// The JSON Schema that the answer has to fit: a file, or the schema itself.
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) output_schema: Option<String>,
    /// Run every tool call that would ask.
    #[arg(long, conflicts_with = "deny")]
    pub(crate) yes: bool,
    /// Refuse every tool call that would ask.
    #[arg(long)]
    pub(crate) deny: bool,
    /// Store nothing.
    #[arg(long, conflicts_with_all = ["session", "continue_last"])]
    pub(crate) ephemeral: bool,
    /// The id of the request: sending it again gives the same answer and runs nothing twice.
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
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

/// How to print an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The text of the answer.
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object a line for every event.
    StreamJson,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// The sessions there are, the most recently changed first.
    List {
        /// Only those of this agent.
        #[arg(long)]
        agent: Option<String>,
        /// Only those whose title contains this text.
        #[arg(long)]
        query: Option<String>,
        /// Also those in which an agent worked for another one.
        #[arg(long)]
        sub_sessions: bool,
        /// At most so many.
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// Go on where a page ended.
        #[arg(long)]
        cursor: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// The messages of a session.
    Show {
        /// The session.
        id: String,
        /// Only the last so many messages.
        #[arg(long)]
        last: Option<usize>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Sessions in which all these words occur.
    Search {
        /// The words.
        #[arg(required = true)]
        words: Vec<String>,
        /// Also those in which an agent worked for another one.
        #[arg(long)]
        sub_sessions: bool,
        /// At most so many sessions.
        #[arg(long, default_value_t = 20)]
        limit: usize,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a session to a file or to standard output.
    Export {
        /// The session.
        id: String,
        /// The file.
        #[arg(long, short)]
        output: Option<PathBuf>,
        /// The format.
        #[arg(long, value_enum, default_value_t = ExportFormat::Json)]
        format: ExportFormat,
    },
    /// Read a session from a file, or from standard input with `-`.
    Import {
        /// The file.
        file: PathBuf,
        /// Store it under this id.
        #[arg(long)]
        id: Option<String>,
    },
    /// Copy a session up to a message under a new id.
    Fork {
        /// The session.
        id: String,
        /// The last message to keep; all if it is not said.
        #[arg(long, value_name = "INDEX", allow_negative_numbers = true)]
        at: Option<i64>,
        /// The id of the fork.
        #[arg(long)]
        id_of_fork: Option<String>,
    },
    /// Change a session: its title, its settings, its messages.
    Edit(Edit),
    /// Take back what an action changed.
    Undo {
        /// The session.
        id: String,
        /// The change; without it the changes are listed.
        change: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Delete sessions with everything that belongs to them.
    Delete {
        /// The sessions.
        #[arg(required = true)]
        ids: Vec<String>,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
    /// Give a session another agent.
    Switch {
        /// The session.
        id: String,
        /// The agent.
        agent: String,
    },
}

/// Change a session: its title, its settings, its messages.
#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The session.
    pub(crate) id: String,
    /// Another title.
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// A setting of this session only; an empty value removes it. May be repeated.
    #[arg(long = "override", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// The message to change; negative numbers count from the end.
    #[arg(long, value_name = "INDEX", requires = "content", allow_negative_numbers = true)]
    pub(crate) message: Option<i64>,
    /// What the message is to say.
    #[arg(long, value_name = "TEXT", requires = "message")]
    pub(crate) content: Option<String>,
    /// Remove a message. May be repeated.
    #[arg(long, value_name = "INDEX", allow_negative_numbers = true)]
    pub(crate) remove: Vec<i64>,
    /// Append the messages of another session.
    #[arg(long, value_name = "ID")]
    pub(crate) join: Option<String>,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Everything; can be imported again.
    Json,
    /// For reading.
    Markdown,
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
pub(crate) enum Model {
    /// The models an agent's provider offers.
    List {
        /// The agent; the default one if it is not said.
        #[arg(long)]
        agent: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Bring a model here, checked by its hash; what was cut off goes on where it stopped.
    Pull(Pull),
}

/// Bring a model here.
#[derive(Debug, Args)]
pub(crate) struct Pull {
    /// The model: `smollm2`, or with --from or --provider ollama any other.
    pub(crate) name: String,
    /// Take it from this file, folder or address, in place of the usual sources.
    #[arg(long, value_name = "FILE|FOLDER|URL")]
    pub(crate) from: Option<String>,
    /// Who is to have it.
    #[arg(long, value_enum, default_value_t = PullFor::Local)]
    pub(crate) provider: PullFor,
    /// Bring it again if it is there.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object a line for everything that happens.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Who is to have a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PullFor {
    /// Orlop itself: a file in ORLOP_HOME/models.
    Local,
    /// A server of Ollama, which brings it itself.
    Ollama,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// The servers there are and what is known of them. Starts none.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Start a server and show what it offers.
    Test {
        /// The server.
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Log in to a server in the browser.
    Login {
        /// The server.
        name: String,
    },
    /// Remove the login to a server.
    Logout {
        /// The server.
        name: String,
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
