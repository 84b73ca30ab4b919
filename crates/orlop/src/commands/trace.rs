//! `orlop trace`: what each hook did in a request.

use crate::exit::{Failure, NOT_FOUND};
use crate::output;
use crate::workplace::Workplace;
use orlop_app::Unbegun;
use orlop_core::types::app_event::ModelName;
use orlop_core::{Map, Value};
use std::process::ExitCode;

pub(super) async fn run(
    workplace: Workplace,
    request_id: Option<String>,
    json: bool,
) -> Result<ExitCode, Failure> {
    let app = workplace.application().await?;
    let unbegun = match &request_id {
        Some(_) => None,
        None => app.unbegun().await?,
    };
    if let Some(unbegun) = unbegun {
        output::tell(&did_not_begin(&unbegun));
        return show(&unbegun.trace, json);
    }
    let request_id = match request_id {
        Some(id) => id,
        None => {
            let turns = app.store().turns(app.scope(), None, 1).await?;
            let last = turns.into_iter().next().ok_or_else(|| Failure {
                code: NOT_FOUND,
                message: "there has been no request yet; send one with `orlop run`".to_owned(),
            })?;
            last.request
        }
    };
    show(&app.trace(&request_id).await?, json)
}

/// What to say of a request of which nothing is stored.
pub(super) fn did_not_begin(unbegun: &Unbegun) -> String {
    let Unbegun { session_id, error, .. } = unbegun;
    format!("the last request, for session {session_id}, did not begin: {error}")
}

fn show(trace: &[Map], json: bool) -> Result<ExitCode, Failure> {
    if json {
        return Ok(output::json(&trace)?);
    }
    let rows: Vec<Vec<String>> = trace.iter().map(row).collect();
    Ok(output::table(&["AT MS", "TOOK MS", "PLUGIN", "WHAT", "OUTCOME", "CHANGED"], &rows)?)
}

fn row(entry: &Map) -> Vec<String> {
    let text = |key: &str| match entry.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let millis = |key: &str| {
        let micros = entry.get(key).and_then(Value::as_u64).unwrap_or_default();
        format!("{}.{:03}", micros / 1000, micros % 1000)
    };
    let what = match text("hook") {
        hook if hook.is_empty() => format!("{} {}", text("kind"), detail(entry.get("detail"))),
        hook => match (text("action"), text("calls")) {
            (action, _) if !action.is_empty() => format!("{hook} {action}"),
            (_, calls) if !calls.is_empty() && calls != "1" => format!("{hook} x{calls}"),
            _ => hook,
        },
    };
    let changed: String = text("change").chars().take(60).collect();
    vec![millis("start_us"), millis("duration_us"), text("plugin"), what, text("outcome"), changed]
}

/// What an entry is about: `0 provider/model` for a model call, `1 shell` for a tool.
fn detail(detail: Option<&Value>) -> String {
    let Some(detail) = detail else { return String::new() };
    let text = |key: &str| detail.get(key).and_then(Value::as_str).map(str::to_owned);
    match (detail, detail.get("step")) {
        (_, Some(step)) => {
            let name = ModelName { provider: text("provider"), model: text("model") };
            format!("{step} {}", text("tool").unwrap_or_else(|| name.to_string()))
        }
        (Value::String(text), _) => text.clone(),
        (other, _) => other.to_string(),
    }
}
