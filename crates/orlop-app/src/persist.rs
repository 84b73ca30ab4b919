//! From a session as a value to what has to be written of it, and back.

use crate::lock::locked;
use crate::scope::Scope;
use crate::store::{CUT_UNREAD, Head, NativeWrite, NewItem, Segment, SessionWrite};
use orlop_core::types::SessionJson;
use orlop_core::{Map, Message, NativeItem, Role, Session, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A session as the store has it, at a revision.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) session: Session,
    pub(crate) revision: u64,
    /// When it was first stored: another session may have had the same id and revision before.
    pub(crate) created: Option<i64>,
    /// The title that is stored, for those who derive one.
    pub(crate) title: Option<String>,
}

impl Known {
    /// Whether it is what is stored.
    pub(crate) fn is_at(&self, head: &Head) -> bool {
        self.revision == head.revision && self.created == Some(head.created)
    }
}

/// Sessions this process has seen lately, so that a turn need not read what it wrote.
#[derive(Default)]
pub(crate) struct Recent(Mutex<HashMap<(Scope, String), Used>>);

/// When a session was last used, counted in uses, and the session.
type Used = (u64, Arc<Known>);

/// How many sessions are remembered.
const RECENT: usize = 64;

impl Recent {
    pub(crate) fn get(&self, scope: &Scope, id: &str, head: &Head) -> Option<Arc<Known>> {
        let mut recent = locked(&self.0);
        let newest = recent.values().map(|(used, _)| *used).max().unwrap_or_default();
        let (used, known) = recent.get_mut(&(scope.clone(), id.to_owned()))?;
        *used = newest + 1;
        known.is_at(head).then(|| known.clone())
    }

    pub(crate) fn put(&self, scope: &Scope, known: Arc<Known>) {
        let mut recent = locked(&self.0);
        let newest = recent.values().map(|(used, _)| *used).max().unwrap_or_default();
        let key = (scope.clone(), known.session.id().to_owned());
        recent.insert(key, (newest + 1, known));
        if recent.len() > RECENT
            && let Some(oldest) =
                recent.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone())
        {
            recent.remove(&oldest);
        }
    }

    pub(crate) fn forget(&self, scope: &Scope, id: &str) {
        locked(&self.0).remove(&(scope.clone(), id.to_owned()));
    }
}

/// What to write so that `known` becomes `session`; `None` if they are the same.
pub(crate) fn update(known: &Known, session: &Session) -> Option<SessionWrite> {
    let old = &known.session;
    let mut write = SessionWrite { expected: known.revision, ..SessionWrite::default() };
    write.messages = messages(old, session);
    write.native = native(old, session, write.messages.is_some());
    if old.metadata() != session.metadata() {
        write.metadata = Some(session.metadata().clone());
    }
    if old.agent_id() != session.agent_id() {
        write.agent = session.agent_id().map(str::to_owned);
    }
    let title = title_of(session);
    if title.is_some() && title != known.title {
        write.title = title;
    }
    let same = write.messages.is_none()
        && matches!(write.native, NativeWrite::Keep)
        && write.metadata.is_none()
        && write.agent.is_none()
        && write.title.is_none();
    (!same).then_some(write)
}

/// What to write for a new session; lists shared with the stored session `source` are not written
/// again.
pub(crate) fn create(session: &Session, source: Option<&Session>) -> SessionWrite {
    let empty = Session::new("");
    let base = source.unwrap_or(&empty);
    SessionWrite {
        expected: 0,
        from: source.map(|source| source.id().to_owned()),
        agent: session.agent_id().map(str::to_owned),
        title: title_of(session),
        metadata: Some(session.metadata().clone()),
        messages: Some(message_segments(base, session)),
        native: full_native(base, session),
    }
}

fn messages(old: &Session, new: &Session) -> Option<Vec<Segment>> {
    let segments = message_segments(old, new);
    (!is_whole(&segments, old.messages().len())).then_some(segments)
}

fn message_segments(old: &Session, new: &Session) -> Vec<Segment> {
    let (old, new) = (old.messages(), new.messages());
    let shared = new.shared_len(old);
    segments(shared, old.iter_from(shared), new.iter_from(shared), message_item)
}

/// The seal is written with every change of the messages: the stored one may not know them.
fn native(old: &Session, new: &Session, resealed: bool) -> NativeWrite {
    let NativeWrite::Set { items, seal, format, side_by_side } = full_native(old, new) else {
        return if old.native().is_none() { NativeWrite::Keep } else { NativeWrite::Drop };
    };
    let stored = old.native().map_or(0, |native| native.items().len());
    let items = items.filter(|items| !is_whole(items, stored) || old.native().is_none());
    let (old_seal, old_format) = seal_of(old);
    if items.is_none() && seal == old_seal && format == old_format && !resealed {
        return NativeWrite::Keep;
    }
    NativeWrite::Set { items, seal, format, side_by_side }
}

