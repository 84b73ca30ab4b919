//! Operations on stored sessions. Each mutating one holds the session's lock, runs the lifecycles
//! that belong to it, and is durable when it returns.

use crate::application::{Application, Loaded, Step};
use crate::branches::unbranched;
use crate::lock::{SessionLock, Wait};
use crate::persist;
use crate::scope::check_id;
use crate::store::{ChangeNote, NewEvent};
use crate::time::now;
use crate::undo::note_of;
use orlop_core::types::app_event::EventKind;
use orlop_core::types::app_event::SessionState;
use orlop_core::{
    Error, ErrorClass, Map, Message, NewMessage, Place, Result, Session, Slice, TriggerSource,
    Value, lifecycle,
};

/// Why requests of a session end that is deleted.
const DELETED: &str = "the session is deleted";

/// What to make a session of.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// The agent; the default one if it is not said.
    pub agent: Option<String>,
    /// The id; a fresh one if it is not said.
    pub id: Option<String>,
    /// Metadata to begin with.
    pub metadata: Map,
}

impl Application {
    /// Makes a session for an agent without storing it.
    pub async fn create_ephemeral_session(&self, new: NewSession) -> Result<Loaded> {
        let app = self.in_flow();
        let (agent, session) = app.make(new, true).await?;
        Ok(app.loaded(&agent, session))
    }

    /// Makes a session for an agent and stores it.
    pub async fn create_session(&self, new: NewSession) -> Result<Loaded> {
        self.create_session_with(new, Vec::new()).await
    }

    /// Makes a session that begins with these messages and stores it, all of it or nothing.
    pub async fn create_session_with(
        &self,
        new: NewSession,
        messages: Vec<Message>,
    ) -> Result<Loaded> {
        let app = self.in_flow().changing("create a session")?;
        let id = new.id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let lock = app.lock(&id, app.wait).await?;
        if app.shared.store.head(&app.scope, &id).await?.is_some() {
            return Err(is_taken(&id));
        }
        let (agent, mut session) = app.make(NewSession { id: Some(id), ..new }, false).await?;
        let config = app.effective(&agent, &session, &[]);
        for message in messages {
            session = agent.core.add_message(&session, message, &config).await?;
        }
        let created = |agent_id: Option<&str>| EventKind::SessionCreated {
            agent_id: agent_id.map(str::to_owned),
            forked_from: None,
        };
        let session = app.save_locked(&lock, session, created).await?;
        lock.release().await;
        Ok(app.loaded(&agent, session))
    }

    async fn make(
        &self,
        new: NewSession,
        ephemeral: bool,
    ) -> Result<(std::sync::Arc<crate::application::Agent>, Session)> {
        let NewSession { agent, id, metadata } = new;
        let agent = match agent {
            Some(agent) => self.shared.agent(&agent)?,
            None => self.shared.agent(&self.shared.config.default_agent()?)?,
        };
        if let Some(id) = &id {
            check_id("session", id)?;
        }
        let mut metadata = metadata;
        metadata.insert("agent_id".to_owned(), agent.id.clone().into());
        if ephemeral {
            metadata.insert("ephemeral".to_owned(), true.into());
        }
        let session = agent.core.create_session(id.as_deref()).with_metadata_patch(&metadata);
        let config = self.effective(&agent, &session, &[]);
        let run =
            self.hooked().run(lifecycle::SESSION_CREATE, &session, &agent, &config, &[]).await?;
        Ok((agent, run.session))
    }

    /// The settings for a request of a session: those of its agent, under the session's own
    /// overrides, under `overrides` in their order.
    pub(crate) fn effective(
        &self,
        agent: &crate::application::Agent,
        session: &Session,
        overrides: &[&Map],
    ) -> orlop_core::Config {
        let own = session.overrides();
        let layers: Vec<&Map> = own.into_iter().chain(overrides.iter().copied()).collect();
        match layers.iter().all(|layer| layer.is_empty()) {
            true => agent.config.clone(),
            false => crate::config::resolve_request_config(&agent.config, &layers),
        }
    }

