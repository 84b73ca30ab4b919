//! MCP servers as plugins. Each server of `[mcp_servers]` is a tool plugin of its name; their prompts
//! are commands, their resources can be mentioned.
//!
//! A server starts when it is first needed. What it offers is kept on disk, so that nobody waits for
//! a server that was there before; see [`McpServers`].

mod actions;
mod cache;
mod call;
mod catalogue;
mod connection;
mod handler;
mod http;
mod input;
mod login;
mod media;
mod names;
mod prompts;
mod report;
mod resources;
mod server;
mod status;
mod stdio;
mod supply;
mod tool;
mod words;

pub use server::Limits;
pub use status::{ServerStatus, ToolStatus};

use actions::ServerActions;
use input::Input;
use orlop_app::Plugins;
use orlop_app::config::{AppConfig, McpServer, McpTransport};
use orlop_core::types::nearest::hint;
use orlop_core::{Error, Result};
use server::Server;
use std::sync::Arc;
use tool::ServerTools;

/// The servers of a configuration. Cloning shares them, and with them what runs. They end when the
/// last clone is dropped, plugins included.
#[derive(Clone, Default)]
pub struct McpServers(Arc<Vec<Arc<Server>>>);

impl McpServers {
    /// The servers that a configuration enables. Nothing is started, and a server whose settings
    /// cannot be used leaves the others alone.
    pub fn of(config: &AppConfig) -> Self {
        Self::with_limits(config, Limits::default())
    }

    /// The same, and those that packages bring; a configured server of the same name counts more.
    pub fn with_packages(config: &AppConfig, brought: Vec<McpServer>) -> Self {
        let Self(configured) = Self::of(config);
        let mut all: Vec<Arc<Server>> = configured.to_vec();
        for settings in brought {
            let name = settings.name.clone();
            match all.iter().any(|server| server.name() == name) {
                true => {
                    tracing::warn!(target: "orlop::mcp", server = name, "a package brings an MCP server of a name that is taken");
                }
                false => all.push(Arc::new(Server::new(
                    &name,
                    Ok(settings),
                    config.env(),
                    Limits::default(),
                ))),
            }
        }
        Self(Arc::new(all))
    }

    /// The same, with other limits.
    pub fn with_limits(config: &AppConfig, limits: Limits) -> Self {
        let names = config.mcp_server_names().into_iter();
        let server = |name: &str| {
            Arc::new(Server::new(name, config.mcp_server(name), config.env(), limits.clone()))
        };
        Self(Arc::new(names.map(server).collect()))
    }

    /// `plugins` and those of the servers. A check of the configuration against them finds servers
    /// that have the name of another tool plugin.
    pub fn register(&self, plugins: Plugins) -> Plugins {
        let add = |plugins: Plugins, server: &Arc<Server>| {
            plugins.tool(Arc::new(ServerTools(server.clone())))
        };
        let plugins = self.0.iter().fold(plugins, add).supplied_by(Arc::new(self.clone()));
        if self.0.is_empty() {
            return plugins;
        }
        let input = Arc::new(Input::new(self.clone()));
        let actions = Arc::new(ServerActions(input.clone()));
        plugins.feature(input.clone()).application(actions).host(input)
    }

    /// What is known of all servers. Nothing is started.
    pub fn list(&self) -> Vec<ServerStatus> {
        self.0.iter().map(|server| ServerStatus::of(server)).collect()
    }

    /// Starts a server, has it say anew what it offers, and gives that.
    pub async fn test(&self, name: &str) -> Result<ServerStatus> {
        let server = self.find(name)?;
        server.settings()?;
        server.connect().await?;
        Ok(ServerStatus::of(server))
    }

    /// Ends a server and starts it anew, however often it failed before.
    pub async fn reconnect(&self, name: &str) -> Result<ServerStatus> {
        let server = self.find(name)?;
        server.settings()?;
        server.disconnect().await;
        server.connect().await?;
        Ok(ServerStatus::of(server))
    }

    /// Logs in to a server in the browser: `show` is given the address that a person opens. Ends
    /// when they have come back.
    pub async fn log_in(&self, name: &str, show: impl FnOnce(&str)) -> Result<()> {
        let server = self.find(name)?;
        let McpTransport::Http { url, .. } = &server.settings()?.transport else {
            return Err(server
                .failure("is a command, to which nobody logs in; set what it needs under env"));
        };
        let credentials = server.credentials();
        let credentials =
            credentials.ok_or_else(|| Error::bad_state("there is no place for logins"))?;
        login::log_in(name, url, credentials, show).await
    }

    /// Forgets the login to a server. Says whether there was one.
    pub fn log_out(&self, name: &str) -> Result<bool> {
        match self.find(name)?.credentials() {
            Some(credentials) => credentials.remove(&login::name_of(name)),
            None => Ok(false),
        }
    }

    fn find(&self, name: &str) -> Result<&Arc<Server>> {
        self.0.iter().find(|server| server.name() == name).ok_or_else(|| {
            let hint = match self.0.is_empty() {
                true => "add it to [mcp_servers]".to_owned(),
                false => hint(name, self.0.iter().map(|server| server.name())),
            };
            Error::not_found(format!("there is no MCP server \"{name}\"; {hint}"))
        })
    }

    /// Ends all servers that run.
    pub async fn stop(&self) {
        futures::future::join_all(self.0.iter().map(|server| server.stop())).await;
    }
}
