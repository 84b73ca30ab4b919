//! What agents are made of.

use super::view::{AgentView, List, OfSession, PluginNames, TemplateView};
use crate::caller::{Caller, Read};
use crate::extract::{Json, Path, Query};
use crate::problem::Problem;
use orlop_core::Map;
use orlop_types::ToolDescriptor;

pub(super) async fn list(caller: Caller<Read>) -> Json<List<AgentView>> {
    let app = caller.app();
    let default = app.config().default_agent().ok();
    let agents = app.config().agents().into_iter().map(|id| {
        // An agent whose key is missing is still one of the agents.
        let config = app.agent(id).ok().map(|(_, config)| config);
        let text = |key: &str| config.as_ref()?.text(key).map(str::to_owned);
        AgentView {
            agent_id: id.to_owned(),
            description: text("description"),
            provider: text("provider"),
            model: text("model"),
            default: default.as_deref() == Some(id),
            usable: config.is_some(),
        }
    });
    Json(List { items: agents.collect() })
}

pub(super) async fn tools(
    caller: Caller<Read>,
    Path(agent): Path<String>,
) -> Result<Json<List<ToolDescriptor>>, Problem> {
    let (core, config) = caller.app().agent(&agent)?;
    let tools = core.available_tools(&config).await?;
    Ok(Json(List { items: tools.to_vec() }))
}

pub(super) async fn models(
    caller: Caller<Read>,
    Path(agent): Path<String>,
) -> Result<Json<List<Map>>, Problem> {
    let (core, config) = caller.app().agent(&agent)?;
    Ok(Json(List { items: core.fetch_models(&config).await? }))
}

pub(super) async fn plugins(
    caller: Caller<Read>,
    Path(agent): Path<String>,
) -> Result<Json<PluginNames>, Problem> {
    let (core, config) = caller.app().agent(&agent)?;
    let active = core.plugins_for(&config).await?;
    Ok(Json(PluginNames {
        providers: active.providers,
        extensions: active.extensions,
        features: active.features,
        tools: active.tools,
    }))
}

pub(super) async fn config_schema(
    caller: Caller<Read>,
    Path(agent): Path<String>,
) -> Result<Json<List<Map>>, Problem> {
    Ok(Json(List { items: caller.app().config_schema(&agent)? }))
}

pub(super) async fn ui_schema(
    caller: Caller<Read>,
    Path(agent): Path<String>,
    Query(of): Query<OfSession>,
) -> Result<Json<List<Map>>, Problem> {
    let items = caller.app().ui_schema(&agent, of.session_id.as_deref()).await?;
    Ok(Json(List { items }))
}

pub(super) async fn templates(
    caller: Caller<Read>,
    Path(agent): Path<String>,
) -> Result<Json<List<TemplateView>>, Problem> {
    let (core, config) = caller.app().agent(&agent)?;
    let templates = core.templates(&config).await?.into_iter();
    let items = templates.map(|it| TemplateView { plugin: it.plugin, text: it.text }).collect();
    Ok(Json(List { items }))
}
