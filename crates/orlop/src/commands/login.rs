//! `orlop login` and `orlop logout`: the actions of `device_login`, and waiting for the person.

use crate::exit::{FAILED, Failure, INTERRUPTED};
use crate::interrupt::Interrupts;
use crate::output;
use crate::workplace::Workplace;
use orlop_app::Application;
use orlop_core::{ActionCall, Map, Value};
use std::process::ExitCode;
use std::time::Duration;

/// How often is looked whether the code has been entered. The plugin asks the service at a pace of
/// its own.
const LOOK: Duration = Duration::from_millis(500);

pub(super) async fn log_in(
    workplace: Workplace,
    name: Option<String>,
) -> Result<ExitCode, Failure> {
    let mut interrupts = Interrupts::new();
    let app = workplace.application().await?;
    let begun = run(&app, "login_start", name.clone()).await?;
    let (url, code) = (text(&begun, "url"), text(&begun, "code"));
    output::line(&format!("Open {url} and enter the code {code}"))?;
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = interrupts.next() => {
                run(&app, "cancel_login", name).await?;
                return Err(Failure { code: INTERRUPTED, message: "the login was cancelled".to_owned() });
            }
        }
        let status = run(&app, "check_status", name.clone()).await?;
        match text(&status, "state") {
            "pending" => {}
            "success" => {
                output::line(text(&status, "message"))?;
                return Ok(ExitCode::SUCCESS);
            }
            _ => {
                return Err(Failure { code: FAILED, message: text(&status, "message").to_owned() });
            }
        }
    }
}

pub(super) async fn log_out(
    workplace: Workplace,
    name: Option<String>,
) -> Result<ExitCode, Failure> {
    let app = workplace.application().await?;
    let done = run(&app, "logout", name).await?;
    output::line(text(&done, "message"))?;
    Ok(ExitCode::SUCCESS)
}

async fn run(app: &Application, action: &str, name: Option<String>) -> Result<Map, Failure> {
    let call = ActionCall::new("device_login", action);
    let call = match name {
        Some(name) => call.param("name", name),
        None => call,
    };
    Ok(app.execute_action(call, None).await?)
}

fn text<'a>(result: &'a Map, key: &str) -> &'a str {
    result.get(key).and_then(Value::as_str).unwrap_or_default()
}
