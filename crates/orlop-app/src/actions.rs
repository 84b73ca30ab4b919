//! Actions by hand: of application plugins, and of the features and extensions of a session. Each
//! can be shown before it is applied, and the change of a session action can be undone.

use crate::application::{Application, ApplicationEntry, Step};
use crate::scope::check_id;
use crate::sessions::updated;
use crate::store::ChangeNote;
use crate::time::now_ms;
use crate::undo::Difference;
use orlop_core::types::app_event::EventKind;
use orlop_core::{
    ActionCall, ActionDefinition, Config, Error, ErrorClass, Map, Result, Session, TriggerSource,
};

/// What came of a session action.
#[derive(Debug, Clone)]
pub struct Acted {
    /// The session after it.
    pub session: Session,
    /// The public result.
    pub result: Map,
    /// By which the change can be undone, if there was one.
    pub change_id: Option<String>,
}

/// What a session action would do.
#[derive(Debug, Clone)]
pub struct Preview {
    /// The public result.
    pub result: Map,
    /// What would change in the session.
    pub difference: Difference,
}

impl Application {
    /// The actions that can be run: those of application plugins, then, with a session, those of
    /// its agent.
    pub async fn list_actions(&self, session_id: Option<&str>) -> Result<Vec<ActionDefinition>> {
        let mut all = self.application_actions().await?;
        if let Some(id) = session_id {
            let session = self.metadata_of(id).await?;
            let agent = self.agent_of(&session)?;
            let config = self.effective(&agent, &session, &[]);
            all.extend(self.core_of(&agent).session_actions(&config).await?);
        }
        Ok(all)
    }

    /// Runs an action by plugin and id: an application plugin's, else one of the session's agent.
    pub async fn execute_action(&self, call: ActionCall, session_id: Option<&str>) -> Result<Map> {
        Ok(self.execute_undoable_action(call, session_id).await?.0)
    }

    /// As [`execute_action`](Self::execute_action), with the id by which the change of a session
    /// can be undone, if there was one.
    pub async fn execute_undoable_action(
        &self,
        call: ActionCall,
        session_id: Option<&str>,
    ) -> Result<(Map, Option<String>)> {
        let entry = self.entry(&call.plugin);
        match (entry, session_id) {
            (Some(_), _) => Ok((self.execute_application_action(call, session_id).await?, None)),
            (None, Some(id)) => {
                let acted = self.execute_session_action(id, call).await?;
                Ok((acted.result, acted.change_id))
            }
            (None, None) => {
                let why = "there is no application plugin of this name that takes part";
                self.note_refused_action(&call.plugin, &call.action, why);
                Err(unknown(&call, "; actions of a session's agent need a session"))
            }
        }
    }

    /// Runs an action of an application plugin. Its `session_id` and `agent_id` are filled in
    /// where it declares them and the caller gave none.
    pub async fn execute_application_action(
        &self,
        call: ActionCall,
        session_id: Option<&str>,
    ) -> Result<Map> {
        let app = self.in_flow();
        let entry = app.entry(&call.plugin).ok_or_else(|| unknown(&call, ""))?;
        let actions = app.hooked().actions_of(entry, &app.host_context()).await?;
        let action = actions
            .into_iter()
            .find(|action| action.id == call.action)
            .ok_or_else(|| unknown(&call, ""))
            .inspect_err(|_| {
                let why = "the plugin offers no such action";
                app.note_refused_action(&call.plugin, &call.action, why);
            })?;
        let session = match session_id {
            Some(id) => Some(app.session(id).await?.session),
            None => None,
        };
        let agent = session.as_ref().map(|session| app.agent_of(session)).transpose()?;
        let mut params = call.params;
        for (name, value) in
            [("session_id", session_id), ("agent_id", agent.as_ref().map(|agent| &*agent.id))]
        {
            if let (Some(value), true, false) =
                (value, action.inputs.contains_key(name), params.contains_key(name))
            {
                params.insert(name.to_owned(), value.into());
            }
        }
        let params = action.validate(&params).inspect_err(|error| {
            app.note_refused_action(&call.plugin, &call.action, error.message());
        })?;
        let config = match (&agent, &session) {
            (Some(agent), Some(session)) => app.effective(agent, session, &[]),
            _ => Config::empty(),
        };
        let cx = app.hooked().context(
            agent.as_deref(),
            &config,
            session.as_ref(),
            None,
            app.started_by(TriggerSource::Manual),
            &[],
        );
        let result = app.hooked().execute(entry, &action.id, params, &cx).await?.public;
        app.tell_of_action(&call.plugin, &call.action, &result, session_id).await?;
        Ok(result)
    }

