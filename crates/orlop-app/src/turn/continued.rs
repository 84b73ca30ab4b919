//! Going on with a conversation: what a request adds to its session, and the calls that whoever was
//! to run them left without a result.

use orlop_core::{Config, Core, Error, Message, Result, Role, Session, Value, closed_tool_message};

/// Whether the session is as long as the caller believes.
pub(super) fn is_at(session: &Session, length: usize) -> Result<()> {
    let found = session.messages().len();
    if found == length {
        return Ok(());
    }
    Err(Error::conflict(format!(
        "session \"{}\" has {found} messages and not {length}: somebody went on with it; load it again, or fork it",
        session.id()
    )))
}

/// The session with one more message. Before one that is no result, calls without a result get one
/// that says so: no model server takes a conversation in which it is missing.
pub(super) async fn continued(
    core: &Core,
    mut session: Session,
    message: Message,
    config: &Config,
) -> Result<Session> {
    if message.role() != Role::Tool {
        for closing in unanswered(core, &session, config).await {
            session = core.add_message(&session, closing, config).await?;
        }
    }
    core.add_message(&session, message, config).await
}

/// Results for the calls at the end of the session that have none.
async fn unanswered(core: &Core, session: &Session, config: &Config) -> Vec<Message> {
    let mut results = Vec::new();
    let mut last = None;
    for message in session.messages().iter().rev() {
        if message.role() != Role::Tool {
            last = Some(message);
            break;
        }
        results.push(message.metadata().get("tool_call_id").and_then(Value::as_str));
    }
    let Some(answer) = last else { return Vec::new() };
    if answer.tool_calls().count() <= results.len() {
        return Vec::new();
    }
    let mut closings = Vec::new();
    for raw in answer.tool_calls() {
        let Ok(call) = core.inspect_tool_call(raw, config).await else { continue };
        if !results.contains(&call.call_id.as_deref()) {
            closings.push(closed_tool_message(&call, "Error: nobody ran this call"));
        }
    }
    closings
}
