//! How servers are doing, for people.

use crate::server::Server;
use orlop_app::config::McpTransport;
use serde::Serialize;

/// What is known of a server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerStatus {
    /// Its name in the configuration.
    pub name: String,
    /// `command` or `http`; nothing if its settings cannot be used.
    pub transport: Option<&'static str>,
    /// `ready` if what it offers is known, `new` if it was never reached, `failed` if it cannot be.
    pub state: &'static str,
    /// What is wrong with it.
    pub error: Option<String>,
    /// The revision of the protocol that was agreed on.
    pub protocol: Option<String>,
    /// Name and version of the server, in its own words.
    pub server: Option<String>,
    /// What it says of itself.
    pub instructions: Option<String>,
    /// How many seconds ago it said what it offers.
    pub known_for_s: Option<u64>,
    /// Its tools, as models see them.
    pub tools: Vec<ToolStatus>,
    /// Its prompts, as they are typed.
    pub prompts: Vec<String>,
    /// Its resources, as they are mentioned.
    pub resources: Vec<String>,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolStatus {
    /// The name that models call it by.
    pub name: String,
    /// What the server says of it.
    pub description: String,
    /// Whether the server says that it changes nothing.
    pub reads_only: bool,
}

impl ServerStatus {
    pub(crate) fn of(server: &Server) -> Self {
        let (known, error) = (server.known(), server.error());
        let transport = server.settings().ok().map(|settings| match settings.transport {
            McpTransport::Command { .. } => "command",
            McpTransport::Http { .. } => "http",
        });
        let state = match (&error, &known) {
            (Some(_), _) => "failed",
            (None, Some(_)) => "ready",
            (None, None) => "new",
        };
        let name = server.name();
        let mut status = Self {
            name: name.to_owned(),
            transport,
            state,
            error: error.map(|error| error.message().to_owned()),
            protocol: None,
            server: None,
            instructions: None,
            known_for_s: server.kept_for().map(|age| age.as_secs()),
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
        };
        let Some(known) = known else { return status };
        status.protocol = Some(known.protocol.clone());
        status.server = Some(known.server.clone()).filter(|server| !server.is_empty());
        status.instructions.clone_from(&known.instructions);
        status.tools = known
            .tools
            .iter()
            .map(|tool| {
                let text =
                    |key: &str| tool.schema.get(key).and_then(|it| it.as_str()).unwrap_or_default();
                let reads = tool.schema.get("annotations").and_then(|it| it.get("access"));
                ToolStatus {
                    name: tool.name.clone(),
                    description: text("description").to_owned(),
                    reads_only: reads.is_some(),
                }
            })
            .collect();
        status.prompts = known.prompts.iter().map(|it| format!("/{name}:{}", it.name)).collect();
        status.resources = known.resources.iter().map(|it| format!("@{name}:{}", it.uri)).collect();
        status
    }
}