    /// A stored session with the core and the settings of its agent; `None` if there is none. Runs
    /// no lifecycle.
    pub async fn load_session(&self, id: &str) -> Result<Option<Loaded>> {
        check_id("session", id)?;
        if let Some(current) = self.flow.as_ref().and_then(|flow| flow.current(id)) {
            return Ok(Some(self.loaded(&*self.agent_of(&current)?, current)));
        }
        let Some(known) = self.known(id).await? else { return Ok(None) };
        let agent = self.agent_of(&known.session)?;
        Ok(Some(self.loaded(&agent, known.session.clone())))
    }

    /// A stored session; one that does not exist is not found.
    pub async fn session(&self, id: &str) -> Result<Loaded> {
        self.load_session(id).await?.ok_or_else(|| not_found(id))
    }

    /// A stored session by itself, whatever has become of its agent.
    pub async fn stored_session(&self, id: &str) -> Result<Session> {
        check_id("session", id)?;
        if let Some(current) = self.flow.as_ref().and_then(|flow| flow.current(id)) {
            return Ok(current);
        }
        let known = self.known(id).await?.ok_or_else(|| not_found(id))?;
        Ok(known.session.clone())
    }

    /// Stores a session. Inside of a lifecycle run on the same session it becomes the run's
    /// current one, and is stored with it.
    pub async fn save_session(&self, session: &Session) -> Result<Session> {
        check_id("session", session.id())?;
        if self.read_only {
            tracing::warn!(target: "orlop::app", session = session.id(), "saving a session is ignored here");
            return Ok(session.clone());
        }
        let app = self.in_flow();
        let lock = app.lock(session.id(), app.wait).await?;
        let saved = app.save_locked(&lock, session.clone(), |_| updated("save")).await?;
        lock.release().await;
        Ok(saved)
    }

    /// Runs `session_save_prepare`, unless that is where this save comes from, and writes. What is
    /// saved in the middle of a lifecycle run on the same session becomes the run's current one; a
    /// session that is not stored yet, or not to be stored, is only that.
    pub(crate) async fn save_locked(
        &self,
        lock: &SessionLock,
        session: Session,
        event: impl FnOnce(Option<&str>) -> EventKind,
    ) -> Result<Session> {
        self.save_as(lock, session, Step::default(), event).await
    }

    pub(crate) async fn save_as(
        &self,
        lock: &SessionLock,
        session: Session,
        step: Step,
        event: impl FnOnce(Option<&str>) -> EventKind,
    ) -> Result<Session> {
        let id = session.id().to_owned();
        let run = self.flow.as_ref().filter(|flow| flow.current(&id).is_some());
        if let Some(flow) = run {
            flow.set_current(&id, Some(session.clone()));
            if flow.is_aside() || self.shared.store.head(&self.scope, &id).await?.is_none() {
                return Ok(session);
            }
        }
        let (prepared, note) = self.prepared_for_saving(session.clone()).await?;
        let mut step = step;
        if note.is_some() && step.undo.is_none() && self.known(&id).await?.is_some() {
            // What is saved is durable before a plugin changes its history.
            self.write(lock, Step { session: Some(session), ..Step::default() }).await?;
            step.undo = note;
        }
        let session = prepared;
        let event = event(session.agent_id());
        let mut events = step.events;
        events.push(event);
        let step = Step { session: Some(session.clone()), events, ..step };
        let written = self.write(lock, step).await?.session.unwrap_or(session);
        if let Some(flow) = run {
            flow.set_current(&id, Some(written.clone()));
        }
        Ok(written)
    }

