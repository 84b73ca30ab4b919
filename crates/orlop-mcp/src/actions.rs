//! The application plugin `mcp`: what people do with servers on any surface. It shows them, starts one
//! anew, and tells which prompts can be typed as commands.

use crate::input::{Input, NAME};
use crate::status::ServerStatus;
use crate::{prompts, words};
use orlop_core::hooks::{ApplicationActionInput, ApplicationActionsInput, Hook, HookSet};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Error, Manifest, Result,
    Value,
};
use serde_json::json;
use std::sync::Arc;

const LIST: &str = "list_mcp_servers";
const RECONNECT: &str = "reconnect_mcp_server";
const PROMPTS: &str = "tell_prompts";

/// Actions about servers.
pub(crate) struct ServerActions(pub(crate) Arc<Input>);

impl ApplicationPlugin for ServerActions {
    fn manifest(&self) -> Manifest {
        Manifest::new(NAME, env!("CARGO_PKG_VERSION"))
            .acting_at(&["command_list"])
            .only(HookSet::of(&[Hook::ApplicationGetActions, Hook::ApplicationExecuteAction]))
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        Answer::ok(vec![
            ActionDefinition::new(LIST, "Show MCP servers")
                .describing("Shows the MCP servers and what is known of them. Starts none."),
            ActionDefinition::new(RECONNECT, "Reconnect MCP server")
                .describing("Ends an MCP server and starts it anew.")
                .input("name", "string", true),
            ActionDefinition::new(PROMPTS, "Tell prompts")
                .describing("Tells which prompts of servers can be typed.")
                .on(&["command_list"]),
        ])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            match input.action_id.as_str() {
                LIST => listed(&self.0.servers().list()),
                RECONNECT => {
                    let name = input.params.get("name").and_then(Value::as_str).unwrap_or_default();
                    reconnected(&self.0.servers().reconnect(name).await?)
                }
                PROMPTS => self.prompts(cx),
                other => Err(Error::not_found(format!("there is no action \"{other}\" here"))),
            }
        })
    }
}

impl ServerActions {
    fn prompts(&self, cx: &Context) -> Result<ActionResult> {
        let mut commands = Vec::new();
        for server in self.0.of_agent(cx.config()) {
            let Some(known) = server.known() else { continue };
            commands.extend(known.prompts.iter().map(|prompt| {
                let about = prompt.description.as_deref().or(prompt.title.as_deref());
                json!({
                    "name": format!("{}:{}", server.name(), prompt.name),
                    "arguments": words::line(&prompts::usage(prompt), 200),
                    "description": words::line(about.unwrap_or("A prompt of an MCP server"), 200),
                })
            }));
        }
        ActionResult::from_json(json!({ "status": "noop", "commands": commands }))
    }
}

fn listed(servers: &[ServerStatus]) -> Result<ActionResult> {
    let lines: Vec<String> = servers.iter().map(line).collect();
    ActionResult::from_json(json!({
        "display": { "title": "MCP servers", "body": lines.join("\n"), "format": "markdown" },
        "servers": servers,
    }))
}

fn reconnected(server: &ServerStatus) -> Result<ActionResult> {
    let body = line(server);
    ActionResult::from_json(json!({
        "display": { "title": "Reconnected", "body": body, "format": "markdown", "variant": "success" },
        "server": server,
    }))
}

fn line(server: &ServerStatus) -> String {
    let count = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let about = match (&server.error, server.state) {
        (Some(error), _) => words::line(error, 300),
        (None, "new") => "starts when it is needed".to_owned(),
        (None, _) => [
            count(server.tools.len(), "tool"),
            count(server.prompts.len(), "prompt"),
            count(server.resources.len(), "resource"),
        ]
        .join(", "),
    };
    format!("- `{}` ({}): {about}", server.name, server.state)
}
