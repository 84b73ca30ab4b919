//! What plugins of all kinds contribute for people: settings and elements of agents.

use crate::application::Application;
use orlop_core::hooks::{ApplicationUiInput, Hook};
use orlop_core::{Config, Context, Core, Map, Result, TriggerSource, Value, config_entries};
use std::collections::HashSet;

impl Application {
    /// The settings an agent knows: those of its core's plugins, then of application plugins, all
    /// in the same form.
    pub fn config_schema(&self, agent_id: &str) -> Result<Vec<Map>> {
        let agent = self.shared.agent(agent_id)?;
        let mut entries = agent.core.config_schema();
        for entry in &self.shared.applications {
            entries
                .extend(config_entries(&entry.plugin.manifest.config_schema, entry.plugin.name()));
        }
        Ok(entries)
    }

    /// The names of the tools that plugins have which yield to nobody, whatever agents make of them.
    pub async fn tool_names(&self) -> Result<HashSet<String>> {
        let core = self.shared.plugins.core_of_tools()?;
        let tools = core.available_tools(&Config::empty()).await?;
        Ok(tools.iter().filter_map(|tool| tool.name().map(str::to_owned)).collect())
    }

    /// The elements for people: those of an agent's plugins, then of application plugins, each
    /// with the name of its plugin. With a session, its overrides count.
    pub async fn ui_schema(&self, agent_id: &str, session_id: Option<&str>) -> Result<Vec<Map>> {
        let agent = self.shared.agent(agent_id)?;
        let config = match session_id {
            Some(id) => self.effective(&agent, &self.metadata_of(id).await?, &[]),
            None => agent.config.clone(),
        };
        let mut elements = agent.core.ui_schema(&config).await?;
        if self.shared.applications.is_empty() {
            return Ok(elements);
        }
        let input = ApplicationUiInput {
            state: Value::Null,
            tags: Some(agent.core.tags_for(&config).await?),
            models: Some(agent.core.models_for(&config).await?),
            config: Some(config),
        };
        let more = self.application_elements(input, &agent.base).await?;
        more.into_iter().for_each(|element| merge(&mut elements, element));
        Ok(elements)
    }

    /// The elements of application plugins alone, where no agent is known.
    pub async fn application_ui(&self) -> Result<Vec<Map>> {
        let input =
            ApplicationUiInput { state: Value::Null, config: None, tags: None, models: None };
        self.application_elements(input, &Config::empty()).await
    }

    /// Completions for the text before the cursor, of all features of an agent. With a session, its
    /// overrides count, and hooks are told of it.
    pub async fn completions(
        &self,
        agent_id: &str,
        session_id: Option<&str>,
        text: &str,
    ) -> Result<Vec<Map>> {
        let (core, cx) = self.typing(agent_id, session_id).await?;
        core.completions_in(&cx, text).await
    }

    /// What takes the place of an accepted completion; empty if it stays as it is. `text` is the
    /// buffer after it was applied.
    pub async fn apply_completion(
        &self,
        agent_id: &str,
        session_id: Option<&str>,
        text: &str,
        completion: Map,
    ) -> Result<String> {
        let (core, cx) = self.typing(agent_id, session_id).await?;
        core.apply_completion_in(&cx, text, completion).await
    }

    /// The core of an agent, and what its hooks are told while somebody types.
    async fn typing(&self, agent_id: &str, session_id: Option<&str>) -> Result<(Core, Context)> {
        let agent = self.shared.agent(agent_id)?;
        let session = match session_id {
            Some(id) => self.load_session(id).await?.map(|loaded| loaded.session),
            None => None,
        };
        let config = match &session {
            Some(session) => self.effective(&agent, session, &[]),
            None => agent.config.clone(),
        };
        let layer = self.layer(&agent.base, TriggerSource::Manual);
        let core = self.core_of(&agent);
        let cx = core.call_context(&config, layer, session.as_ref(), None);
        Ok((core, cx))
    }

    async fn application_elements(
        &self,
        mut input: ApplicationUiInput,
        base: &Config,
    ) -> Result<Vec<Map>> {
        let layer = self.layer(base, TriggerSource::Application);
        let config = input.config.clone().unwrap_or_else(Config::empty);
        let cx = Core::new().call_context(&config, layer, None, None);
        let mut elements = Vec::new();
        for entry in &self.shared.applications {
            input.state = entry.state.clone();
            let hook = Hook::ApplicationGetUiElements;
            let found =
                self.runner().call(&entry.plugin, hook, |p| p.get_ui_elements(&input, &cx)).await?;
            for element in found {
                let Value::Object(mut element) = element else { continue };
                let named = element.get("ui_type").and_then(Value::as_str);
                if named.is_none_or(str::is_empty) {
                    element.insert("ui_type".to_owned(), "config".into());
                }
                element.entry("plugin").or_insert_with(|| entry.plugin.name().into());
                if element.contains_key("action_id") {
                    element.entry("action_owner").or_insert_with(|| "application".into());
                }
                merge(&mut elements, element);
            }
        }
        Ok(elements)
    }
}

/// Puts an element where it would stand if the core had it: a setting with a key in the place of
/// an earlier one of that key, else at the end; anything else before the settings with a key.
fn merge(elements: &mut Vec<Map>, element: Map) {
    fn key(element: &Map) -> Option<&str> {
        let is_setting = element.get("ui_type").and_then(Value::as_str) == Some("config");
        let key = element.get("key").and_then(Value::as_str).filter(|key| !key.is_empty());
        key.filter(|_| is_setting)
    }
    let place = match key(&element) {
        Some(wanted) => elements.iter().position(|held| key(held) == Some(wanted)),
        None => None,
    };
    match place {
        Some(place) => elements[place] = element,
        None if key(&element).is_some() => elements.push(element),
        None => {
            let place = elements.iter().position(|held| key(held).is_some());
            elements.insert(place.unwrap_or(elements.len()), element);
        }
    }
}
