//! Actions for people: what holds, what was remembered, forgetting it, another mode. None of them
//! waits for a turn that runs, so a mode can be changed in the middle of it.

use super::NAME;
use super::kept::{self, Kept};
use super::settings::{Mode, Policy};
use crate::workspace::Workspace;
use orlop_app::{Application, Remember};
use orlop_core::hooks::{ApplicationActionInput, ApplicationActionsInput};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Error, Manifest, Result,
    Value,
};
use serde_json::json;

/// The actions `list_permissions`, `forget_permission` and `set_permission_mode`.
pub struct PermissionActions;

impl ApplicationPlugin for PermissionActions {
    fn manifest(&self) -> Manifest {
        Manifest::new(NAME, "1.0.0").acting_at(&[])
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let described = |id: &str, label: &str, description: &str| {
            ActionDefinition::new(id, label).describing(description)
        };
        Answer::ok(vec![
            described(
                "list_permissions",
                "Permissions",
                "Tells the mode and all rules of a session, or of the default agent, and where each is from.",
            )
            .input("session_id", "string", false),
            described("forget_permission", "Forget a rule", "Forgets a rule that was remembered.")
                .input("session_id", "string", false)
                .input("rule", "string", true),
            described(
                "set_permission_mode",
                "Permission mode",
                "Sets the mode of a session: ask, accept_edits, read_only or all.",
            )
            .input("session_id", "string", true)
            .input("mode", "string", true),
        ])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            let app = Application::of(cx)?;
            // What a plugin may do is not for plugins to say.
            if let (true, Some(plugin)) =
                (input.action_id != "list_permissions", cx.get("requested_by"))
            {
                return Err(Error::bad_state(format!(
                    "permissions are changed by people, and not by the plugin {plugin}"
                )));
            }
            let text = |key: &str| input.params.get(key).and_then(Value::as_str);
            let session = text("session_id");
            let result = match &*input.action_id {
                "list_permissions" => list(&app, session, cx).await?,
                "forget_permission" => {
                    forget(&app, session, text("rule").unwrap_or_default(), cx).await?
                }
                "set_permission_mode" => {
                    set_mode(
                        &app,
                        session.unwrap_or_default(),
                        text("mode").unwrap_or_default(),
                        cx,
                    )
                    .await?
                }
                other => {
                    return Err(Error::not_found(format!("permissions has no action \"{other}\"")));
                }
            };
            ActionResult::from_json(result)
        })
    }
}

async fn list(app: &Application, session: Option<&str>, cx: &Context) -> Result<Value> {
    let kept = Kept::of(app, session, &Workspace::of(cx)?).await?;
    let configured = match session {
        Some(_) => Policy::of(cx.config())?,
        None => {
            let config = app.config();
            Policy::of(&config.build_agent_config(&config.default_agent()?)?)?
        }
    };
    let mut policy = configured.clone();
    kept.add_to(&mut policy)?;
    let mut rules = Vec::new();
    for (kind, list) in
        [("deny", &configured.deny), ("ask", &configured.ask), ("allow", &configured.allow)]
    {
        rules.extend(
            list.iter().map(|rule| json!({ "kind": kind, "rule": rule.text, "from": "settings" })),
        );
    }
    for (from, held) in [("always", &kept.always), ("session", &kept.session)] {
        for kind in ["deny", "allow"] {
            let list = held.get(kind).and_then(Value::as_array).into_iter().flatten();
            rules.extend(list.map(|rule| json!({ "kind": kind, "rule": rule, "from": from })));
        }
    }
    let mode = policy.mode.name();
    let line = |rule: &Value| {
        let text = |key: &str| rule[key].as_str().unwrap_or_default().to_owned();
        format!("{} {} ({})", text("kind"), text("rule"), text("from"))
    };
    let mut lines = vec![format!("mode {mode}")];
    lines.extend(rules.iter().map(line));
    Ok(json!({ "mode": mode, "rules": rules, "message": lines.join("\n") }))
}

async fn forget(
    app: &Application,
    session: Option<&str>,
    rule: &str,
    cx: &Context,
) -> Result<Value> {
    let workspace = Workspace::of(cx)?;
    let mut places = vec![Remember::Always];
    places.extend(session.map(|_| Remember::Session));
    let mut found = false;
    for scope in places {
        found |= kept::change(app, session.unwrap_or_default(), &workspace, scope, |held| {
            let mut found = false;
            for kind in ["allow", "deny"] {
                if let Some(list) = held.get_mut(kind).and_then(Value::as_array_mut) {
                    let before = list.len();
                    list.retain(|one| one != rule);
                    found |= list.len() < before;
                }
            }
            Ok(found)
        })
        .await?;
    }
    match found {
        true => Ok(json!({ "message": format!("forgot {rule}") })),
        false => Ok(json!({
            "status": "noop",
            "message": format!("{rule} is not remembered; rules of the settings are changed there"),
        })),
    }
}

async fn set_mode(app: &Application, session: &str, mode: &str, cx: &Context) -> Result<Value> {
    let mode = Mode::named(mode)?;
    app.session(session).await?;
    kept::change(app, session, &Workspace::of(cx)?, Remember::Session, |held| {
        held["mode"] = json!(mode.name());
        Ok(())
    })
    .await?;
    Ok(
        json!({ "mode": mode.name(), "message": format!("the mode of this session is {}", mode.name()) }),
    )
}
