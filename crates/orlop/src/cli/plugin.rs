//! `orlop plugin`: writing plugins, testing them, and having them.

use super::Run;
use clap::{Args, Subcommand};
use std::path::PathBuf;

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
    /// Use a plugin again that was switched off.
    Enable {
        /// The plugin.
        name: String,
        /// In the file of the project, not the user's.
        #[arg(long)]
        project: bool,
    },
    /// Switch a plugin off. It stays added, with what it was granted.
    Disable {
        /// The plugin.
        name: String,
        /// In the file of the project, not the user's.
        #[arg(long)]
        project: bool,
    },
    /// What is known of a plugin: where it is, what it may do, what it holds, its settings.
    Info {
        /// The plugin.
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Work on a plugin: start it again whenever a file of it changes, and show what it does.
    Dev(PluginDev),
    /// Ask once, as `orlop run` does, and keep everything that crosses to and from plugins.
    Record(PluginRecord),
    /// Run a plugin against a recording and show what comes out otherwise.
    Replay(PluginReplay),
    /// Say why an action, a tool or a hook of a plugin ran or did not.
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
    /// Rust, as a program of its own.
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
    /// One of its actions, tools or hooks; all if it is not said.
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
    #[arg(default_value = ".")]
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
    pub(crate) run: Box<Run>,
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
