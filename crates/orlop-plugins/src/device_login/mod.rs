//! The application plugin `device_login`: logging in to a service by entering a code on another
//! device (OAuth 2.0 device authorization grant), and renewing the tokens that come of it.

mod flow;
mod protocol;
mod settings;

use flow::{Flow, Flows, State};
use orlop_app::{Application, Credentials};
use orlop_core::hooks::{ApplicationActionInput, ApplicationActionsInput, Hook, HookSet};
use orlop_core::{
    ActionDefinition, ActionResult, Answer, ApplicationPlugin, Context, Error, Manifest, Result,
    Value, lifecycle,
};
use protocol::Server;
use serde_json::json;
use settings::Service;
use std::fs::File;
use std::time::Duration;

const NAME: &str = "device_login";
/// How long a server may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// Logs in to the services of the section `device_login`.
#[derive(Clone)]
pub struct DeviceLogin {
    flows: Flows,
    second: Duration,
    answer_within: Duration,
}

impl Default for DeviceLogin {
    fn default() -> Self {
        Self {
            flows: Flows::default(),
            second: Duration::from_secs(1),
            answer_within: ANSWER_WITHIN,
        }
    }
}

impl DeviceLogin {
    /// With another measure of time, for tests: how long a second lasts that a server speaks of,
    /// and how long one may take to answer.
    pub fn at_pace(second: Duration, answer_within: Duration) -> Self {
        Self { second, answer_within, ..Self::default() }
    }

    async fn act(&self, action: &str, name: Option<&str>, app: &Application) -> Result<Value> {
        let service = Service::of(app, name)?;
        let credentials = credentials(app)?;
        match action {
            "login_start" => self.start(service, credentials, app).await,
            "check_status" => self.status(&service, &credentials),
            "cancel_login" => {
                let (status, message) = match self.flows.cancel(&service.name) {
                    true => ("ok", "The login was cancelled."),
                    false => ("noop", "No login is under way."),
                };
                let mut told = self.status(&service, &credentials)?;
                (told["status"], told["message"]) = (status.into(), message.into());
                Ok(told)
            }
            "logout" => {
                self.flows.forget(&service.name);
                let (status, message) = match credentials.remove(&service.credential)? {
                    true => ("ok", format!("You are logged out of {}.", service.name)),
                    false => ("noop", format!("You were not logged in to {}.", service.name)),
                };
                Ok(json!({
                    "status": status, "state": "logged_out", "name": service.name, "message": message,
                }))
            }
            other => Err(Error::not_found(format!("{NAME} has no action \"{other}\""))),
        }
    }

    /// Gets a code and begins to wait. One that is still good is shown again.
    async fn start(
        &self,
        service: Service,
        credentials: Credentials,
        app: &Application,
    ) -> Result<Value> {
        let name = service.name.clone();
        let shown = |flow: &Flow| {
            (flow.state == State::Pending).then(|| offered(&name, &flow.offer, &flow.expires_at))
        };
        if let Some(pending) = self.flows.look(&name, shown).flatten() {
            return Ok(pending);
        }
        let failed = |failure: protocol::Failure| {
            Error::unavailable(format!(
                "login to {name} could not begin: {}",
                failure.into_message()
            ))
        };
        let server = Server::new(service, self.answer_within).map_err(failed)?;
        let offer = server.offer().await.map_err(failed)?;
        self.flows.begin(server, offer, app, credentials, self.second);
        let begun = self.flows.look(&name, |flow| offered(&name, &flow.offer, &flow.expires_at));
        begun.ok_or_else(|| Error::internal("the login is gone as soon as it began"))
    }

    /// How a login stands. Changes nothing.
    fn status(&self, service: &Service, credentials: &Credentials) -> Result<Value> {
        let name = &service.name;
        let flow = self.flows.look(name, |flow| (flow.state.clone(), flow.offer.clone()));
        let stored = credentials.get(&service.credential)?;
        let (state, message, variant) = match (flow, stored) {
            (Some((State::Pending, offer)), _) => {
                let message =
                    format!("Waiting for the code {} at {}.", offer.user_code, offer.page);
                return Ok(json!({
                    "state": "pending", "name": name, "message": message, "code": offer.user_code, "url": offer.page,
                }));
            }
            (Some((State::Failed(why), _)), held) => {
                ("failed", format!("The login failed: {why}.{}", kept(held.is_some())), "error")
            }
            (Some((State::Cancelled, _)), held) => (
                "cancelled",
                format!("The login was cancelled.{}", kept(held.is_some())),
                "warning",
            ),
            (_, Some(login)) if login.is_expired() && !login.can_be_renewed() => {
                ("expired", format!("The login to {name} has expired; log in again."), "warning")
            }
            (_, Some(_)) => ("success", format!("You are logged in to {name}."), "success"),
            (_, None) => ("logged_out", format!("You are not logged in to {name}."), "info"),
        };
        Ok(json!({
            "state": state, "name": name, "message": message,
            "display": {
                "format": "text", "title": title(name), "body": message, "variant": variant,
                "presentation": "inline", "dismissible": true, "display_id": display_id(name),
            },
        }))
    }

