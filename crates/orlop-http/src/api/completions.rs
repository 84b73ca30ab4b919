//! Help while somebody types.

use super::view::{Accepted, Applied, List, Typed};
use crate::caller::{Caller, Read};
use crate::extract::Json;
use crate::problem::Problem;
use orlop_core::Map;

pub(super) async fn list(
    caller: Caller<Read>,
    Json(typed): Json<Typed>,
) -> Result<Json<List<Map>>, Problem> {
    let session = typed.session_id.as_deref();
    let items = caller.app().completions(&typed.agent_id, session, &typed.text).await?;
    Ok(Json(List { items }))
}

pub(super) async fn apply(
    caller: Caller<Read>,
    Json(accepted): Json<Accepted>,
) -> Result<Json<Applied>, Problem> {
    let Accepted { agent_id, session_id, text, completion } = accepted;
    let app = caller.app();
    let text = app.apply_completion(&agent_id, session_id.as_deref(), &text, completion).await?;
    Ok(Json(Applied { text }))
}