fn full_native(base: &Session, session: &Session) -> NativeWrite {
    let Some(native) = session.native() else { return NativeWrite::Drop };
    let none = orlop_core::Seq::new();
    let stored = base.native().map_or(&none, |native| native.items());
    let shared = native.items().shared_len(stored);
    let (old, new) = (stored.iter_from(shared), native.items().iter_from(shared));
    let items = segments(shared, old, new, native_item);
    let (seal, format) = seal_of(session);
    NativeWrite::Set { items: Some(items), seal, format, side_by_side: session.is_side_by_side() }
}

fn seal_of(session: &Session) -> (Option<String>, Option<String>) {
    match session.native() {
        // What a session that was brought along claims of itself is not what this store knows of it.
        Some(native) => {
            let seal = native.seal().filter(|seal| seal != CUT_UNREAD);
            (seal, native.format().map(str::to_owned))
        }
        None => (None, None),
    }
}

fn is_whole(segments: &[Segment], len: usize) -> bool {
    match segments {
        [] => len == 0,
        [Segment::Kept(range)] => *range == (0..len),
        _ => false,
    }
}

/// The new list told by what it shares with the old one at both ends. The first `shared` items are
/// known to be the same; the lists are what follows them.
fn segments<'a, T: PartialEq + 'a>(
    shared: usize,
    old: impl ExactSizeIterator<Item = &'a T> + DoubleEndedIterator + Clone,
    new: impl ExactSizeIterator<Item = &'a T> + DoubleEndedIterator + Clone,
    item: fn(&T) -> NewItem,
) -> Vec<Segment> {
    let (old_len, new_len) = (old.len(), new.len());
    let prefix = old.clone().zip(new.clone()).take_while(|(a, b)| a == b).count();
    let room = old_len.min(new_len) - prefix;
    let suffix = old.rev().zip(new.clone().rev()).take(room).take_while(|(a, b)| a == b).count();
    let mut segments = Vec::new();
    if shared + prefix > 0 {
        segments.push(Segment::Kept(0..shared + prefix));
    }
    let added = new_len - prefix - suffix;
    if added > 0 {
        segments.push(Segment::New(new.skip(prefix).take(added).map(item).collect()));
    }
    if suffix > 0 {
        let end = shared + old_len;
        segments.push(Segment::Kept(end - suffix..end));
    }
    segments
}

pub(crate) fn message_item(message: &Message) -> NewItem {
    let body = serde_json::to_string(message).unwrap_or_default();
    NewItem { body, search: searchable(message) }
}

pub(crate) fn native_item(item: &NativeItem) -> NewItem {
    NewItem { body: serde_json::to_string(item).unwrap_or_default(), search: String::new() }
}

/// The text a message is found by.
fn searchable(message: &Message) -> String {
    let parts = message.multipart_content().iter();
    let texts = parts.filter_map(|part| part.get("text").and_then(Value::as_str));
    let mut text = message.text().to_owned();
    for part in texts {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(part);
    }
    text
}

/// How long a derived title may be, in characters.
const TITLE: usize = 60;

/// The title in the metadata, else the beginning of the first user message.
pub(crate) fn title_of(session: &Session) -> Option<String> {
    if let Some(title) = session.metadata().get("title").and_then(Value::as_str) {
        return Some(title.to_owned());
    }
    title_in(session.messages().iter())
}

/// The beginning of the first user message.
pub(crate) fn title_in<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Option<String> {
    let first = messages.into_iter().find(|message| message.role() == Role::User)?;
    // What came with a message is not what it is about.
    let own = first.text();
    let text = if own.trim().is_empty() { searchable(first) } else { own.to_string() };
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let title: String = words.chars().take(TITLE).collect();
    let title = if words.chars().count() > TITLE { format!("{title}…") } else { title };
    (!title.is_empty()).then_some(title)
}

/// The session in a stored form.
pub(crate) fn restore(stored: SessionJson) -> Session {
    let is_cut = stored.native_integrity.as_deref() == Some(CUT_UNREAD);
    let session = Session::from_wire(stored).settled();
    if is_cut { session.resealed() } else { session }
}

/// Whether a session says that it is not to be stored.
pub(crate) fn is_unstored(metadata: &Map) -> bool {
    let marked = |key: &str| metadata.get(key).and_then(Value::as_bool) == Some(true);
    marked("ephemeral") || marked("side")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_title_is_what_the_user_wrote_and_not_what_came_with_it() {
        let parts = json!([{ "type": "text", "text": "File a.txt:\n```\nhello\n```" }]);
        let titled = |content: &str| {
            let message = json!({ "role": "user", "content": content, "multipartContent": parts });
            let session = json!({ "session_id": "s", "messages": [message], "metadata": {} });
            title_of(&Session::from_json(session).unwrap()).unwrap()
        };
        assert_eq!(titled("read  this"), "read this");
        assert_eq!(titled(""), "File a.txt: ``` hello ```");
    }
}
