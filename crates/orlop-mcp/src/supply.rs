//! MCP servers among the plugins of an application, for people.

use crate::McpServers;
use orlop_app::config::McpTransport;
use orlop_app::{PluginHealth, Supplied, Supplier};

impl Supplier for McpServers {
    fn supplied(&self) -> Vec<Supplied> {
        let of = |server: &crate::server::Server| {
            let error = server.error();
            let state = match (&error, server.is_connected()) {
                (Some(_), _) => PluginHealth::Failed,
                (None, true) => PluginHealth::Running,
                (None, false) => PluginHealth::NotStarted,
            };
            let grants = match server.settings().map(|settings| &settings.transport) {
                Ok(McpTransport::Command { .. }) => "run as a program of its own, as the user",
                Ok(McpTransport::Http { .. }) => "be talked to over the network",
                Err(_) => "nothing",
            };
            Supplied {
                name: server.name().to_owned(),
                source: "mcp_server",
                // Commands and addresses may hold keys.
                place: None,
                version: None,
                state,
                problem: error.map(|error| error.message().to_owned()),
                grants: vec![grants.to_owned()],
                plugins: vec![server.name().to_owned()],
                actions: Vec::new(),
            }
        };
        self.0.iter().map(|server| of(server)).collect()
    }
}