    /// The session after `session_save_prepare`, and the note of a change of its history.
    pub(crate) async fn prepared_for_saving(
        &self,
        session: Session,
    ) -> Result<(Session, Option<ChangeNote>)> {
        let flow = self.flow.clone().unwrap_or_default();
        if !flow.begin_saving(session.id()) {
            return Ok((session, None));
        }
        let prepared = async {
            let agent = self.agent_of(&session)?;
            let config = self.effective(&agent, &session, &[]);
            let name = lifecycle::SESSION_SAVE_PREPARE;
            self.hooked().run(name, &session, &agent, &config, &[]).await
        };
        let prepared = prepared.await;
        flow.end_saving(session.id());
        let run = prepared?;
        Ok((run.session, note_of(&run.results)))
    }

    /// Puts a session away, or gets it back. Lists leave out what was put away unless they ask for
    /// it; everything else works as before.
    pub async fn archive_session(&self, id: &str, archived: bool) -> Result<()> {
        self.patch_session(id, Map::from_iter([("archived".to_owned(), archived.into())])).await
    }

    /// Has lists begin with a session, or no longer.
    pub async fn pin_session(&self, id: &str, pinned: bool) -> Result<()> {
        self.patch_session(id, Map::from_iter([("pinned".to_owned(), pinned.into())])).await
    }

    /// Forks a session up to the message at `upto`, that one included (all, if it is not said),
    /// under a new id. What plugins keep with the session is forked, too.
    pub async fn fork_session(
        &self,
        id: &str,
        upto: Option<i64>,
        new_id: Option<&str>,
    ) -> Result<Loaded> {
        let app = self.in_flow().changing("fork a session")?;
        let source_lock = app.lock(id, app.wait).await?;
        let source = app.known(id).await?.ok_or_else(|| not_found(id))?;
        let agent = app.agent_of(&source.session)?;
        let new_id = new_id.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
        check_id("session", &new_id)?;
        if app.shared.store.head(&app.scope, &new_id).await?.is_some() {
            return Err(is_taken(&new_id));
        }
        let core = app.core_of(&agent);
        let config = app.effective(&agent, &source.session, &[]);
        let fork = match upto {
            Some(upto) => {
                core.fork_session(&source.session, upto, Some(&new_id), Some(&config)).await
            }
            None => source.session.with_id(new_id.clone()),
        };
        let fork = without_marks(fork);
        let lock = app.lock(&new_id, app.wait).await?;
        // The source as JSON costs its whole length; it is made only for those who look at it.
        let owned = match app.hooked().listens(lifecycle::SESSION_FORK, &agent, &config).await? {
            true => vec![("original_session", source.session.to_json())],
            false => Vec::new(),
        };
        let run = app.hooked().run(lifecycle::SESSION_FORK, &fork, &agent, &config, &owned).await?;
        let step = Step { fork_of: Some(source.session.clone()), ..Step::default() };
        let forked_from = Some(id.to_owned());
        let fork = app
            .save_as(&lock, run.session, step, |agent| EventKind::SessionCreated {
                agent_id: agent.map(str::to_owned),
                forked_from,
            })
            .await?;
        lock.release().await;
        source_lock.release().await;
        Ok(app.loaded(&agent, fork))
    }

    /// Keeps the messages that `slice` selects and removes the others.
    pub async fn slice_session(&self, id: &str, slice: Slice) -> Result<Session> {
        self.edit(id, "slice", async |app, loaded| {
            let config = app.effective(&*app.agent_of(&loaded.session)?, &loaded.session, &[]);
            Ok(loaded.core.slice_session(&loaded.session, slice, Some(&config)).await)
        })
        .await
    }

    /// Adds a message; `after_index` is as on the wire (`None` at the end, -1 at the start).
    pub async fn add_message(
        &self,
        id: &str,
        message: Message,
        after_index: Option<i64>,
    ) -> Result<Session> {
        self.edit(id, "add", async |app, loaded| {
            let config = app.effective(&*app.agent_of(&loaded.session)?, &loaded.session, &[]);
            let place = Place::from_after_index(after_index, loaded.session.messages().len())?;
            let new = NewMessage::from(message).at(place);
            loaded.core.add_message(&loaded.session, new, &config).await
        })
        .await
    }

