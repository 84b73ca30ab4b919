//! `orlop mcp`: the MCP servers of the configuration.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// The servers there are and what is known of them. Starts none.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Add a server to the configuration of the user, or of the project.
    Add(McpAdd),
    /// Remove a server from the configuration of the user, or of the project.
    Remove {
        /// The server.
        name: String,
        /// From the orlop.toml of the project.
        #[arg(long)]
        project: bool,
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

/// Add an MCP server: `orlop mcp add db -- npx acme-db`, or with --url.
#[derive(Debug, Args)]
pub(crate) struct McpAdd {
    /// Its name.
    pub(crate) name: String,
    /// The command that starts it, behind `--`.
    #[arg(last = true, required_unless_present = "url")]
    pub(crate) command: Vec<String>,
    /// Where it is, if it is no command.
    #[arg(long, conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// A variable for the command; a value may be `${env:NAME}`. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// A header for the address; a value may be `${env:NAME}`. May be repeated.
    #[arg(long, value_name = "NAME=VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// To the orlop.toml of the project.
    #[arg(long)]
    pub(crate) project: bool,
}
