//! What people type: prompts and resources of servers are completed and put in their place. The
//! plugin `mcp`, a feature and a host plugin.

use crate::prompts::{self, Typed};
use crate::resources::Mention;
use crate::server::Server;
use crate::{McpServers, words};
use orlop_app::Application;
use orlop_core::hooks::{
    CompletionsInput, ContextInput, Handled, Hook, HookSet, HostInput, InterceptInput,
    Interception, RequestInfo, Rewrite,
};
use orlop_core::{Answer, Config, Context, Feature, HostPlugin, Manifest, Plugin, Result, Value};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) const NAME: &str = "mcp";
/// How many completions are offered.
const MAX_OFFERED: usize = 50;

/// How many requests are remembered with what they mention.
const MAX_REMEMBERED: usize = 16;

/// Completes prompts and resources, and runs those that were sent.
pub(crate) struct Input {
    servers: McpServers,
    /// What the resources of a request said. A turn asks the model several times; they are read once.
    read: Mutex<VecDeque<(String, Vec<String>)>>,
}

impl Plugin for Input {
    fn manifest(&self) -> Manifest {
        Manifest::new(NAME, env!("CARGO_PKG_VERSION"))
            .without_models()
            .only(HookSet::of(&[Hook::GetCompletions]))
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
}

impl HostPlugin for Input {
    fn manifest(&self) -> Manifest {
        // Before commands that are not known are refused.
        Manifest::host(NAME, env!("CARGO_PKG_VERSION"))
            .priority(10)
            .critical()
            .only(HookSet::of(&[Hook::InterceptChatRequest, Hook::ContextProviders, Hook::Stop]))
    }

    fn intercept_chat_request<'a>(
        &'a self,
        input: &'a InterceptInput,
        cx: &'a Context,
    ) -> Answer<'a, Option<Interception>> {
        if !input.text.starts_with('/') {
            return Answer::ok(None);
        }
        Answer::later(async move {
            let servers = self.of_request(&input.request, cx)?;
            let Some(typed) = Typed::read(&input.text, &servers) else { return Ok(None) };
            Ok(Some(match typed.message().await {
                Ok(text) => {
                    let mut rewrite = Rewrite::text(text);
                    rewrite.metadata.insert("command".to_owned(), input.text.clone().into());
                    rewrite.into()
                }
                // What was meant for a server must not reach a model as it is.
                Err(error) => Handled::text(error.message()).status(400).into(),
            }))
        })
    }

    fn context_providers<'a>(
        &'a self,
        input: &'a ContextInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<String>> {
        if !input.text.contains('@') {
            return Answer::default();
        }
        Answer::later(async move {
            let request = &input.request.request_id;
            if let Some(read) = self.remembered(request) {
                return Ok(read);
            }
            let servers = self.of_request(&input.request, cx)?;
            let mentions = Mention::all(&input.text, &servers);
            let read = futures::future::join_all(mentions.iter().map(Mention::content)).await;
            self.remember(request, &read);
            Ok(read)
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
        Self { servers, read: Mutex::default() }
    }

    fn remembered(&self, request: &str) -> Option<Vec<String>> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.iter().find(|(held, _)| held == request).map(|(_, read)| read.clone())
    }

    fn remember(&self, request: &str, read: &[String]) {
        let mut remembered = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.push_back((request.to_owned(), read.to_vec()));
        if remembered.len() > MAX_REMEMBERED {
            remembered.pop_front();
        }
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
