//! The application plugin: shows what was counted, and keeps requests within their budgets.

use super::budget::check;
use super::ledger::{days, of_session, today};
use super::report::{line, report};
use super::{NAME, described};
use orlop_app::Application;
use orlop_core::hooks::{ApplicationActionInput, ApplicationActionsInput, Hook, HookSet};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Manifest, Result, Value,
    lifecycle,
};
use serde_json::json;

const SHOW: &str = "show_usage";
const CHECK: &str = "check_budgets";

/// Shows usage to people and ends requests whose budget is used up.
pub struct UsageReport;

impl ApplicationPlugin for UsageReport {
    fn manifest(&self) -> Manifest {
        described(Manifest::new(NAME, "1.0.0"))
            .acting_at(&[lifecycle::MODEL_REQUEST])
            .only(HookSet::of(&[Hook::ApplicationGetActions, Hook::ApplicationExecuteAction]))
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let show = ActionDefinition::new(SHOW, "Show usage")
            .describing("Tokens and cost, by session, day, agent and plugin.")
            .input("session_id", "string", false);
        let check = ActionDefinition::new(CHECK, "Check budgets")
            .describing("Ends a request whose budget is used up.")
            .on(&[lifecycle::MODEL_REQUEST]);
        Answer::ok(vec![show, check])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            let app = Application::of(cx)?;
            if input.action_id == CHECK {
                check(&app, cx).await?;
                return Ok(ActionResult::unchanged());
            }
            show(&app, input.params.get("session_id").and_then(Value::as_str)).await
        })
    }
}

async fn show(app: &Application, session: Option<&str>) -> Result<ActionResult> {
    let (days, today) = (days(app).await?, today());
    let of_session = match session {
        Some(id) => {
            app.stored_session(id).await?;
            Some(of_session(app, id).await?)
        }
        None => None,
    };
    let message = match &of_session {
        Some(session) => format!("this session: {}", line(&session.total)),
        None => format!("today: {}", line(&days.on(&today))),
    };
    let body = report(of_session.as_ref(), &days, &today);
    ActionResult::from_json(json!({
        "status": "ok",
        "message": message,
        "display": { "title": "Usage", "body": body, "format": "markdown" },
        "usage": { "session": of_session, "today": days.days.get(&today), "days": days.days },
    }))
}
