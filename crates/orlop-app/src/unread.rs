//! Changes of stored sessions that need none of their messages: forks, cuts of the end, and
//! messages at the end. They cost the same however long a session is. Where a plugin is to see the
//! session, where it is in memory anyway, or where native history has to be derived anew, it is
//! loaded instead.

use crate::application::Application;
use crate::lock::SessionLock;
use crate::outline::{Outlined, title};
use crate::persist::{message_item, native_item, title_in};
use crate::scope::check_id;
use crate::sessions::{is_taken, without_marks};
use crate::store::{
    CUT_UNREAD, Commit, NativeOutline, NativeWrite, NewEvent, Segment, SessionWrite,
};
use crate::time::now;
use orlop_core::types::app_event::{EventKind, SessionState};
use orlop_core::{Message, NativeEnd, NativeIndices, Result, Role, Slice, lifecycle};

/// How many messages are looked at for a title.
const LOOKED_AT: usize = 16;

impl Application {
    /// Forks a session as [`fork_session`](Self::fork_session) does, and gives the id of the fork.
    pub async fn fork_stored(
        &self,
        id: &str,
        upto: Option<i64>,
        new_id: Option<&str>,
    ) -> Result<String> {
        let app = self.in_flow().changing("fork a session")?;
        let lock = app.lock(id, app.wait).await?;
        let new_id = new_id.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
        if !app.is_forked_unread(id, upto, &new_id).await? {
            app.fork_session(id, upto, Some(&new_id)).await?;
        }
        lock.release().await;
        Ok(new_id)
    }

    async fn is_forked_unread(&self, id: &str, upto: Option<i64>, new_id: &str) -> Result<bool> {
        let heard = [lifecycle::SESSION_FORK, lifecycle::SESSION_SAVE_PREPARE];
        let Some(source) = self.unread(id, &heard).await? else { return Ok(false) };
        check_id("session", new_id)?;
        if self.store().head(self.scope(), new_id).await?.is_some() {
            return Err(is_taken(new_id));
        }
        let count = source.head.message_count;
        let slice = Slice::range(0, upto.map(|upto| upto.saturating_add(1)));
        let len = slice.prefix_len(count).unwrap_or(count);
        let native = match len == count {
            true => NativeWrite::Copy,
            false => match self.cut(&source, len).await? {
                Some(native) => native,
                None => return Ok(false),
            },
        };
        let lock = self.lock(new_id, self.wait).await?;
        let fork = without_marks(source.session.clone());
        let write = SessionWrite {
            expected: 0,
            from: Some(id.to_owned()),
            agent: fork.agent_id().map(str::to_owned),
            title: self.title_of_fork(&source, len).await?,
            metadata: Some(fork.metadata().clone()),
            messages: Some(vec![Segment::Kept(0..len)]),
            native,
        };
        let event = EventKind::SessionCreated {
            agent_id: fork.agent_id().map(str::to_owned),
            forked_from: Some(id.to_owned()),
        };
        self.write_unread(&lock, write, event).await?;
        lock.release().await;
        Ok(true)
    }

    /// Keeps the messages that `slice` selects, as [`slice_session`](Self::slice_session) does.
    pub async fn slice_stored(&self, id: &str, slice: Slice) -> Result<()> {
        let app = self.in_flow().changing("change a session")?;
        let lock = app.lock(id, app.wait).await?;
        if !app.is_cut_unread(&lock, &slice).await? {
            app.slice_session(id, slice).await?;
        }
        lock.release().await;
        Ok(())
    }

    async fn is_cut_unread(&self, lock: &SessionLock, slice: &Slice) -> Result<bool> {
        let heard = [lifecycle::SESSION_SAVE_PREPARE];
        let Some(before) = self.unread(lock.session_id(), &heard).await? else { return Ok(false) };
        let count = before.head.message_count;
        let Some(len) = slice.prefix_len(count).filter(|len| *len < count) else {
            return Ok(false);
        };
        let Some(native) = self.cut(&before, len).await? else { return Ok(false) };
        let write = SessionWrite {
            expected: before.head.revision,
            messages: Some(vec![Segment::Kept(0..len)]),
            native,
            ..SessionWrite::default()
        };
        let event = changed("slice", &before, len, None);
        self.write_unread(lock, write, event).await?;
        Ok(true)
    }

    /// Adds messages at the end, all of them or none.
    pub async fn add_messages(&self, id: &str, messages: Vec<Message>) -> Result<()> {
        let app = self.in_flow().changing("change a session")?;
        let lock = app.lock(id, app.wait).await?;
        if !app.is_added_unread(&lock, &messages).await? {
            app.add_read(id, messages).await?;
        }
        lock.release().await;
        Ok(())
    }

