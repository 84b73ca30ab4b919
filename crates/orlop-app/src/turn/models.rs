//! The models of a request: the agent's own and its fallbacks.

use super::driver::Driver;
use crate::application::Application;
use crate::config::fallbacks;
use orlop_core::types::app_event::ModelName;
use orlop_core::{Config, Error, OutputSchema, Result};

/// The settings that each model is asked with, in the order of preference; at least one.
pub(crate) struct Models {
    own: Config,
    fallbacks: Vec<Config>,
    /// The provider of settings that name none.
    provider: Option<String>,
}

impl Models {
    pub(super) fn len(&self) -> usize {
        1 + self.fallbacks.len()
    }

    /// The settings of one of them. A number of another configuration means the agent's own.
    pub(super) fn config(&self, index: usize) -> Config {
        let fallback = index.checked_sub(1).and_then(|index| self.fallbacks.get(index));
        fallback.unwrap_or(&self.own).clone()
    }

    pub(super) fn name(&self, config: &Config) -> ModelName {
        let text = |key: &str| config.text(key).map(str::to_owned);
        ModelName {
            provider: text("provider").or_else(|| self.provider.clone()),
            model: text("model"),
        }
    }
}

impl Application {
    /// The models that a request with these settings may use. What is wrong with any of them is
    /// said before the first is asked.
    pub(super) fn models_of(&self, config: &Config) -> Result<Models> {
        let fallbacks = fallbacks(config)?;
        let known = self.shared.plugins.provider_names();
        for (index, fallback) in fallbacks.iter().enumerate() {
            if let Some(name) =
                fallback.text("provider").filter(|name| !known.iter().any(|known| known == name))
            {
                return Err(Error::bad_argument(format!(
                    "fallback[{index}].provider: there is no provider \"{name}\"; known: {}",
                    known.join(", ")
                )));
            }
        }
        OutputSchema::of(config)?;
        Ok(Models { fallbacks, ..self.only_model(config) })
    }

    /// The agent's own model alone.
    pub(super) fn only_model(&self, config: &Config) -> Models {
        let provider = match self.shared.plugins.provider_names() {
            [only] => Some(only.clone()),
            _ => None,
        };
        Models { own: config.clone(), fallbacks: Vec::new(), provider }
    }
}

impl Driver {
    /// Has logins renewed that end soon, and goes on with the new tokens: a turn may take longer
    /// than the token it began with lasts.
    pub(super) async fn renew_logins(&mut self) -> Result<()> {
        if self.agent.credentials.is_empty() {
            return Ok(());
        }
        self.app.renew_logins(&self.agent).await?;
        let agent = self.app.shared.agent(&self.agent.id)?;
        if agent.config != self.agent.config {
            let config = self.app.effective(&agent, &self.session, &[&self.turn.overrides]);
            self.models = self.app.models_of(&config)?;
            self.config = self.models.config(self.turn.again.model);
            self.agent = agent;
        }
        Ok(())
    }
}