    /// Adds messages at the end of a session that is read for it.
    pub(crate) async fn add_read(&self, id: &str, messages: Vec<Message>) -> Result<Session> {
        self.edit(id, "add", async |app, loaded| {
            let config = app.effective(&*app.agent_of(&loaded.session)?, &loaded.session, &[]);
            let mut session = loaded.session;
            for message in messages {
                session = loaded.core.add_message(&session, message, &config).await?;
            }
            Ok(session)
        })
        .await
    }

    /// Replaces the content of a message.
    pub async fn modify_message(&self, id: &str, index: i64, content: Value) -> Result<Session> {
        self.edit(id, "modify", async |app, loaded| {
            let config = app.effective(&*app.agent_of(&loaded.session)?, &loaded.session, &[]);
            let context = app.layer(&config, TriggerSource::Application);
            loaded.core.modify_message(&loaded.session, index, content, &config, &context).await
        })
        .await
    }

    /// Appends the messages of another stored session.
    pub async fn join_session(&self, id: &str, other: &str) -> Result<Session> {
        let other = self.session(other).await?.session;
        self.edit(id, "join", async |app, loaded| {
            let config = app.effective(&*app.agent_of(&loaded.session)?, &loaded.session, &[]);
            let joined = loaded.core.join_sessions(&loaded.session, &other, Some(&config)).await?;
            Ok(joined.with_id(id))
        })
        .await
    }

    /// Lays a patch over a session's metadata: keys are replaced, `overrides` merges key by key.
    /// Its messages are read only if a plugin looks at what is saved.
    pub async fn patch_session(&self, id: &str, patch: Map) -> Result<()> {
        if patch.contains_key("agent_id") {
            return Err(Error::bad_argument(
                "agent_id is not changed by a patch; switch the agent instead",
            ));
        }
        let app = self.in_flow().changing("change a session")?;
        let lock = app.lock(id, app.wait).await?;
        if !app.patch_outline(&lock, &patch, updated("metadata")).await? {
            let session = app.session(id).await?.session.with_metadata_patch(&patch);
            app.save_locked(&lock, session, |_| updated("metadata")).await?;
        }
        lock.release().await;
        Ok(())
    }

    async fn edit(
        &self,
        id: &str,
        change: &str,
        edit: impl AsyncFnOnce(&Application, Loaded) -> Result<Session>,
    ) -> Result<Session> {
        let app = self.in_flow().changing("change a session")?;
        let lock = app.lock(id, app.wait).await?;
        let loaded = app.session(id).await?;
        let session = edit(&app, loaded).await?;
        let session = app.save_locked(&lock, session, |_| updated(change)).await?;
        lock.release().await;
        Ok(session)
    }

    /// A session as text: `json`, which can be imported, or `markdown`, for reading.
    pub async fn export_session(&self, id: &str, format: &str) -> Result<String> {
        let session = self.stored_session(id).await?;
        match format {
            "json" => session.export(format),
            "markdown" => Ok(crate::markdown::of_session(&session)),
            other => Err(Error::bad_argument(format!(
                "unsupported format {other:?}; use \"json\" or \"markdown\""
            ))),
        }
    }

    /// Stores a session from text, under its own id or another. One that exists is a conflict.
    pub async fn import_session(
        &self,
        text: &str,
        format: &str,
        id: Option<&str>,
    ) -> Result<Session> {
        let app = self.in_flow().changing("import a session")?;
        let session = Session::import(text, format)?;
        let session = match id {
            Some(id) => session.with_id(id),
            None => session,
        };
        let agent = match session.agent_id() {
            Some(agent) if app.shared.config.agents().contains(&agent) => agent.to_owned(),
            _ => app.shared.config.default_agent()?,
        };
        let session =
            session.with_metadata_patch(&Map::from_iter([("agent_id".to_owned(), agent.into())]));
        let lock = app.lock(session.id(), app.wait).await?;
        if app.shared.store.head(&app.scope, session.id()).await?.is_some() {
            return Err(Error::conflict(format!(
                "there is a session \"{}\" already; import under another id",
                session.id()
            )));
        }
        let session = app
            .save_locked(&lock, session, |agent| EventKind::SessionCreated {
                agent_id: agent.map(str::to_owned),
                forked_from: None,
            })
            .await?;
        lock.release().await;
        Ok(session)
    }

