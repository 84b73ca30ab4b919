//! `orlop model`: the models there are, and bringing them here.

use clap::{Args, Subcommand, ValueEnum};

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