    /// Renews a stored login. Processes that share the file do so one after another, so that a
    /// token that can be used once is.
    async fn renew(&self, credential: &str, app: &Application) -> Result<()> {
        let credentials = credentials(app)?;
        let service = Service::of_credential(app, credential)?;
        let lock = credentials.file().with_extension(format!("{credential}.lock"));
        let _held = tokio::task::spawn_blocking(move || {
            let file = File::options().create(true).truncate(false).write(true).open(lock)?;
            file.lock().map(|()| file)
        })
        .await
        .map_err(|error| Error::internal(format!("waiting for a lock failed: {error}")))?
        .map_err(|error| Error::bad_state(format!("the data folder cannot be written: {error}")))?;
        let Some(login) = credentials.get(credential)? else { return Ok(()) };
        if !login.ends_soon() {
            return Ok(());
        }
        let failed = |failure: protocol::Failure| Error::unavailable(failure.into_message());
        let server = Server::new(service, self.answer_within).map_err(failed)?;
        let renewed = server.renew(&login).await.map_err(failed)?;
        credentials.store(credential, renewed)
    }
}

/// What a person is told to do.
fn offered(name: &str, offer: &protocol::Offer, expires_at: &str) -> Value {
    let (page, code) = (&offer.page, &offer.user_code);
    json!({
        "state": "pending", "name": name, "url": page, "code": code, "expires_at": expires_at,
        "display": {
            "format": "markdown",
            "title": title(name),
            "body": format!("Open [{page}]({page}) and enter the code `{code}`."),
            "variant": "info",
            "presentation": "inline",
            "dismissible": true,
            "display_id": display_id(name),
            "actions": [
                {
                    "kind": "open_url", "id": "open-login-page", "label": "Open page",
                    "url": offer.page_with_code.as_ref().unwrap_or(page),
                },
                { "kind": "copy_text", "id": "copy-login-code", "label": "Copy code", "text": code },
                {
                    "kind": "run_action", "id": "check-login-status", "label": "Check status",
                    "plugin": NAME, "action_id": "check_status", "params": { "name": name },
                    "preserve_display": true,
                },
            ],
        },
    })
}

/// What is said of a login of before, if there is one.
fn kept(is_there: bool) -> &'static str {
    if is_there { " The login of before is still there." } else { "" }
}

fn title(name: &str) -> String {
    format!("Log in to {name}")
}

fn display_id(name: &str) -> String {
    format!("{NAME}-{name}")
}

fn credentials(app: &Application) -> Result<Credentials> {
    let held = app.config().env().credentials().cloned();
    held.ok_or_else(|| Error::bad_state("there is no data folder to keep logins in"))
}

impl ApplicationPlugin for DeviceLogin {
    fn manifest(&self) -> Manifest {
        Manifest::new(NAME, "1.0.0")
            .acting_at(&[lifecycle::CREDENTIAL_EXPIRED])
            .only(HookSet::of(&[Hook::ApplicationGetActions, Hook::ApplicationExecuteAction]))
            .config(NAME, settings::descriptor())
    }

    fn get_actions<'a>(
        &'a self,
        _: &'a ApplicationActionsInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<ActionDefinition>> {
        let action = |id: &str, label: &str, description: &str| {
            let description = Some(description.to_owned());
            let action = ActionDefinition { description, ..ActionDefinition::new(id, label) };
            action.input("name", "string", false)
        };
        Answer::ok(vec![
            action(
                "login_start",
                "Log in",
                "Shows a page and a code, and waits until it is entered there.",
            ),
            action("check_status", "Login status", "Tells how a login stands."),
            action("cancel_login", "Cancel login", "Stops waiting for a code."),
            action("logout", "Log out", "Forgets a login."),
            ActionDefinition::new("renew", "Renew login")
                .input("credential", "string", true)
                .on(&[lifecycle::CREDENTIAL_EXPIRED]),
        ])
    }

    fn execute_action<'a>(
        &'a self,
        input: &'a ApplicationActionInput,
        cx: &'a Context,
    ) -> Answer<'a, ActionResult> {
        Answer::later(async move {
            let app = Application::of(cx)?;
            let text = |key: &str| input.params.get(key).and_then(Value::as_str);
            if input.action_id == "renew" {
                self.renew(text("credential").unwrap_or_default(), &app).await?;
                return Ok(ActionResult::unchanged());
            }
            ActionResult::from_json(self.act(&input.action_id, text("name"), &app).await?)
        })
    }
}