    async fn is_added_unread(&self, lock: &SessionLock, messages: &[Message]) -> Result<bool> {
        let heard = [lifecycle::SESSION_SAVE_PREPARE];
        let Some(before) = self.unread(lock.session_id(), &heard).await? else { return Ok(false) };
        let count = before.head.message_count;
        // A title is taken from the first message of the user, which may be there without words.
        if messages.is_empty() || (before.head.title.is_none() && count > 0) {
            return Ok(false);
        }
        let unmapped = |it: &Message| it.clone().with_native_indices(NativeIndices::Absent);
        let messages: Vec<Message> = messages.iter().map(unmapped).collect();
        let (messages, native) = match &before.native {
            NativeOutline::Absent => (messages, NativeWrite::Keep),
            NativeOutline::Other => return Ok(false),
            NativeOutline::SideBySide(end) => {
                let agent = self.agent_of(&before.session)?;
                let config = self.effective(&agent, &before.session, &[]);
                let core = self.core_of(&agent);
                let Ok(added) = core.added_at_end(end, messages, &config).await else {
                    return Ok(false);
                };
                let new = Segment::New(added.items.iter().map(native_item).collect());
                let NativeEnd { seal, format, .. } = added.native;
                let items = Some(vec![Segment::Kept(0..end.len), new]);
                let side_by_side = true;
                (added.messages, NativeWrite::Set { items, seal, format, side_by_side })
            }
        };
        let title = match before.head.title {
            Some(_) => None,
            None => title_in(&messages),
        };
        let new = Segment::New(messages.iter().map(message_item).collect());
        let event = changed("add", &before, count + messages.len(), title.clone());
        let write = SessionWrite {
            expected: before.head.revision,
            title,
            messages: Some(vec![Segment::Kept(0..count), new]),
            native,
            ..SessionWrite::default()
        };
        self.write_unread(lock, write, event).await?;
        Ok(true)
    }

    /// The outline of a session that may stay unread: it is not in memory, and no plugin takes part
    /// in the lifecycles `heard`.
    async fn unread(&self, id: &str, heard: &[&str]) -> Result<Option<Outlined>> {
        if self.flow.as_ref().is_some_and(|flow| flow.current(id).is_some()) {
            return Ok(None);
        }
        let outlined = self.outlined(id).await?;
        if self.shared.recent.get(&self.scope, id, &outlined.head).is_some() {
            return Ok(None);
        }
        let agent = self.agent_of(&outlined.session)?;
        let config = self.effective(&agent, &outlined.session, &[]);
        for lifecycle in heard {
            if self.hooked().listens(lifecycle, &agent, &config).await? {
                return Ok(None);
            }
        }
        Ok(Some(outlined))
    }

    /// What becomes of native history where the first `len` messages are kept. It ends where the
    /// last of them says; `None` if that takes more than a cut.
    async fn cut(&self, session: &Outlined, len: usize) -> Result<Option<NativeWrite>> {
        let end = match &session.native {
            NativeOutline::Absent => return Ok(Some(NativeWrite::Keep)),
            NativeOutline::Other => return Ok(None),
            NativeOutline::SideBySide(end) => end,
        };
        let agent = self.agent_of(&session.session)?;
        let config = self.effective(&agent, &session.session, &[]);
        let format = self.core_of(&agent).native_format(end.format.as_deref(), &config).await;
        let Ok(format) = format else { return Ok(None) };
        let id = session.session.id();
        let items = match len.checked_sub(1) {
            None => 0,
            Some(last) => {
                let found = self.store().messages(self.scope(), id, last..len).await?;
                let last = found.and_then(|found| found.into_iter().next());
                match last.as_ref().map(Message::native_indices) {
                    Some(NativeIndices::Run(run)) => run.end,
                    _ => return Ok(None),
                }
            }
        };
        Ok(Some(NativeWrite::Set {
            items: Some(vec![Segment::Kept(0..items)]),
            seal: Some(CUT_UNREAD.to_owned()),
            format: Some(format),
            side_by_side: true,
        }))
    }

    /// The title of the first `len` messages: the one that was given, else what the first message
    /// of the user says. If that is not near the beginning, the title stays as it is.
    async fn title_of_fork(&self, source: &Outlined, len: usize) -> Result<Option<String>> {
        if let Some(title) = title(&source.session) {
            return Ok(Some(title.to_owned()));
        }
        let id = source.session.id();
        let range = 0..len.min(LOOKED_AT);
        let first = self.store().messages(self.scope(), id, range).await?.unwrap_or_default();
        let is_found = first.iter().any(|message| message.role() == Role::User);
        match is_found || len <= LOOKED_AT {
            true => Ok(title_in(&first)),
            false => Ok(source.head.title.clone()),
        }
    }

    async fn write_unread(
        &self,
        lock: &SessionLock,
        write: SessionWrite,
        event: EventKind,
    ) -> Result<()> {
        let mut commit = Commit::new(lock.lease()?);
        commit.session = Some(write);
        let session = Some(lock.session_id().to_owned());
        commit.events = vec![NewEvent { session, request: None, at: now(), kind: event }];
        let events = commit.events.clone();
        let committed = self.store().commit(self.scope(), commit).await?;
        self.tell(events, committed.numbers.first);
        Ok(())
    }
}

/// What is told of a session that changed and now has `message_count` messages.
fn changed(
    change: &str,
    before: &Outlined,
    message_count: usize,
    title: Option<String>,
) -> EventKind {
    let session = SessionState {
        revision: before.head.revision + 1,
        message_count,
        title: title.or_else(|| before.head.title.clone()),
        context: None,
    };
    EventKind::SessionUpdated { session, change: change.to_owned() }
}
