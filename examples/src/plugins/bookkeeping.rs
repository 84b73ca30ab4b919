//! An application plugin that keeps a book on each session, with an action for each lifecycle.

use orlop_app::Application;
use orlop_core::hooks::{ApplicationActionInput, ApplicationActionsInput};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Error, Manifest, Result,
    Session, Value, lifecycle,
};
use serde_json::json;

const NAME: &str = "bookkeeping";

/// Keeps `metadata.bookkeeping` of each session, and for each user a list of the sessions that have
/// been answered.
pub struct Bookkeeping;

/// What there is to do, and when.
const ACTIONS: [(&str, &str, &str); 7] = [
    ("tidy_title", "Tidy the title", lifecycle::SESSION_SAVE_PREPARE),
    ("note_success", "Note a success", lifecycle::REQUEST_COMPLETE),
    ("note_failure", "Note a failure", lifecycle::REQUEST_ERROR),
    ("begin_fork", "Begin the book of a fork", lifecycle::SESSION_FORK),
    ("note_switch", "Note a switch to come", lifecycle::AGENT_SWITCH_PREPARE),
    ("finish_switch", "Note a switch that was made", lifecycle::AGENT_SWITCH_COMPLETE),
    ("forget", "Forget a session", lifecycle::SESSION_DELETE_PREPARE),
];

impl ApplicationPlugin for Bookkeeping {
    fn manifest(&self) -> Manifest {
        Manifest::new(NAME, "1.0.0")
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let actions = ACTIONS.iter().map(|(id, label, when)| {
            ActionDefinition::new(*id, *label).on(&[when]).input("session_id", "string", true)
        });
        Answer::ok(actions.collect())
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            let app = Application::of(cx)?;
            let session =
                cx.session().ok_or_else(|| Error::bad_argument("which session? give one"))?;
            act(&input.action_id, &app, session, cx).await
        })
    }
}

async fn act(
    action: &str,
    app: &Application,
    session: &Session,
    cx: &Context,
) -> Result<ActionResult> {
    let text = |key: &str| cx.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut book = session.metadata().get(NAME).cloned().unwrap_or_else(|| json!({}));
    match action {
        "tidy_title" => {
            let title = session.metadata().get("title").and_then(Value::as_str).unwrap_or_default();
            let tidy = title.split_whitespace().collect::<Vec<_>>().join(" ");
            return match tidy == title {
                true => Ok(ActionResult::unchanged()),
                false => changed("title", tidy.into()),
            };
        }
        "note_success" => {
            let count = book["requests"].as_u64().unwrap_or(0) + 1;
            book["requests"] = count.into();
            let id = session.id();
            app.change_user_state(NAME, |answered| {
                answered[id] = count.into();
                Ok(())
            })
            .await?;
        }
        "note_failure" => {
            let error = cx.get("error").cloned().unwrap_or_default();
            book["last_error"] = error.get("message").cloned().unwrap_or(error);
        }
        "begin_fork" => {
            let original = cx.get("original_session").and_then(|it| it.get("session_id"));
            book = json!({ "forked_from": original, "requests": 0 });
        }
        "note_switch" => book["switching_to"] = text("next_agent_id").into(),
        "finish_switch" => {
            let mut earlier = book["earlier_agents"].as_array().cloned().unwrap_or_default();
            earlier.push(text("previous_agent_id").into());
            book["earlier_agents"] = earlier.into();
            if let Value::Object(book) = &mut book {
                book.shift_remove("switching_to");
            }
        }
        "forget" => {
            let id = session.id();
            app.change_user_state(NAME, |answered| {
                if let Value::Object(answered) = answered {
                    answered.shift_remove(id);
                }
                Ok(())
            })
            .await?;
            return Ok(ActionResult::unchanged());
        }
        other => return Err(Error::not_found(format!("there is no action \"{other}\""))),
    }
    changed(NAME, book)
}

fn changed(key: &str, value: Value) -> Result<ActionResult> {
    ActionResult::from_json(json!({ "session_metadata": { key: value } }))
}
