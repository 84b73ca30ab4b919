//! Logins that end: before a request uses one, and before each model call of it, the plugin that made
//! it gets a new token.

use crate::application::{Agent, Application};
use crate::credentials::Credential;
use orlop_core::types::ActionStatus;
use orlop_core::{Config, Error, Map, Result, TriggerSource, Value, lifecycle};

impl Application {
    /// Has logins renewed that the settings of an agent hold and that end soon. It happens once,
    /// however many requests wait for it. Fails if one has ended and cannot be renewed.
    pub(crate) async fn renew_logins(&self, agent: &Agent) -> Result<()> {
        let Some(credentials) = self.config().env().credentials() else { return Ok(()) };
        let due = |name: &str| {
            let login = credentials.get(name)?;
            Ok::<_, Error>(login.filter(|login| login.can_be_renewed() && login.ends_soon()))
        };
        for name in &agent.credentials {
            if due(name)?.is_none() {
                continue;
            }
            let _one = self.shared.renewing.lock().await;
            // Somebody else may have done it meanwhile.
            let Some(login) = due(name)? else { continue };
            let renewed = self.renew_login(name, &login).await;
            let now = credentials.get(name)?;
            match renewed {
                Err(error) if now.is_some_and(|login| login.is_expired()) => {
                    return Err(Error::unavailable(format!(
                        "the login \"{name}\" has expired and could not be renewed: {}; log in again",
                        error.message()
                    )));
                }
                // The token is good for a little while yet.
                Err(error) => {
                    tracing::warn!(target: "orlop::app", login = name, %error, "a login could not be renewed");
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Runs what the plugin of a login does at `credential_expired`.
    async fn renew_login(&self, name: &str, login: &Credential) -> Result<()> {
        let plugin = login.renewed_by.as_deref().unwrap_or_default();
        let missing = || Error::not_found(format!("no plugin \"{plugin}\" renews it"));
        let app = self.begin();
        let entry = app.entry(plugin).ok_or_else(missing)?;
        let actions = app.hooked().actions_of(entry, &app.host_context()).await?;
        let name_of = lifecycle::CREDENTIAL_EXPIRED;
        let action = actions.into_iter().find(|action| action.runs_at(name_of));
        let action = action.ok_or_else(missing)?;
        let params = Map::from_iter([("credential".to_owned(), Value::from(name))]);
        let params = action.validate(&params)?;
        let config = Config::empty();
        let source = TriggerSource::Application;
        let cx = app.hooked().context(None, &config, None, Some(name_of), source, &[]);
        let result = app.hooked().execute(entry, &action.id, params, &cx).await?;
        match result.status() {
            ActionStatus::Error => {
                let outcome = crate::ui::Outcome::from_result(result.public);
                Err(Error::unavailable(outcome.message.unwrap_or_default()))
            }
            ActionStatus::Ok | ActionStatus::Noop => Ok(()),
        }
    }
}
