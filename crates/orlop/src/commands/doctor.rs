//! `orlop doctor`: checks that everything works, and says what to do where it does not.

use crate::exit::{FAILED, Failure};
use crate::output;
use crate::workplace::Workplace;
use orlop_app::Application;
use serde::Serialize;
use std::process::ExitCode;

/// One thing that was looked at.
#[derive(Serialize)]
struct Finding {
    what: &'static str,
    ok: bool,
    detail: String,
}

impl Finding {
    fn of(what: &'static str, found: Result<String, String>) -> Self {
        let ok = found.is_ok();
        let (Ok(detail) | Err(detail)) = found;
        Self { what, ok, detail }
    }
}

pub(super) async fn run(workplace: Workplace, json: bool) -> Result<ExitCode, Failure> {
    let mut findings = vec![configuration(&workplace)];
    findings.extend(trust(&workplace));
    // A system without one is no fault of this installation; what it means is said.
    findings.push(Finding::of("sandbox", Ok(orlop_plugins::Sandbox::support().to_string())));
    let memory = orlop_runtime::MemoryWatch::here().to_string();
    findings.push(Finding::of("plugin memory", Ok(memory)));
    match workplace.application().await {
        Ok(app) => look_at(&workplace, &app, &mut findings).await,
        Err(failure) => findings.push(Finding::of("store", Err(failure.message))),
    }
    let healthy = findings.iter().all(|finding| finding.ok);
    if json {
        output::json(&findings)?;
    } else {
        let rows: Vec<Vec<String>> = findings
            .iter()
            .map(|finding| {
                let mark = if finding.ok { "ok" } else { "PROBLEM" };
                vec![finding.what.to_owned(), mark.to_owned(), finding.detail.clone()]
            })
            .collect();
        output::table(&["WHAT", "STATE", "DETAIL"], &rows)?;
    }
    match healthy {
        true => Ok(ExitCode::SUCCESS),
        false => Err(Failure::silent(FAILED)),
    }
}

fn configuration(workplace: &Workplace) -> Finding {
    let problems = workplace.config.check(&workplace.plugins.schema());
    let files: Vec<String> =
        workplace.locations.files().iter().map(|file| file.display().to_string()).collect();
    let found = match (problems.first(), problems.len()) {
        (None, _) if files.is_empty() => {
            Ok(workplace.notice.clone().unwrap_or_else(|| "no file".to_owned()))
        }
        (None, _) => Ok(files.join(", ")),
        (Some(first), 1) => Err(first.to_string()),
        (Some(first), n) => Err(format!("{first} (and {} more; `orlop config check`)", n - 1)),
    };
    Finding::of("configuration", found)
}

/// What of the project's file is not used. That is no fault, and people should know it.
fn trust(workplace: &Workplace) -> Option<Finding> {
    let trust = workplace.config.project_trust()?;
    let (file, keys) = (&trust.file, trust.summary());
    let detail = match trust.is_trusted() {
        true => format!("{file} is trusted with {keys}"),
        false => format!("{file} is not trusted; ignored: {keys} (`orlop trust` trusts it)"),
    };
    Some(Finding::of("trust", Ok(detail)))
}

async fn look_at(workplace: &Workplace, app: &Application, findings: &mut Vec<Finding>) {
    let store = app.store().check().await;
    findings.push(Finding::of(
        "store",
        store
            .map(|health| {
                format!(
                    "{}, schema {}, {} sessions",
                    health.name, health.schema_version, health.sessions
                )
            })
            .map_err(|error| error.to_string()),
    ));
    let open = app.store().abandoned(1_000).await;
    findings.push(Finding::of(
        "interrupted requests",
        match open {
            Ok(open) if open.is_empty() => Ok("none".to_owned()),
            Ok(open) => Ok(format!("{}; the next `orlop run` settles them", open.len())),
            Err(error) => Err(error.to_string()),
        },
    ));
    findings.push(Finding::of("logins", logins(app).map_err(|error| error.to_string())));
    let agents = app.config().agents().into_iter().map(str::to_owned).collect::<Vec<_>>();
    for id in agents {
        let found = match app.agent(&id) {
            Ok(_) if super::model::missing(workplace, Some(&id), None).is_some() => Err(format!(
                "{id}: its embedded model is not here yet; `orlop` offers to bring it, `orlop model pull` does so"
            )),
            Ok((core, config)) => models(&id, &core, &config).await,
            Err(error) => Err(format!("{id}: {error}")),
        };
        findings.push(Finding::of("agent", found));
    }
}

/// The stored logins, and how long they last.
fn logins(app: &Application) -> orlop_core::Result<String> {
    let Some(credentials) = app.config().env().credentials() else { return Ok("none".to_owned()) };
    let shown = credentials.load()?.into_iter().map(|(name, login)| {
        let renewed = if login.can_be_renewed() { ", is renewed" } else { "" };
        match &login.expires_at {
            Some(end) if login.is_expired() => format!("{name} ended {end}{renewed}"),
            Some(end) => format!("{name} until {end}{renewed}"),
            None => name,
        }
    });
    let shown: Vec<String> = shown.collect();
    Ok(if shown.is_empty() { "none".to_owned() } else { shown.join("; ") })
}

/// Whether an agent's provider answers.
async fn models(
    id: &str,
    core: &orlop_core::Core,
    config: &orlop_core::Config,
) -> Result<String, String> {
    let provider = config.text("provider").unwrap_or("none");
    let models = core.fetch_models(config).await.map_err(|error| format!("{id}: {error}"))?;
    let model = config.text("model").unwrap_or("-");
    match models.len() {
        0 => Ok(format!("{id}: {provider}, model {model}; the server lists no models")),
        n => Ok(format!("{id}: {provider}, model {model}; {n} models offered")),
    }
}
