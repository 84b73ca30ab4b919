//! `orlop session`: everything that is done to stored sessions.

use clap::{Args, Subcommand, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// The sessions there are, pinned ones first, then the most recently changed.
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
        /// Only those that were put away.
        #[arg(long, conflicts_with = "all")]
        archived: bool,
        /// Also those that were put away.
        #[arg(long)]
        all: bool,
        /// Only those that are pinned.
        #[arg(long)]
        pinned: bool,
        /// At most so many.
        #[arg(long, default_value = "50")]
        limit: NonZeroUsize,
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
        #[arg(long, default_value = "20")]
        limit: NonZeroUsize,
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
    /// Put sessions away: lists leave them out.
    Archive {
        /// The sessions.
        #[arg(required = true)]
        ids: Vec<String>,
        /// Get them back.
        #[arg(long)]
        undo: bool,
    },
    /// Have lists begin with sessions.
    Pin {
        /// The sessions.
        #[arg(required = true)]
        ids: Vec<String>,
        /// No longer.
        #[arg(long)]
        undo: bool,
    },
    /// The tries there are at a message, which `orlop run --branch-at` made.
    Branches {
        /// The session.
        id: String,
        /// The message; the last one of the user if it is not said.
        #[arg(allow_negative_numbers = true, default_value_t = -1)]
        index: i64,
        /// Print JSON.
        #[arg(long)]
        json: bool,
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
