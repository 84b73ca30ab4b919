//! `orlop plugin explain`: why an action, a tool or a hook ran or did not.

use crate::cli::PluginExplain;
use crate::commands::agent::usable;
use crate::commands::trace::did_not_begin;
use crate::exit::{CONFIGURATION, Failure};
use crate::output;
use crate::workplace::Workplace;
use orlop_app::{Application, Unbegun};
use orlop_core::{ActionDefinition, Map, Value};
use orlop_runtime::kit::{ActionWhy, Evidence, Explanation, Standing, ToolWhy, explain};
use std::collections::HashSet;
use std::process::ExitCode;

pub(super) async fn run(
    workplace: &Workplace,
    command: PluginExplain,
) -> Result<ExitCode, Failure> {
    let PluginExplain { plugin, action, request, agent, json } = command;
    let app = match workplace.application().await {
        Ok(app) => app,
        Err(failure) => return not_started(workplace, &plugin, agent, failure, json).await,
    };
    let request = request_of(&app, request).await?;
    let agent = match (agent, &request) {
        (Some(agent), _) => agent,
        (None, Some(request)) => match agent_of(&app, &request.session).await? {
            Some(agent) => agent,
            None => app.config().default_agent()?,
        },
        (None, None) => app.config().default_agent()?,
    };
    let (core, config) = usable(&app, &agent)?;
    let mut actions = app.application_actions().await?;
    actions.extend(core.session_actions(&config).await?);
    let tools = core.available_tools(&config).await?;
    let raw = app.config().raw();
    let hosts = raw.get("hosts").and_then(|hosts| hosts.get("plugins")).and_then(Value::as_array);
    let evidence = Evidence {
        manifests: app.plugins().manifests(),
        left_out: super::not_in_use(workplace),
        agent: &agent,
        config: &config,
        hosts: hosts
            .map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        active: core.plugins_for(&config).await?,
        tags: core.tags_for(&config).await?,
        actions,
        tools: tools
            .iter()
            .filter_map(|tool| Some((tool.plugin.clone(), tool.name()?.to_owned())))
            .collect(),
        request: request.map(|request| (request.id, request.trace)),
    };
    let names = plugins_of(workplace, &plugin, &evidence);
    let explained: Result<Vec<Explanation>, _> =
        names.iter().map(|name| explain(name, action.as_deref(), &evidence)).collect();
    let unused = core.unused_tools(&config).await?;
    let taken = app.tool_names().await?;
    workplace.close().await;
    let mut explained = explained?;
    for one in &mut explained {
        for tool in unused.iter().filter(|tool| tool.plugin == one.plugin) {
            let standing = one.standing.iter_mut().filter(|it| it.kind == "tool");
            standing.for_each(|it| it.why.push_str(&format!("; {tool}")));
        }
        tell_of_taken_names(one, &evidence.actions, &taken);
        let Some(error) = app.left_out(&one.plugin) else { continue };
        for standing in one.standing.iter_mut().filter(|it| it.kind == "application") {
            standing.active = false;
            standing.why = format!("it could not begin: {error}");
        }
    }
    match explained.as_slice() {
        [one] if json => output::json(one).map(drop)?,
        several if json => output::json(&several).map(drop)?,
        several => several.iter().try_for_each(print)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Says of actions that models call whether they know them by another name, because a tool has it.
fn tell_of_taken_names(
    explained: &mut Explanation,
    actions: &[ActionDefinition],
    taken: &HashSet<String>,
) {
    let plugin = &explained.plugin;
    let is_exposed = |id: &str| {
        actions.iter().any(|action| {
            action.plugin.as_ref() == Some(plugin)
                && action.id == id
                && action.extra.get("expose_to_model") == Some(&Value::Bool(true))
        })
    };
    for action in &mut explained.actions {
        let id = &action.action;
        if is_exposed(id) && taken.contains(id) {
            let why = format!("models know it as {plugin}_{id}: there is a tool {id} already");
            action.why.push(why);
        }
    }
}

/// The plugins that a name means: the one of that name, else all of the package.
fn plugins_of(workplace: &Workplace, name: &str, known: &Evidence<'_>) -> Vec<String> {
    let mut named = known.manifests.iter().map(|(_, held)| &held.name);
    let mut not_in_use = known.left_out.iter().map(|left| &left.name);
    let is_plugin = named.any(|held| held == name) || not_in_use.any(|held| held == name);
    let package = workplace.runtime.packages().find(|(package, _)| package.name == name);
    match package.filter(|_| !is_plugin) {
        Some((_, holds)) => holds.plugins.iter().map(|held| held.name.clone()).collect(),
        None => vec![name.to_owned()],
    }
}

/// Where a plugin keeps Orlop from starting no plugin takes part, and there is nothing else to say.
async fn not_started(
    workplace: &Workplace,
    plugin: &str,
    agent: Option<String>,
    failure: Failure,
    json: bool,
) -> Result<ExitCode, Failure> {
    workplace.close().await;
    let manifests = workplace.plugins.manifests();
    let kinds = manifests.iter().filter(|(_, held)| held.name == plugin).map(|(kind, _)| *kind);
    let standing: Vec<Standing> = kinds
        .map(|kind| Standing {
            kind: kind.to_owned(),
            active: false,
            why: format!("Orlop does not start: {}", failure.message),
        })
        .collect();
    // A configuration that makes no sense is no matter of a plugin.
    if standing.is_empty() || failure.code == CONFIGURATION {
        return Err(failure);
    }
    let agent = match agent {
        Some(agent) => agent,
        None => workplace.config.default_agent()?,
    };
    let explained = Explanation {
        plugin: plugin.to_owned(),
        agent,
        request: None,
        standing,
        actions: Vec::new(),
        tools: Vec::new(),
        hooks: Vec::new(),
        refused: Vec::new(),
    };
    if json {
        return Ok(output::json(&explained)?);
    }
    print(&explained)?;
    Ok(ExitCode::SUCCESS)
}

struct Request {
    id: String,
    session: String,
    trace: Vec<Map>,
}

/// The request named, or the last one there is.
async fn request_of(app: &Application, given: Option<String>) -> Result<Option<Request>, Failure> {
    if given.is_none()
        && let Some(unbegun) = app.unbegun().await?
    {
        output::tell(&did_not_begin(&unbegun));
        let Unbegun { request_id, session_id, trace, .. } = unbegun;
        return Ok(Some(Request { id: request_id, session: session_id, trace }));
    }
    let turn = match &given {
        Some(id) => app.store().turn(app.scope(), id).await?,
        None => app.store().turns(app.scope(), None, 1).await?.into_iter().next(),
    };
    let Some(turn) = turn else {
        // Says what is wrong with the id.
        return match given {
            Some(id) => Err(app.trace(&id).await.err().map_or_else(
                || Failure::usage(format!("there is no request \"{id}\"")),
                Failure::from,
            )),
            None => Ok(None),
        };
    };
    let trace = app.trace(&turn.request).await?;
    Ok(Some(Request { id: turn.request, session: turn.session, trace }))
}

async fn agent_of(app: &Application, session: &str) -> Result<Option<String>, Failure> {
    Ok(app.store().head(app.scope(), session).await?.and_then(|head| head.agent))
}

fn print(explained: &Explanation) -> std::io::Result<()> {
    let Explanation { plugin, agent, request, standing, actions, tools, hooks, refused } =
        explained;
    match request {
        Some(id) => output::line(&format!("{plugin}, agent {agent}, request {id}"))?,
        None => output::line(&format!("{plugin}, agent {agent}; there has been no request yet"))?,
    }
    for standing in standing {
        let on = if standing.active { "on" } else { "off" };
        output::line(&format!("  {} {on}: {}", standing.kind, standing.why))?;
    }
    for ActionWhy { action, runs_at, verdict, why } in actions {
        let at = match runs_at.is_empty() {
            true => String::new(),
            false => format!(" (runs at {})", runs_at.join(", ")),
        };
        output::line(&format!("action {action}{at}: {}", verdict.replace('_', " ")))?;
        for why in why {
            output::line(&format!("  {why}"))?;
        }
    }
    for ToolWhy { tool, verdict, why } in tools {
        output::line(&format!("tool {tool}: {}", verdict.replace('_', " ")))?;
        for why in why {
            output::line(&format!("  {why}"))?;
        }
    }
    for operation in refused {
        output::line(&format!(
            "refused {operation}: not granted; its plugin.toml has to ask for it under [grants]"
        ))?;
    }
    if !hooks.is_empty() {
        output::line(if request.is_some() { "hooks in that request:" } else { "hooks:" })?;
    }
    for hook in hooks {
        let took = format!("{}.{} ms", hook.took_us / 1000, hook.took_us % 1000 / 100);
        let times =
            if hook.times == 1 { "once".to_owned() } else { format!("{} times", hook.times) };
        let failed = match &hook.error {
            Some(why) if hook.times == 0 => {
                output::line(&format!("  {} did not run: {why}", hook.hook))?;
                continue;
            }
            Some(error) => format!(", failed {} of them: {error}", hook.failed),
            None => String::new(),
        };
        output::line(&format!("  {} {times}, {took}{failed}", hook.hook))?;
    }
    Ok(())
}
