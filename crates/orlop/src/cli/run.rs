//! `orlop run`: what to ask, where, and how the answer is printed.

use crate::run_flags::RunFlags;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Ask once and print the answer.
#[derive(Debug, Default, Args)]
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
    #[arg(long, short, visible_aliases = ["resume", "session-id"], visible_short_alias = 'r', value_name = "ID", conflicts_with = "continue_last")]
    pub(crate) session: Option<String>,
    /// Go on with the session last used in this folder.
    #[arg(long = "continue", short = 'c')]
    pub(crate) continue_last: bool,
    /// Go on in a copy of the session; the session stays as it is.
    #[arg(long, conflicts_with = "branch_at")]
    pub(crate) fork: bool,
    /// Try again on a branch: in place of the user's message at this position, or before it. Without
    /// a prompt that message is sent again. Negative numbers count from the end.
    #[arg(long, value_name = "INDEX", allow_negative_numbers = true)]
    pub(crate) branch_at: Option<i64>,
    /// Name the session.
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Attach a file. May be repeated.
    #[arg(long, short = 'f', visible_aliases = ["file", "image"], visible_short_alias = 'i', value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// How to print the answer.
    #[arg(long, short, visible_alias = "output-format", value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
    /// The JSON Schema that the answer has to fit: a file, or the schema itself.
    #[arg(long, visible_alias = "json-schema", value_name = "FILE|JSON")]
    pub(crate) output_schema: Option<String>,
    /// Answer yes to all that would be asked: run tool calls, bring the embedded model.
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
    #[command(flatten)]
    pub(crate) flags: RunFlags,
}

/// How to print an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The text of the answer.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object a line for every event.
    StreamJson,
}
