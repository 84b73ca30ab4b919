//! Actions as tools: an application plugin that declares an action with `expose_to_model` has it
//! called by models, too. What a button does and what a tool does is one declaration.

use crate::arguments::{reported, schema};
use orlop_app::ui::Outcome;
use orlop_app::{Application, TurnInfo, tell_of_mistyped_triggers};
use orlop_core::hooks::{Hook, HookSet, HostInput, ToolInput, ToolSchemasInput};
use orlop_core::types::{ActionDefinition, ActionStatus, ToolReport};
use orlop_core::{
    ActionCall, Answer, Context, Error, HostPlugin, Manifest, Map, Plugin, Result, Tool, Value,
};
use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The longest name that all models take.
const MAX_NAME: usize = 64;

/// The tools that exposed actions are. An action of a session cannot be one: it would change the
/// conversation in the middle of a turn.
///
/// As a host plugin it learns which actions there are when the host starts, so that finding the
/// tools of an agent asks no plugin.
#[derive(Default)]
pub struct ActionTools {
    known: Mutex<Arc<BTreeMap<String, ActionDefinition>>>,
    version: AtomicU64,
}

impl ActionTools {
    fn known(&self) -> Arc<BTreeMap<String, ActionDefinition>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Plugin for ActionTools {
    fn manifest(&self) -> Manifest {
        Manifest::new("actions", "1.0.0").yielding().without_models().only(HookSet::of(&[
            Hook::GetToolSchemas,
            Hook::ExecuteTool,
            Hook::FormatToolCallPreview,
        ]))
    }
}

impl HostPlugin for ActionTools {
    fn manifest(&self) -> Manifest {
        Manifest::host("actions", "1.0.0").only(HookSet::of(&[Hook::Start]))
    }

    fn start<'a>(&'a self, _: &'a HostInput, cx: &'a Context) -> Answer<'a, ()> {
        Answer::later(async move {
            // A plugin that cannot tell its actions keeps nobody from working.
            let tools = exposed(&Application::of(cx)?).await.unwrap_or_else(|error| {
                tracing::warn!(target: "orlop::plugins", %error, "no actions are offered to models");
                BTreeMap::new()
            });
            let tools = Arc::new(tools);
            *self.known.lock().unwrap_or_else(PoisonError::into_inner) = tools;
            self.version.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    }
}

impl Tool for ActionTools {
    fn get_tool_schemas<'a>(
        &'a self,
        _: &'a ToolSchemasInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Map>> {
        Answer::ok(self.known().iter().map(|(name, action)| described(name, action)).collect())
    }

    fn tools_version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    fn execute_tool<'a>(&'a self, input: &'a ToolInput, cx: &'a Context) -> Answer<'a, ToolReport> {
        Answer::later(async move { reported(run(&self.known(), input, cx).await) })
    }

    fn format_tool_call_preview<'a>(
        &'a self,
        input: &'a ToolInput,
        _: &'a Context,
    ) -> Answer<'a, String> {
        Answer::ok(format!("run {}", input.tool_name))
    }
}

/// The actions that models may call, by the names of their tools. One that would have the name of
/// another or of a tool gets the longer one, and it is told.
async fn exposed(app: &Application) -> Result<BTreeMap<String, ActionDefinition>> {
    let actions = app.application_actions().await?;
    // Those of sessions, as far as they are known: nobody is started to be asked.
    let of_sessions = app.plugins().supplied().into_iter().flat_map(|supplied| supplied.actions);
    for action in of_sessions.chain(actions.iter().cloned()) {
        tell_of_mistyped_triggers(action.plugin.as_deref().unwrap_or_default(), &action);
    }
    let exposed = |action: &ActionDefinition| {
        action.extra.get("expose_to_model").and_then(Value::as_bool) == Some(true)
    };
    let mut by_name: BTreeMap<String, Vec<ActionDefinition>> = BTreeMap::new();
    for action in actions.into_iter().filter(exposed) {
        by_name.entry(tool_name(&action.id)).or_default().push(action);
    }
    let taken = match by_name.is_empty() {
        true => HashSet::new(),
        false => app.tool_names().await?,
    };
    let mut tools = BTreeMap::new();
    for (name, mut actions) in by_name {
        let is_taken = taken.contains(&name);
        if actions.len() == 1 && !is_taken {
            tools.extend(actions.pop().map(|action| (name, action)));
            continue;
        }
        let owners: Vec<&str> = actions.iter().filter_map(|it| it.plugin.as_deref()).collect();
        let owners = owners.join(", ");
        match is_taken {
            true => {
                tracing::error!(target: "orlop::plugins", "there is a tool \"{name}\" already; for models the action \"{name}\" of {owners} is called PLUGIN_{name}");
            }
            false => {
                tracing::error!(target: "orlop::plugins", "the plugins {owners} all have an action \"{name}\" for models; its tools are called PLUGIN_{name}");
            }
        }
        for action in actions {
            let plugin = action.plugin.as_deref().unwrap_or_default();
            tools.insert(tool_name(&format!("{plugin}_{}", action.id)), action);
        }
    }
    Ok(tools)
}

/// A name as models take it.
fn tool_name(text: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    text.chars().take(MAX_NAME).map(fits).collect()
}

/// The schema of the tool. The session is the one of the turn, so that models do not name it.
fn described(name: &str, action: &ActionDefinition) -> Map {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (input, descriptor) in action.inputs.iter().filter(|(input, _)| *input != "session_id") {
        let mut property = descriptor.as_object().cloned().unwrap_or_default();
        if property.shift_remove("required") == Some(Value::Bool(true)) {
            required.push(input.clone());
        }
        properties.insert(input.clone(), Value::Object(property));
    }
    let description = action.description.clone().unwrap_or_else(|| action.label.clone());
    schema(json!({
        "name": name,
        "description": description,
        "parameters": { "type": "object", "properties": properties, "required": required },
    }))
}

async fn run(
    known: &BTreeMap<String, ActionDefinition>,
    input: &ToolInput,
    cx: &Context,
) -> Result<ToolReport> {
    let app = Application::of(cx)?;
    let action = known
        .get(&input.tool_name)
        .ok_or_else(|| Error::not_found(format!("there is no action \"{}\"", input.tool_name)))?;
    let mut params = input.payload.as_object().cloned().unwrap_or_default();
    let session = TurnInfo::of(cx).ok().map(|turn| turn.session_id.clone());
    if let (true, Some(id)) = (action.inputs.contains_key("session_id"), &session) {
        params.insert("session_id".to_owned(), id.as_str().into());
    }
    let plugin = action.plugin.clone().unwrap_or_default();
    let call = ActionCall { plugin, action: action.id.clone(), params };
    let result = app.execute_application_action(call, session.as_deref()).await?;
    let outcome = Outcome::from_result(result.clone());
    let text = outcome.message.unwrap_or_else(|| Value::Object(result).to_string());
    Ok(match outcome.status {
        ActionStatus::Error => ToolReport::failed(text),
        ActionStatus::Ok | ActionStatus::Noop => ToolReport::ok(text),
    })
}
