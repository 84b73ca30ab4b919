//! What was remembered: with a session, or with the user for one working folder. A rule for one
//! project says nothing about another.

use super::NAME;
use super::settings::{MAX_RULES, Policy};
use crate::workspace::Workspace;
use orlop_app::{Application, Remember};
use orlop_core::{Context, Error, ErrorClass, Result, Session, Value};
use serde_json::json;

/// How often a change is tried again that another was faster than.
const TRIES: u32 = 20;
/// How many sessions above a task are looked at.
const MAX_PARENTS: usize = 8;

/// Rules that were remembered, and a mode that was set.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// With the session: `mode`, `allow`, `deny`.
    pub(super) session: Value,
    /// With the sessions it works for, the nearest first: `allow`, `deny`.
    inherited: Vec<Value>,
    /// With the user, for this working folder: `allow`, `deny`.
    pub(super) always: Value,
}

impl Kept {
    /// What is remembered for the session and the user of a call.
    pub(super) async fn load(cx: &Context, workspace: &Workspace) -> Result<Self> {
        // A core without application keeps nothing.
        let Ok(app) = Application::of(cx) else { return Ok(Self::default()) };
        let session = cx.session().map(|session| session.id().to_owned());
        let mut kept = Self::of(&app, session.as_deref(), workspace).await?;
        if let Some(parent) = cx.session().and_then(parent_of) {
            kept.inherited = inherited(&app, parent).await?;
        }
        Ok(kept)
    }

    pub(super) async fn of(
        app: &Application,
        session: Option<&str>,
        workspace: &Workspace,
    ) -> Result<Self> {
        let with_session = match session {
            Some(session) => app.plugin_state(session, NAME).await?.map(|held| held.value),
            None => None,
        };
        let with_user = app.user_state(NAME).await?.map(|held| held.value).unwrap_or_default();
        Ok(Self {
            session: with_session.unwrap_or_default(),
            inherited: Vec::new(),
            always: with_user.get(folder(workspace)).cloned().unwrap_or_default(),
        })
    }

    pub(super) fn add_to(&self, policy: &mut Policy) -> Result<()> {
        policy.add(&self.always)?;
        self.inherited.iter().try_for_each(|rules| policy.add(rules))?;
        policy.add(&self.session)
    }
}

/// The session that this one works for.
fn parent_of(session: &Session) -> Option<String> {
    session.metadata().get("parent_session_id").and_then(Value::as_str).map(str::to_owned)
}

/// What a person decided for the sessions that a task is a part of. A mode is not passed on: it is
/// set for one session, and the agent of another may have its own.
async fn inherited(app: &Application, parent: String) -> Result<Vec<Value>> {
    let (mut next, mut found) = (Some(parent), Vec::new());
    while let Some(id) = next.take().filter(|_| found.len() < MAX_PARENTS) {
        let mut rules =
            app.plugin_state(&id, NAME).await?.map(|held| held.value).unwrap_or_default();
        if let Some(rules) = rules.as_object_mut() {
            rules.retain(|kind, _| matches!(kind.as_str(), "allow" | "deny"));
        }
        found.push(rules);
        next = match app.stored_session(&id).await {
            Ok(session) => parent_of(&session),
            Err(error) if error.class() == ErrorClass::NotFound => None,
            Err(error) => return Err(error),
        };
    }
    Ok(found)
}

fn folder(workspace: &Workspace) -> String {
    workspace.root().display().to_string()
}

/// Remembers rules of a kind, `allow` or `deny`.
pub(super) async fn add(
    app: &Application,
    session: &str,
    workspace: &Workspace,
    scope: Remember,
    kind: &str,
    rules: &[String],
) -> Result<()> {
    change(app, session, workspace, scope, |held| {
        if !held[kind].is_array() {
            held[kind] = json!([]);
        }
        let Some(list) = held[kind].as_array_mut() else { return Ok(()) };
        for rule in rules {
            if !list.iter().any(|one| one == rule) {
                list.push(json!(rule));
            }
        }
        match list.len() > MAX_RULES {
            true => Err(Error::bad_state(format!(
                "{MAX_RULES} rules are remembered already; forget some of them first"
            ))),
            false => Ok(()),
        }
    })
    .await
}

/// Changes what is kept in one place.
pub(super) async fn change<T>(
    app: &Application,
    session: &str,
    workspace: &Workspace,
    scope: Remember,
    mut edit: impl FnMut(&mut Value) -> Result<T>,
) -> Result<T> {
    match scope {
        Remember::Always => {
            let folder = folder(workspace);
            app.change_user_state(NAME, |all| {
                if !all.is_object() {
                    *all = json!({});
                }
                if !all[&folder].is_object() {
                    all[&folder] = json!({});
                }
                edit(&mut all[&folder])
            })
            .await
        }
        Remember::Session => {
            for _ in 0..TRIES {
                let held = app.plugin_state(session, NAME).await?;
                let (mut value, version) =
                    held.map_or((json!({}), 0), |held| (held.value, held.version));
                let outcome = edit(&mut value)?;
                match app.set_plugin_state(session, NAME, version, Some(value)).await {
                    Ok(_) => return Ok(outcome),
                    Err(error) if error.class() == ErrorClass::Conflict => {}
                    Err(error) => return Err(error),
                }
            }
            Err(Error::conflict("the permissions of this session change too often; try again"))
        }
    }
}