    pub(crate) fn entry(&self, plugin: &str) -> Option<&ApplicationEntry> {
        self.shared.applications.iter().find(|entry| entry.plugin.name() == plugin)
    }

    async fn tell_of_action(
        &self,
        plugin: &str,
        action: &str,
        result: &Map,
        session_id: Option<&str>,
    ) -> Result<()> {
        let event = crate::store::NewEvent {
            session: session_id.map(str::to_owned),
            request: None,
            at: crate::time::now(),
            kind: EventKind::ActionResult {
                plugin: plugin.to_owned(),
                action_id: action.to_owned(),
                result: result.clone(),
            },
        };
        let numbers = self.shared.store.publish(&self.scope, vec![event.clone()], 0).await?;
        self.tell(vec![event], numbers.first);
        Ok(())
    }

    /// Runs an action of a feature or an extension on a stored session, and stores the session.
    pub async fn execute_session_action(&self, id: &str, call: ActionCall) -> Result<Acted> {
        let app = self.in_flow().changing("run an action that changes a session")?;
        let lock = app.lock(id, app.wait).await?;
        let (plugin, action) = (call.plugin.clone(), call.action.clone());
        let (before, session, result) = app.act(id, call).await?;
        let note = (before != session).then(|| ChangeNote {
            id: uuid::Uuid::new_v4().to_string(),
            plugin: plugin.clone(),
            action: action.clone(),
            at: now_ms(),
            undone: false,
        });
        let change_id = note.as_ref().map(|note| note.id.clone());
        let told = EventKind::ActionResult {
            plugin: plugin.clone(),
            action_id: action.clone(),
            result: result.clone(),
        };
        let session = match note {
            Some(note) => {
                let step = Step { undo: Some(note), events: vec![told], ..Step::default() };
                let change = format!("{plugin}.{action}");
                app.save_as(&lock, session, step, |_| updated(&change)).await?
            }
            None => {
                app.write(&lock, Step { events: vec![told], ..Step::default() }).await?;
                session
            }
        };
        lock.release().await;
        Ok(Acted { session, result, change_id })
    }

    /// Runs a session action and says what it would change, without changing it.
    pub async fn preview_session_action(&self, id: &str, call: ActionCall) -> Result<Preview> {
        let app = Self { read_only: true, ..self.begin() };
        let (before, after, result) = app.act(id, call).await?;
        Ok(Preview { result, difference: Difference::between(&before, &after) })
    }

    async fn act(&self, id: &str, call: ActionCall) -> Result<(Session, Session, Map)> {
        check_id("session", id)?;
        let loaded = self.session(id).await?;
        let agent = self.agent_of(&loaded.session)?;
        let config = self.effective(&agent, &loaded.session, &[]);
        let source = self.started_by(TriggerSource::Application);
        let context = self.layer(&agent.base, source);
        let acted =
            loaded.core.execute_session_action(&loaded.session, &config, call.clone(), &context);
        let (session, result) = acted.await.map_err(|error| match error.class() {
            ErrorClass::NotFound if error.plugin_name().is_none() => unknown(&call, ""),
            _ => error,
        })?;
        Ok((loaded.session, session, result))
    }
}

fn unknown(call: &ActionCall, hint: &str) -> Error {
    Error::not_found(format!(
        "there is no action \"{}\" of plugin \"{}\"{hint}; `orlop action list` shows those there are",
        call.action, call.plugin
    ))
}
