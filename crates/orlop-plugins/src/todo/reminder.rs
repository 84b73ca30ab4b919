//! Tells the model its plan when the history no longer shows it, after a compaction for instance.

use super::TODO;
use super::list::List;
use orlop_app::Application;
use orlop_core::hooks::{ContextInput, Hook, HookSet};
use orlop_core::{Answer, Context, HostPlugin, Manifest, Message, Result, Session, Value};

/// How many messages back a plan counts as seen.
const NEAR: usize = 60;

/// The host plugin `todo`: puts an open plan before the request if the model cannot see it.
pub struct TodoReminder;

impl HostPlugin for TodoReminder {
    fn manifest(&self) -> Manifest {
        Manifest::host(TODO, "1.0.0").only(HookSet::of(&[Hook::ContextProviders]))
    }

    fn context_providers<'a>(
        &'a self,
        input: &'a ContextInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<String>> {
        Answer::later(reminder(&input.request.session_id, cx))
    }
}

async fn reminder(session_id: &str, cx: &Context) -> Result<Vec<String>> {
    let app = Application::of(cx)?;
    let Some(loaded) = app.load_session(session_id).await? else { return Ok(Vec::new()) };
    let session = &loaded.session;
    let list = List::read(session.metadata().get(TODO)).ok();
    let list = list.filter(|list| list.is_open() && !is_seen(session));
    let text = |list: List| {
        format!("Your plan so far (set it again with `todo` when it changes):\n{}", list.lines())
    };
    Ok(list.map(text).into_iter().collect())
}

/// Whether the plan was set or told not long ago.
fn is_seen(session: &Session) -> bool {
    let name = |message: &Message| {
        let name = message.metadata().get("tool_name").and_then(Value::as_str);
        name == Some(TODO)
    };
    session.messages().iter().rev().take(NEAR).any(name)
}
