//! Where something was typed that is no message to the model: the session, which may not be stored
//! yet, and its agent.

use orlop_app::config::resolve_request_config;
use orlop_app::{Application, NewSession};
use orlop_core::{ActionDefinition, Config, Core, ErrorClass, Map, Result, Session, Value};
use std::sync::Arc;

/// The metadata that says which folder a session belongs to.
const WORKING_DIR: &str = "working_dir";

/// A session as a command sees it.
pub(crate) struct Place {
    pub(crate) app: Application,
    pub(crate) session_id: String,
    pub(crate) agent_id: String,
    /// The session, if it is stored.
    pub(crate) session: Option<Session>,
}

impl Place {
    pub(crate) async fn of(app: Application, session_id: &str, agent_id: &str) -> Result<Self> {
        let session = match app.stored_session(session_id).await {
            Ok(session) => Some(session),
            Err(error) if error.class() == ErrorClass::NotFound => None,
            Err(error) => return Err(error),
        };
        let (session_id, agent_id) = (session_id.to_owned(), agent_id.to_owned());
        Ok(Self { app, session_id, agent_id, session })
    }

    /// The id of the session, if it is stored.
    pub(crate) fn stored_id(&self) -> Option<&str> {
        self.session.as_ref().map(|_| self.session_id.as_str())
    }

    /// The session, or one of its id and agent that has nothing in it yet.
    pub(crate) fn session_or_new(&self) -> Session {
        self.session.clone().unwrap_or_else(|| {
            let agent = Map::from_iter([("agent_id".to_owned(), self.agent_id.clone().into())]);
            Session::new(self.session_id.clone()).with_metadata_patch(&agent)
        })
    }

    /// The agent, with the settings that hold in the session.
    pub(crate) fn agent(&self) -> Result<(Core, Config)> {
        let (core, config) = self.app.agent(&self.agent_id)?;
        let own: Vec<&Map> = self.session.iter().filter_map(Session::overrides).collect();
        let config = resolve_request_config(&config, &own);
        Ok((core, config))
    }

    /// All actions: of application plugins, and of the agent as far as it can be used.
    pub(crate) async fn actions(&self) -> Result<Vec<Arc<ActionDefinition>>> {
        let mut actions = self.app.application_actions().await?;
        if let Ok((core, config)) = self.agent() {
            actions.extend(core.session_actions(&config).await?);
        }
        Ok(actions.into_iter().map(Arc::new).collect())
    }

    /// Stores the session, if it is not, so that something can be kept with it.
    pub(crate) async fn begin(&mut self) -> Result<()> {
        if self.session.is_none() {
            let id = Some(self.session_id.clone());
            self.session = Some(self.make(id, &self.agent_id).await?);
        }
        Ok(())
    }

    /// Stores a session of an agent that belongs to the same folder as this one.
    pub(crate) async fn make(&self, id: Option<String>, agent: &str) -> Result<Session> {
        let kept = self.session.as_ref().and_then(|it| it.metadata().get(WORKING_DIR)).cloned();
        let folder = || self.app.config().env().get("WORKING_DIR").map(Value::from);
        let folder = kept.or_else(folder);
        let metadata = folder.map(|folder| (WORKING_DIR.to_owned(), folder)).into_iter().collect();
        let new = NewSession { agent: Some(agent.to_owned()), id, metadata };
        Ok(self.app.create_session(new).await?.session)
    }
}
