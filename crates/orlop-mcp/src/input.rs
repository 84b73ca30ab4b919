//! What people type: prompts and resources of servers are completed and put in their place. The
//! plugin `mcp`, a feature and a host plugin.

use crate::prompts::{self, Typed};
use crate::resources::Mention;
use crate::server::Server;
use crate::{McpServers, words};
use orlop_app::Application;
use orlop_core::hooks::{
    CompletionsInput, ConfigInput, Handled, Hook, HookSet, HostInput, InterceptInput, Interception,
    RequestInfo, Rewrite,
};
use orlop_core::{Answer, Config, Context, Feature, HostPlugin, Manifest, Plugin, Result, Value};
use serde_json::json;
use std::sync::Arc;

pub(crate) const NAME: &str = "mcp";
/// How many completions are offered.
const MAX_OFFERED: usize = 50;

/// Completes prompts and resources, and runs those that were sent.
pub(crate) struct Input {
    servers: McpServers,
}

impl Plugin for Input {
    fn manifest(&self) -> Manifest {
        Manifest::new(NAME, env!("CARGO_PKG_VERSION"))
            .without_models()
            .only(HookSet::of(&[Hook::GetCompletions, Hook::GetTemplate]))
    }
}

impl Feature for Input {
    fn get_completions<'a>(
        &'a self,
        input: &'a CompletionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Value>> {
        let servers = self.of_agent(&input.config);
        let offers = match input.text.strip_prefix('/') {
            Some(word) if !word.contains(char::is_whitespace) => of_prompts(&servers, word),
            Some(_) => Vec::new(),
            None => match input
                .text
                .rsplit(char::is_whitespace)
                .next()
                .and_then(|it| it.strip_prefix('@'))
            {
                Some(word) => of_resources(&servers, word),
                None => Vec::new(),
            },
        };
        Answer::ok(offers)
    }

    /// The prompts, each as a line to go on from.
    fn get_template<'a>(&'a self, input: &'a ConfigInput, _: &'a Context) -> Answer<'a, String> {
        let servers = self.of_agent(&input.config);
        let lines = servers.iter().flat_map(|server| prompts::template(server));
        Answer::ok(lines.collect::<Vec<_>>().join("\n"))
    }
}

impl HostPlugin for Input {
    fn manifest(&self) -> Manifest {
        // Before commands that are not known are refused.
        Manifest::host(NAME, env!("CARGO_PKG_VERSION"))
            .priority(10)
            .critical()
            .only(HookSet::of(&[Hook::InterceptChatRequest, Hook::Stop]))
    }

    fn intercept_chat_request<'a>(
        &'a self,
        input: &'a InterceptInput,
        cx: &'a Context,
    ) -> Answer<'a, Option<Interception>> {
        if !input.text.starts_with('/') && !input.text.contains('@') {
            return Answer::ok(None);
        }
        Answer::later(async move {
            let servers = self.of_request(&input.request, cx)?;
            let Some(typed) = Typed::read(&input.text, &servers) else {
                return Ok(with_resources(&input.text, &servers).await);
            };
            Ok(Some(match typed.message().await {
                Ok((text, parts)) => {
                    let mut rewrite = Rewrite { text, parts, ..Rewrite::default() };
                    rewrite.metadata.insert("command".to_owned(), input.text.clone().into());
                    rewrite.into()
                }
                // What was meant for a server must not reach a model as it is.
                Err(error) => Handled::text(error.message()).status(400).into(),
            }))
        })
    }

    fn stop<'a>(&'a self, _: &'a HostInput, _: &'a Context) -> Answer<'a, ()> {
        Answer::later(async {
            self.servers.stop().await;
            Ok(())
        })
    }
}

impl Input {
    /// All servers of the configuration.
    pub(crate) fn servers(&self) -> &McpServers {
        &self.servers
    }

    pub(crate) fn new(servers: McpServers) -> Self {
        Self { servers }
    }

    /// The servers that an agent may use.
    pub(crate) fn of_agent(&self, config: &Config) -> Vec<Arc<Server>> {
        let chosen = config.get("tools").and_then(Value::as_array);
        let is_chosen = |name: &str| {
            chosen.is_none_or(|chosen| chosen.iter().any(|held| held.as_str() == Some(name)))
        };
        let is_on = |name: &str| {
            let enabled = config.get(name).and_then(|section| section.get("enabled"));
            enabled.and_then(Value::as_bool) != Some(false)
        };
        let used = |server: &&Arc<Server>| is_chosen(server.name()) && is_on(server.name());
        self.servers.0.iter().filter(used).cloned().collect()
    }

    fn of_request(&self, request: &RequestInfo, cx: &Context) -> Result<Vec<Arc<Server>>> {
        let config = Application::of(cx)?.config().build_agent_config(&request.agent_id)?;
        Ok(self.of_agent(&config))
    }
}

/// The message with what it mentions. It is read once, now, and stays with the message.
async fn with_resources(text: &str, servers: &[Arc<Server>]) -> Option<Interception> {
    let mentions = Mention::all(text, servers);
    let named: Vec<Value> =
        mentions.iter().map(|it| format!("{}:{}", it.server.name(), it.uri).into()).collect();
    let parts = futures::future::join_all(mentions.iter().map(Mention::parts)).await;
    let mut rewrite =
        Rewrite { text: text.to_owned(), parts: parts.concat(), ..Rewrite::default() };
    rewrite.metadata.insert("resources".to_owned(), named.into());
    (!mentions.is_empty()).then(|| rewrite.into())
}

fn of_prompts(servers: &[Arc<Server>], word: &str) -> Vec<Value> {
    let mut offers = Vec::new();
    for server in servers {
        let Some(known) = server.known() else { continue };
        for prompt in &known.prompts {
            let name = format!("{}:{}", server.name(), prompt.name);
            let about =
                prompt.description.as_deref().or(prompt.title.as_deref()).unwrap_or_default();
            let usage = prompts::usage(prompt);
            let about = words::line(&format!("{usage} {about}"), 200);
            offers.extend(offer('/', word, &name, &about, " "));
        }
    }
    offers.truncate(MAX_OFFERED);
    offers
}

fn of_resources(servers: &[Arc<Server>], word: &str) -> Vec<Value> {
    let mut offers = Vec::new();
    for server in servers {
        let Some(known) = server.known() else { continue };
        for resource in &known.resources {
            let name = format!("{}:{}", server.name(), resource.uri);
            offers.extend(offer('@', word, &name, &resource.name, ""));
        }
    }
    offers.truncate(MAX_OFFERED);
    offers
}

/// A completion in the place of what was typed, if it begins or goes on like that.
fn offer(mark: char, word: &str, name: &str, about: &str, end: &str) -> Option<Value> {
    let (lower, typed) = (name.to_lowercase(), word.to_lowercase());
    let start = -i64::try_from(word.chars().count() + 1).ok()?;
    lower.contains(&typed).then(|| {
        json!({
            "plugin": NAME,
            "replacement": format!("{mark}{name}{end}"),
            "start": start,
            "display": format!("{mark}{name}"),
            "display_meta": about,
        })
    })
}
