//! What holds for sub-sessions as sessions: how much they may use, and what becomes of them when
//! the session they belong to is deleted, or one of them is forked.

use orlop_app::Application;
use orlop_app::store::{Archived, ListQuery};
use orlop_core::hooks::{ApplicationActionInput, ApplicationActionsInput};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Error, Manifest, Map,
    Result, Session, Value, lifecycle,
};
use serde_json::json;

const DELETE: &str = "delete_sub_sessions";
const FREE: &str = "free_fork";
const COUNT: &str = "count_tokens";

/// The metadata key of how many tokens a task may use.
pub(super) const MAX_TOKENS: &str = "delegated_tokens";
/// The metadata key of how many dollars a task may cost.
pub(super) const MAX_COST: &str = "delegated_cost";

/// The application plugin `delegate`: sub-sessions are deleted with their session, and the fork of
/// one is a session like any other.
pub struct SubSessions;

impl ApplicationPlugin for SubSessions {
    fn manifest(&self) -> Manifest {
        Manifest::new("delegate", "1.0.0").acting_at(&[
            lifecycle::SESSION_DELETE_PREPARE,
            lifecycle::SESSION_FORK,
            lifecycle::MODEL_REQUEST,
        ])
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let delete = ActionDefinition::new(DELETE, "Delete sub-sessions")
            .on(&[lifecycle::SESSION_DELETE_PREPARE])
            .input("session_id", "string", true);
        let free = ActionDefinition::new(FREE, "Free a fork").on(&[lifecycle::SESSION_FORK]);
        let count = ActionDefinition::new(COUNT, "Count tokens").on(&[lifecycle::MODEL_REQUEST]);
        Answer::ok(vec![delete, free, count])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            match input.action_id.as_str() {
                DELETE => {
                    let id = input.params.get("session_id").and_then(Value::as_str);
                    delete_all(&Application::of(cx)?, id.unwrap_or_default()).await
                }
                COUNT => count(&Application::of(cx)?, cx).await,
                _ if !cx.session().is_some_and(is_sub_session) => Ok(ActionResult::unchanged()),
                _ => {
                    let parents = ["parent_session_id", "parent_request_id", "parent_call_id"];
                    let keys = parents.iter().chain(&[MAX_TOKENS, MAX_COST]);
                    let nothing = keys.map(|key| ((*key).to_owned(), Value::Null));
                    let metadata: Map = nothing.collect();
                    ActionResult::from_json(json!({ "session_metadata": metadata }))
                }
            }
        })
    }
}

fn is_sub_session(session: &Session) -> bool {
    session.metadata().contains_key("parent_session_id")
}

/// Ends a task that has used what it may use, before the model is asked again. The turn is stored
/// with the tokens so far; its request has the id of the sub-session.
async fn count(app: &Application, cx: &Context) -> Result<ActionResult> {
    let Some(session) = cx.session() else { return Ok(ActionResult::unchanged()) };
    let limit = |key: &str| session.metadata().get(key).cloned();
    let (tokens, cost) = (limit(MAX_TOKENS), limit(MAX_COST));
    if tokens.is_none() && cost.is_none() {
        return Ok(ActionResult::unchanged());
    }
    let turn = app.store().turn(app.scope(), session.id()).await?.filter(|turn| !turn.settled);
    let usage = turn.and_then(|turn| turn.state.get("usage")?.as_object().cloned());
    let Some(usage) = usage else { return Ok(ActionResult::unchanged()) };
    if let (Some(used), Some(most)) = (tokens_in(&usage), tokens.and_then(|most| most.as_u64()))
        && used > most
    {
        return Err(Error::bad_state(format!(
            "this task used {used} of {most} tokens (delegate.max_tokens) and was not done"
        )));
    }
    match cost.and_then(|most| most.as_f64()) {
        Some(most) => within_cost(&usage, most, cx),
        None => Ok(ActionResult::unchanged()),
    }
}

/// A limit in dollars is none where nobody knows what an answer costs.
fn within_cost(usage: &Map, most: f64, cx: &Context) -> Result<ActionResult> {
    match crate::usage::cost_so_far(usage, cx) {
        Some(cost) if cost > most => Err(Error::bad_state(format!(
            "this task cost ${cost:.4} of ${most:.4} (delegate.max_cost) and was not done"
        ))),
        Some(_) => Ok(ActionResult::unchanged()),
        None => Err(Error::bad_state(format!(
            "delegate.max_cost cannot be kept, because no price is known for model \"{}\"; set usage.price, or delegate.max_tokens instead",
            cx.config().text("model").unwrap_or("unknown")
        ))),
    }
}

fn tokens_in(usage: &Map) -> Option<u64> {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    count("total_tokens").or_else(|| Some(count("input_tokens")? + count("output_tokens")?))
}

async fn delete_all(app: &Application, parent: &str) -> Result<ActionResult> {
    let query = ListQuery {
        metadata: Some(("parent_session_id".to_owned(), parent.to_owned())),
        sub_sessions: true,
        archived: Archived::With,
        limit: 100,
        ..ListQuery::default()
    };
    let mut count = 0;
    loop {
        let page = app.store().list(app.scope(), &query).await?;
        if page.heads.is_empty() {
            break;
        }
        for head in page.heads {
            app.delete_session(&head.id, Some("its session was deleted")).await?;
            count += 1;
        }
    }
    ActionResult::from_json(json!({ "deleted": count }))
}
