//! The feature `permissions`: whether a tool call runs, asks or is refused, for all tools alike.
//!
//! Tools say in their schemas what they do; [`judge`] decides by rules and mode, [`commands`] takes
//! command lines apart. The application plugin of the same name is for people: what holds, what was
//! remembered, another mode.

mod actions;
mod call;
mod command;
mod commands;
mod glob;
mod judge;
mod kept;
mod offers;
mod places;
mod rule;
mod settings;
#[cfg(test)]
mod tests;

pub use actions::PermissionActions;

use crate::workspace::Workspace;
use call::ToolCall;
use judge::{Judge, Verdict};
use kept::Kept;
use orlop_app::config::RuntimeEnv;
use orlop_app::{Application, Remember};
use orlop_core::hooks::{ActionInput, ActionsInput, Hook, HookSet};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, Context, Error, Feature, Manifest, Map, Plugin, Result,
    Value, lifecycle,
};
use places::Places;
use serde_json::json;
use settings::Policy;

/// The name of the feature, of the application plugin, and of what both keep.
pub(crate) const NAME: &str = "permissions";

/// Decides on every tool call.
pub struct Permissions;

impl Plugin for Permissions {
    fn manifest(&self) -> Manifest {
        let manifest = Manifest::new(NAME, "1.0.0")
            .acting_at(&[lifecycle::PERMISSION, lifecycle::PERMISSION_DECIDED])
            .priority(50)
            .without_models()
            .only(HookSet::of(&[Hook::FeatureGetActions, Hook::FeatureExecuteAction]));
        settings::descriptors()
            .into_iter()
            .fold(manifest, |manifest, (key, descriptor)| manifest.config(key, descriptor))
    }
}

impl Feature for Permissions {
    fn get_actions<'a>(
        &'a self,
        _: &'a ActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        Answer::ok(vec![
            ActionDefinition::new("judge", "Decide on a tool call").on(&[lifecycle::PERMISSION]),
            ActionDefinition::new("remember", "Remember a decision")
                .on(&[lifecycle::PERMISSION_DECIDED]),
        ])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            match &*input.action_id {
                "judge" => judged(cx).await,
                "remember" => remembered(cx).await,
                other => Err(Error::not_found(format!("permissions has no action \"{other}\""))),
            }
        })
    }
}

async fn judged(cx: &Context) -> Result<ActionResult> {
    let Some(told) = cx.get("tool_call") else {
        return Err(Error::bad_state("there is no tool call to decide on"));
    };
    let name = told.get("name").and_then(Value::as_str).unwrap_or_default();
    let Some(tool) = cx.tools().iter().find(|tool| tool.name() == Some(name)) else {
        // There is nothing to run; the model hears that from the one who looks for it.
        return Ok(ActionResult::unchanged());
    };
    // An agent that is configured so does not have the feature; a request may say so as well.
    if cx.config().get("permissions.enabled") == Some(&Value::Bool(false)) {
        return Ok(ActionResult::unchanged());
    }
    let null = Value::Null;
    let call = ToolCall::new(name, Some(tool), told.get("input").unwrap_or(&null));
    let workspace = Workspace::of(cx)?;
    let mut policy = Policy::of(cx.config())?;
    Kept::load(cx, &workspace).await?.add_to(&mut policy)?;
    policy.take_mode_of_request(cx.config())?;
    let env = cx.handle::<RuntimeEnv>("env");
    let home = env.as_ref().and_then(|env| env.get("HOME"));
    let judge = Judge { policy: &policy, places: Places { workspace: &workspace, home } };
    Ok(answer(judge.judge(&call)))
}

fn answer(verdict: Verdict) -> ActionResult {
    let public = match verdict {
        Verdict::Allow => json!({ "decision": "allow" }),
        Verdict::Deny(reason) => json!({ "decision": "deny", "reason": reason }),
        Verdict::Ask { reason, offers } => {
            let of = |scope: Remember| {
                offers.iter().map(move |rule| json!({ "scope": scope, "rule": rule }))
            };
            let remember: Vec<Value> = of(Remember::Session).chain(of(Remember::Always)).collect();
            json!({ "decision": "ask", "reason": reason, "remember": remember })
        }
    };
    let public = match public {
        Value::Object(public) => public,
        _ => Map::new(),
    };
    ActionResult { public, ..ActionResult::default() }
}

/// Keeps the rules that were offered with the question a person answered.
async fn remembered(cx: &Context) -> Result<ActionResult> {
    let decision = cx.get("decision").cloned().unwrap_or_default();
    let rules = decision.get("rules").and_then(Value::as_array).cloned().unwrap_or_default();
    let rules: Vec<String> = rules.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if rules.is_empty() {
        return Ok(ActionResult::unchanged());
    }
    let scope = decision.get("remember").cloned().unwrap_or_default();
    let scope: Remember = serde_json::from_value(scope).map_err(|error| {
        Error::bad_argument(format!("a decision cannot be remembered: {error}"))
    })?;
    let allows = decision.get("allow").and_then(Value::as_bool) == Some(true);
    let kind = if allows { "allow" } else { "deny" };
    let app = Application::of(cx)?;
    let session = cx.session().map(|session| session.id().to_owned()).unwrap_or_default();
    kept::add(&app, &session, &Workspace::of(cx)?, scope, kind, &rules).await?;
    Ok(ActionResult::unchanged())
}
