//! What plugins offer to do.

use super::view::{ActionOutcome, ActionPreview, List, OfSession, RunAction};
use crate::caller::{Caller, Chat, Read};
use crate::extract::{Json, OptionalJson, Path, Query};
use crate::problem::Problem;
use orlop_core::{ActionCall, Error};
use orlop_types::ActionDefinition;

pub(super) async fn list(
    caller: Caller<Read>,
    Query(of): Query<OfSession>,
) -> Result<Json<List<ActionDefinition>>, Problem> {
    Ok(Json(List { items: caller.app().list_actions(of.session_id.as_deref()).await? }))
}

pub(super) async fn run(
    caller: Caller<Chat>,
    Path((plugin, action)): Path<(String, String)>,
    OptionalJson(run): OptionalJson<RunAction>,
) -> Result<Json<ActionOutcome>, Problem> {
    let app = caller.app_telling(run.context);
    let call = ActionCall { plugin: plugin.clone(), action: action.clone(), params: run.params };
    let ran = app.execute_undoable_action(call, run.session_id.as_deref()).await;
    let (result, change_id) = ran?;
    Ok(Json(ActionOutcome { plugin, action_id: action, result, change_id }))
}

pub(super) async fn preview(
    caller: Caller<Chat>,
    Path((plugin, action)): Path<(String, String)>,
    Json(run): Json<RunAction>,
) -> Result<Json<ActionPreview>, Problem> {
    let session = run.session_id.ok_or_else(|| {
        Error::bad_argument("a preview shows the change of a session; add session_id")
    })?;
    let call = ActionCall { plugin, action, params: run.params };
    let preview = caller.app_telling(run.context).preview_session_action(&session, call).await?;
    let change = serde_json::to_value(preview.difference).unwrap_or_default();
    Ok(Json(ActionPreview { result: preview.result, change }))
}
