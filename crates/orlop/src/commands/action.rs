//! `orlop action`: what plugins offer to do.

use super::pairs;
use crate::cli::Action;
use crate::exit::{FAILED, Failure};
use crate::output;
use crate::workplace::Workplace;
use orlop_app::Application;
use orlop_app::ui::Outcome;
use orlop_core::{ActionCall, ActionDefinition, Map};
use serde_json::json;
use std::process::ExitCode;

pub(super) async fn run(workplace: Workplace, command: Action) -> Result<ExitCode, Failure> {
    let app = workplace.application().await?;
    match command {
        Action::List { session, json } => list(&app, session.as_deref(), json).await,
        Action::Run { plugin, action, params, session, preview, json } => {
            let offered = app.list_actions(session.as_deref()).await?;
            let asked =
                |it: &&ActionDefinition| it.plugin.as_deref() == Some(&plugin) && it.id == action;
            let inputs = offered.iter().find(asked).map(|it| &it.inputs);
            let is_text = |key: &str| {
                let kind = inputs.and_then(|inputs| inputs.get(key)?.get("type")?.as_str());
                matches!(kind, Some("string" | "text" | "secret" | "path"))
            };
            let params = pairs(&params, is_text)?;
            let call = ActionCall { plugin, action, params };
            match (preview, session) {
                (true, Some(session)) => show_preview(&app, &session, call).await,
                (_, session) => {
                    let done = app.execute_action(call, session.as_deref()).await;
                    report(done?, json)
                }
            }
        }
    }
}

async fn list(app: &Application, session: Option<&str>, json: bool) -> Result<ExitCode, Failure> {
    let actions = app.list_actions(session).await?;
    if json {
        return Ok(output::json(&actions)?);
    }
    let rows: Vec<Vec<String>> = actions
        .iter()
        .map(|action| {
            vec![
                action.plugin.clone().unwrap_or_default(),
                action.id.clone(),
                action.lifecycles().join(", "),
                action.label.clone(),
            ]
        })
        .collect();
    Ok(output::table(&["PLUGIN", "ACTION", "RUNS AT", "LABEL"], &rows)?)
}

async fn show_preview(
    app: &Application,
    session: &str,
    call: ActionCall,
) -> Result<ExitCode, Failure> {
    let preview = app.preview_session_action(session, call).await?;
    Ok(output::json(&json!({ "result": preview.result, "change": preview.difference }))?)
}

/// What an action said: its display, else its message.
fn report(result: Map, json: bool) -> Result<ExitCode, Failure> {
    let outcome = Outcome::from_result(result.clone());
    if json {
        output::json(&result)?;
    } else if let Some(display) = &outcome.display {
        if let Some(title) = &display.title {
            output::line(title)?;
        }
        output::line(&display.body)?;
    } else if let Some(notice) = outcome.notice().filter(|_| !outcome.failed()) {
        output::line(notice)?;
    }
    match outcome.failed() {
        true => Err(Failure {
            code: FAILED,
            message: if json {
                String::new()
            } else {
                outcome.notice().unwrap_or("the action failed").to_owned()
            },
        }),
        false => Ok(ExitCode::SUCCESS),
    }
}
