//! `orlop agent`, `orlop tool`, `orlop model list`: what agents are made of.

use crate::cli::{Agent, Tool};
use crate::exit::Failure;
use crate::output;
use crate::workplace::Workplace;
use orlop_app::Application;
use orlop_core::{Config, Core, Map, UnusedTool, Value};
use serde_json::json;
use std::process::ExitCode;

pub(super) async fn agents(workplace: Workplace, command: Agent) -> Result<ExitCode, Failure> {
    let app = workplace.application().await?;
    match command {
        Agent::List { json } => list(&app, json),
        Agent::Show { agent, json } => show(&app, agent, json).await,
    }
}

/// The agent named, or the default one.
fn agent_of(app: &Application, agent: Option<String>) -> Result<(String, Core, Config), Failure> {
    let id = match agent {
        Some(id) => id,
        None => app.config().default_agent()?,
    };
    let (core, config) = usable(app, &id)?;
    Ok((id, core, config))
}

/// An agent by its id. One that cannot be used is a matter of the configuration.
pub(super) fn usable(app: &Application, id: &str) -> Result<(Core, Config), Failure> {
    app.agent(id).map_err(|error| match error.class() {
        orlop_core::ErrorClass::NotFound => Failure::from(error),
        _ => Failure::config(&error),
    })
}

fn list(app: &Application, json: bool) -> Result<ExitCode, Failure> {
    let default = app.config().default_agent().ok();
    let agents = app.config().agents().into_iter().map(|id| {
        // An agent whose key is missing is still one of the agents.
        let config = app.agent(id).map(|(_, config)| config);
        let text =
            |key: &str| config.as_ref().ok().and_then(|config| config.text(key)).map(str::to_owned);
        (id, text("provider"), text("model"), config.as_ref().err().map(ToString::to_string))
    });
    if json {
        let agents: Vec<Value> = agents
            .map(|(id, provider, model, problem)| {
                json!({
                    "agent_id": id, "provider": provider, "model": model,
                    "default": default.as_deref() == Some(id), "problem": problem,
                })
            })
            .collect();
        return Ok(output::json(&agents)?);
    }
    let rows: Vec<Vec<String>> = agents
        .map(|(id, provider, model, problem)| {
            let mark = if default.as_deref() == Some(id) { "*" } else { "" };
            let usable = if problem.is_some() { "no" } else { "yes" };
            vec![
                format!("{id}{mark}"),
                provider.unwrap_or_default(),
                model.unwrap_or_default(),
                usable.to_owned(),
            ]
        })
        .collect();
    Ok(output::table(&["AGENT", "PROVIDER", "MODEL", "USABLE"], &rows)?)
}

async fn show(app: &Application, agent: Option<String>, json: bool) -> Result<ExitCode, Failure> {
    let (id, core, config) = agent_of(app, agent)?;
    let plugins = core.plugins_for(&config).await?;
    let tools = core.tool_schemas(&config).await?;
    let names: Vec<&str> =
        tools.iter().filter_map(|schema| orlop_core::types::tool::schema_name(schema)).collect();
    let value = json!({
        "agent_id": id,
        "provider": config.text("provider"),
        "model": config.text("model"),
        "plugins": {
            "providers": plugins.providers, "extensions": plugins.extensions,
            "features": plugins.features, "tools": plugins.tools,
        },
        "tools": names,
    });
    if json {
        return Ok(output::json(&value)?);
    }
    let list = |names: &[String]| if names.is_empty() { "-".to_owned() } else { names.join(", ") };
    let rows = vec![
        vec!["agent".to_owned(), id],
        vec!["provider".to_owned(), config.text("provider").unwrap_or("-").to_owned()],
        vec!["model".to_owned(), config.text("model").unwrap_or("-").to_owned()],
        vec!["extensions".to_owned(), list(&plugins.extensions)],
        vec!["features".to_owned(), list(&plugins.features)],
        vec!["tool plugins".to_owned(), list(&plugins.tools)],
        vec!["tools".to_owned(), if names.is_empty() { "-".to_owned() } else { names.join(", ") }],
    ];
    Ok(output::table(&["", ""], &rows)?)
}

pub(super) async fn tools(workplace: Workplace, command: Tool) -> Result<ExitCode, Failure> {
    let Tool::List { agent, json } = command;
    let app = workplace.application().await?;
    let (id, core, config) = agent_of(&app, agent)?;
    let tools = core.available_tools(&config).await?;
    let unused = core.unused_tools(&config).await?;
    if json {
        return Ok(output::json(&*tools)?);
    }
    if tools.is_empty() {
        output::tell(&format!(
            "agent {id:?} has no tools: its setting `tools` names none, as without a configuration for the \
             embedded model, which is too small to use them"
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = tools
        .iter()
        .map(|tool| {
            let name = tool.name().unwrap_or_default();
            let description = tool.schema.get("description").and_then(Value::as_str);
            let unused = unused.iter().find(|it| (&*it.name, &it.plugin) == (name, &tool.plugin));
            let description = match unused {
                Some(UnusedTool { other, .. }) => {
                    format!("not used: {other} has a tool of this name")
                }
                None => description.unwrap_or_default().to_owned(),
            };
            vec![name.to_owned(), tool.plugin.clone(), description]
        })
        .collect();
    Ok(output::table(&["TOOL", "PLUGIN", "DESCRIPTION"], &rows)?)
}

pub(super) async fn models(
    workplace: Workplace,
    agent: Option<String>,
    json: bool,
) -> Result<ExitCode, Failure> {
    let app = workplace.application().await?;
    let (_, core, config) = agent_of(&app, agent)?;
    let models = core.fetch_models(&config).await?;
    if json {
        return Ok(output::json(&models)?);
    }
    let rows: Vec<Vec<String>> = models.iter().map(model_row).collect();
    Ok(output::table(&["MODEL", "CONTEXT", "PRICE", "TAGS"], &rows)?)
}

/// A model, as much as is known of it; prices are dollars for a million tokens.
fn model_row(model: &Map) -> Vec<String> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let context = model.get("context_window").and_then(Value::as_u64).map(tokens);
    let price = model.get("price").and_then(|price| {
        Some(format!("{} / {}", price.get("input")?.as_f64()?, price.get("output")?.as_f64()?))
    });
    let tags = model.get("tags").and_then(Value::as_array).into_iter().flatten();
    let tags: Vec<&str> = tags.filter_map(Value::as_str).collect();
    let unknown = || "-".to_owned();
    vec![
        text(model.get("id")),
        context.unwrap_or_else(unknown),
        price.unwrap_or_else(unknown),
        if tags.is_empty() { unknown() } else { tags.join(", ") },
    ]
}

/// A number of tokens as people say it: 128K, 1M, 1.05M.
fn tokens(count: u64) -> String {
    match count {
        1_000_000.. => format!("{}M", (count as f64 / 10_000.0).round() / 100.0),
        1_000.. => format!("{}K", count / 1_000),
        _ => count.to_string(),
    }
}