    /// Deletes a session with its turns, events, plugin state and assets. A request that runs on it
    /// is cancelled, and so are those that wait for it.
    pub async fn delete_session(&self, id: &str, reason: Option<&str>) -> Result<()> {
        let app = self.in_flow().changing("delete a session")?;
        let lock = app.lock_for_good(id).await?;
        let outlined = app.outlined(id).await?.session;
        let agent = app
            .agent_of(&outlined)
            .or_else(|_| app.shared.agent(&app.shared.config.default_agent()?));
        match agent {
            Ok(agent) => {
                let config = app.effective(&agent, &outlined, &[]);
                let reason = reason.map(|reason| ("delete_reason", Value::from(reason)));
                let owned: Vec<_> = reason.into_iter().collect();
                let name = lifecycle::SESSION_DELETE_PREPARE;
                if app.hooked().listens(name, &agent, &config).await? {
                    let known = app.known(id).await?.ok_or_else(|| not_found(id))?;
                    app.hooked().run(name, &known.session, &agent, &config, &owned).await?;
                }
            }
            // A session must not outlive its user's wish because no agent can be used any more.
            Err(error) => {
                tracing::warn!(target: "orlop::app", session = id, %error, "no agent can be used; the session is deleted without asking plugins");
            }
        }
        let assets = app.shared.store.assets(&app.scope, Some(id)).await?;
        let event = NewEvent {
            session: Some(id.to_owned()),
            request: None,
            at: now(),
            kind: EventKind::SessionDeleted {},
        };
        // They would make it again.
        app.cancel_taken(id, DELETED);
        let deleted =
            app.shared.store.delete(&app.scope, &lock.lease()?, vec![event.clone()]).await?;
        app.shared.recent.forget(&app.scope, id);
        if let Some(files) = &app.shared.assets {
            let ids: Vec<String> = assets.into_iter().map(|asset| asset.id).collect();
            if let Err(error) = files.delete_async(&app.scope, ids).await {
                tracing::warn!(target: "orlop::app", session = id, %error, "files of a deleted session are left");
            }
        }
        if let Some(committed) = deleted {
            app.tell(vec![event], committed.numbers.first);
        }
        lock.release().await;
        Ok(())
    }

    /// The lock on a session that nobody is to work on any more, not even a request that does.
    async fn lock_for_good(&self, id: &str) -> Result<SessionLock> {
        match self.lock(id, Wait::No).await {
            Err(error) if error.class() == ErrorClass::Conflict => {
                // Those that were taken came first, and would be next.
                self.cancel_taken(id, DELETED);
                let last = self.shared.store.turns(&self.scope, Some(id), 1).await?;
                for turn in last.into_iter().filter(|turn| !turn.settled) {
                    self.cancel_request(&turn.request, DELETED).await?;
                }
                self.lock(id, Wait::default()).await
            }
            taken => taken,
        }
    }

