//! Stored sessions without their messages. What depends on the agent and the settings of a session
//! alone, or changes nothing but its metadata, costs the same however long the session is.

use crate::application::{Application, fill_state};
use crate::lock::SessionLock;
use crate::persist::Known;
use crate::scope::check_id;
use crate::sessions::not_found;
use crate::store::{Commit, Head, NativeOutline, NewEvent, SessionWrite};
use crate::time::now;
use orlop_core::types::app_event::{EventKind, SessionState};
use orlop_core::{Map, Result, Session, Value, lifecycle};
use std::sync::Arc;

/// A stored session without its messages.
pub(crate) struct Outlined {
    pub(crate) head: Head,
    /// Its metadata, in a session that has no messages and is not to be saved.
    pub(crate) session: Session,
    /// What is known of its native history.
    pub(crate) native: NativeOutline,
}

impl Application {
    /// A stored session without its messages; one that does not exist is not found.
    pub(crate) async fn outlined(&self, id: &str) -> Result<Outlined> {
        check_id("session", id)?;
        let outline = self.shared.store.outline(&self.scope, id).await?;
        let outline = outline.ok_or_else(|| not_found(id))?;
        let session = Session::new(id).with_metadata(outline.metadata);
        Ok(Outlined { head: outline.head, session, native: outline.native })
    }

    /// A stored session for its metadata alone, as the lifecycle run under way has it if there is
    /// one. It may have its messages, or none.
    pub(crate) async fn metadata_of(&self, id: &str) -> Result<Session> {
        match self.flow.as_ref().and_then(|flow| flow.current(id)) {
            Some(current) => Ok(current),
            None => Ok(self.outlined(id).await?.session),
        }
    }

    /// Lays a patch over the metadata of a session without reading its messages. `false`, and
    /// nothing done, if that needs the whole session: a plugin looks at what is saved, or the title
    /// has to be taken from the messages again.
    pub(crate) async fn patch_outline(
        &self,
        lock: &SessionLock,
        patch: &Map,
        event: EventKind,
    ) -> Result<bool> {
        let id = lock.session_id();
        if self.flow.as_ref().is_some_and(|flow| flow.current(id).is_some()) {
            return Ok(false);
        }
        let before = self.outlined(id).await?;
        let after = before.session.with_metadata_patch(patch);
        if title(&before.session).is_some() && title(&after).is_none() {
            return Ok(false);
        }
        let agent = self.agent_of(&after)?;
        let config = self.effective(&agent, &after, &[]);
        if self.hooked().listens(lifecycle::SESSION_SAVE_PREPARE, &agent, &config).await? {
            return Ok(false);
        }
        self.write_metadata(lock, before, after, event).await?;
        Ok(true)
    }

    async fn write_metadata(
        &self,
        lock: &SessionLock,
        before: Outlined,
        after: Session,
        mut event: EventKind,
    ) -> Result<()> {
        let Outlined { head, session, .. } = before;
        let known = self.shared.recent.get(&self.scope, &head.id, &head);
        let changed = session.metadata() != after.metadata();
        let new_title = title(&after).filter(|title| Some(*title) != head.title.as_deref());
        let new_agent = after.agent_id().filter(|agent| session.agent_id() != Some(*agent));
        let mut commit = Commit::new(lock.lease()?);
        commit.session = changed.then(|| SessionWrite {
            expected: head.revision,
            agent: new_agent.map(str::to_owned),
            title: new_title.map(str::to_owned),
            metadata: Some(after.metadata().clone()),
            ..SessionWrite::default()
        });
        let state = SessionState {
            revision: head.revision + u64::from(changed),
            message_count: head.message_count,
            title: new_title.map(str::to_owned).or(head.title),
            context: None,
        };
        fill_state(&mut event, &state);
        commit.events =
            vec![NewEvent { session: Some(head.id), request: None, at: now(), kind: event }];
        let events = commit.events.clone();
        let committed = self.shared.store.commit(&self.scope, commit).await?;
        if let Some(known) = known {
            let session = known.session.with_metadata(after.metadata().clone());
            let SessionState { revision, title, .. } = state;
            let created = known.created;
            let known = Known { session, revision, created, title };
            self.shared.recent.put(&self.scope, Arc::new(known));
        }
        self.tell(events, committed.numbers.first);
        Ok(())
    }
}

/// The title that a session was given.
pub(crate) fn title(session: &Session) -> Option<&str> {
    session.metadata().get("title").and_then(Value::as_str)
}