    /// A session with another agent: the new agent's core and settings, and the session with its
    /// id in it. Stores nothing. With `lifecycles` the switch is prepared and told of.
    pub async fn update_agent(
        &self,
        agent_id: &str,
        session: &Session,
        lifecycles: bool,
    ) -> Result<Loaded> {
        let app = self.in_flow();
        let next = app.shared.agent(agent_id)?;
        // The agent of before may be gone; then the new one's plugins prepare the switch.
        let previous = app.agent_of(session).unwrap_or_else(|_| next.clone());
        let owned = [
            ("previous_agent_id", session.agent_id().unwrap_or(&previous.id).into()),
            ("next_agent_id", Value::from(next.id.clone())),
        ];
        let mut session = session.clone();
        if lifecycles {
            let config = app.effective(&previous, &session, &[]);
            let name = lifecycle::AGENT_SWITCH_PREPARE;
            session = app.hooked().run(name, &session, &previous, &config, &owned).await?.session;
        }
        let patch = Map::from_iter([("agent_id".to_owned(), next.id.clone().into())]);
        session = session.with_metadata_patch(&patch);
        if lifecycles {
            let config = app.effective(&next, &session, &[]);
            let name = lifecycle::AGENT_SWITCH_COMPLETE;
            session = app.hooked().run(name, &session, &next, &config, &owned).await?.session;
        }
        Ok(app.loaded(&next, session))
    }

    /// Switches a stored session to another agent, and stores it. Its messages are read only if a
    /// plugin takes part in the switch, or looks at what is saved.
    pub async fn switch_agent(&self, id: &str, agent_id: &str) -> Result<()> {
        let app = self.in_flow().changing("switch an agent")?;
        let lock = app.lock(id, app.wait).await?;
        let outlined = app.metadata_of(id).await?;
        let event = EventKind::AgentSwitched {
            previous_agent_id: outlined.agent_id().map(str::to_owned),
            next_agent_id: agent_id.to_owned(),
        };
        let patch = Map::from_iter([("agent_id".to_owned(), agent_id.into())]);
        let is_done = !app.is_switch_heard(agent_id, &outlined).await?
            && app.patch_outline(&lock, &patch, event.clone()).await?;
        if !is_done {
            let session = app.stored_session(id).await?;
            let switched = app.update_agent(agent_id, &session, true).await?;
            app.save_locked(&lock, switched.session, |_| event).await?;
        }
        lock.release().await;
        Ok(())
    }

    /// Whether a plugin of either agent takes part when a session goes from one to the other.
    async fn is_switch_heard(&self, agent_id: &str, session: &Session) -> Result<bool> {
        let next = self.shared.agent(agent_id)?;
        let previous = self.agent_of(session).unwrap_or_else(|_| next.clone());
        for (name, agent) in
            [(lifecycle::AGENT_SWITCH_PREPARE, previous), (lifecycle::AGENT_SWITCH_COMPLETE, next)]
        {
            let config = self.effective(&agent, session, &[]);
            if self.hooked().listens(name, &agent, &config).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// This handle, or an error if it may not change anything.
    pub(crate) fn changing(self, what: &str) -> Result<Self> {
        match self.read_only {
            true => Err(Error::bad_state(format!("this is no place to {what}"))),
            false => Ok(self),
        }
    }
}

/// A fork is neither put away, nor at the top, nor a branch because the session it was made of is.
pub(crate) fn without_marks(fork: Session) -> Session {
    let fork = unbranched(fork);
    if !["archived", "pinned"].iter().any(|mark| fork.metadata().contains_key(*mark)) {
        return fork;
    }
    let unset = ["archived", "pinned"].map(|mark| (mark.to_owned(), Value::Bool(false)));
    fork.with_metadata_patch(&Map::from_iter(unset))
}

pub(crate) fn is_taken(id: &str) -> Error {
    Error::conflict(format!("there is a session \"{id}\" already; choose another id"))
}

pub(crate) fn not_found(id: &str) -> Error {
    Error::not_found(format!(
        "there is no session \"{id}\"; `orlop session list` shows those there are"
    ))
}

pub(crate) fn updated(change: &str) -> EventKind {
    EventKind::SessionUpdated { session: SessionState::default(), change: change.to_owned() }
}

/// Whether a request on a session is to be stored.
pub(crate) fn is_stored(session: &Session, known: bool, persist: Option<bool>) -> bool {
    persist.unwrap_or(known && !persist::is_unstored(session.metadata()))
}
