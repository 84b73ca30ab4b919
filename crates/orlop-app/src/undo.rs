//! Taking back the change of one action later, if nothing newer touched the same place.

use crate::application::{Application, Step};
use crate::persist;
use crate::sessions::updated;
use crate::store::ChangeNote;
use crate::time::now_ms;
use orlop_core::types::ActionRecord;
use orlop_core::{Error, Map, Message, NativeItem, Result, Seq, Session, TriggerSource, Value};
use serde::Serialize;
use std::ops::Range;

/// What differs between two states of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Difference {
    /// The position of the first message that differs.
    pub start: usize,
    /// The messages there before.
    pub removed: Vec<Message>,
    /// The messages there after.
    pub added: Vec<Message>,
    /// Metadata entries that differ; `null` if there is none after.
    pub metadata: Map,
}

impl Difference {
    /// What has to change in `before` to make `after` of it.
    pub fn between(before: &Session, after: &Session) -> Self {
        let old: Vec<Message> = before.messages().iter().map(unmapped).collect();
        let new: Vec<Message> = after.messages().iter().map(unmapped).collect();
        let (from, to) = changed(&old, &new);
        let metadata = keys_changed(before.metadata(), after.metadata())
            .map(|key| (key.clone(), after.metadata().get(&key).cloned().unwrap_or(Value::Null)))
            .collect();
        Self { start: from.start, removed: old[from].to_vec(), added: new[to].to_vec(), metadata }
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty() && self.metadata.is_empty()
    }
}

/// Where a message stands in native history is no part of what it says.
fn unmapped(message: &Message) -> Message {
    message.clone().with_native_indices(orlop_core::NativeIndices::Absent)
}

/// The part of each list that is not the same in the other.
fn changed<T: PartialEq>(old: &[T], new: &[T]) -> (Range<usize>, Range<usize>) {
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let room = old.len().min(new.len()) - prefix;
    let suffix =
        old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
    (prefix..old.len() - suffix, prefix..new.len() - suffix)
}

fn keys_changed(before: &Map, after: &Map) -> impl Iterator<Item = String> {
    let mut keys: Vec<String> = before.keys().chain(after.keys()).cloned().collect();
    keys.sort();
    keys.dedup();
    keys.retain(|key| before.get(key) != after.get(key));
    keys.into_iter()
}

/// `now` with the change from `before` to `after` taken back; `None` if `now` no longer has what
/// the change made.
fn reverted<T: PartialEq + Clone>(before: &[T], after: &[T], now: &[T]) -> Option<Vec<T>> {
    let (old, new) = changed(before, after);
    let untouched = now.get(..new.end) == after.get(..new.end)
        && (new.end < after.len() || !new.is_empty() || now.len() >= new.end);
    // What followed the change must still follow it, as far as it is there.
    let follows = now
        .get(new.end..)
        .zip(after.get(new.end..))
        .is_some_and(|(now, after)| after.is_empty() || now.first() == after.first());
    (untouched && follows).then(|| {
        let mut out = now[..new.start].to_vec();
        out.extend_from_slice(&before[old]);
        out.extend_from_slice(&now[new.end..]);
        out
    })
}

/// The note of a change that actions of a lifecycle made to the history, if they did. It is named
/// after the first that did.
pub(crate) fn note_of(records: &[ActionRecord]) -> Option<ChangeNote> {
    let first = records.iter().find(|record| record.changed)?;
    Some(ChangeNote {
        id: uuid::Uuid::new_v4().to_string(),
        plugin: first.plugin.clone(),
        action: first.action_id.clone(),
        at: now_ms(),
        undone: false,
    })
}

impl Application {
    /// The changes of a session that can be undone, newest first.
    pub async fn changes(&self, session_id: &str) -> Result<Vec<ChangeNote>> {
        self.outlined(session_id).await?;
        self.shared.store.changes(&self.scope, session_id).await
    }

    /// Takes back the change of one action. A conflict if something newer touched what it made.
    pub async fn undo(&self, session_id: &str, change_id: &str) -> Result<Session> {
        let app = self.in_flow().changing("undo a change")?;
        let lock = app.lock(session_id, app.wait).await?;
        let loaded = app.session(session_id).await?;
        let change = app
            .shared
            .store
            .change(&app.scope, session_id, change_id)
            .await?
            .ok_or_else(|| not_found_change(session_id, change_id))?;
        let name = format!("{}.{}", change.note.plugin, change.note.action);
        if change.note.undone {
            return Err(Error::conflict(format!("the change of {name} has been undone already")));
        }
        let (before, after) = (persist::restore(change.before), persist::restore(change.after));
        let now = &loaded.session;
        let conflict = |what: &str| {
            Error::conflict(format!(
                "the change of {name} cannot be undone: {what} changed since; fork the session before it instead"
            ))
        };
        let session = match natives(&before, &after, now) {
            Some((before, after, items)) => {
                let items = reverted(&before, &after, &items)
                    .ok_or_else(|| conflict("the messages it made"))?;
                let agent = app.agent_of(now)?;
                let config = app.effective(&agent, now, &[]);
                let context = app.layer(&agent.base, TriggerSource::Application);
                let items: Seq<NativeItem> = items.into();
                loaded.core.with_native_history(now, items, &config, &context).await?
            }
            None => {
                let list = |session: &Session| session.messages().iter().map(unmapped).collect();
                let (before, after, messages): (Vec<_>, Vec<_>, Vec<_>) =
                    (list(&before), list(&after), list(now));
                let messages = reverted(&before, &after, &messages)
                    .ok_or_else(|| conflict("the messages it made"))?;
                let mut wire = now.to_wire();
                wire.messages = messages;
                wire.native_messages = None;
                wire.native_integrity = None;
                wire.native_format = None;
                Session::from_wire(wire)
            }
        };
        let metadata = metadata_reverted(before.metadata(), after.metadata(), session.metadata())
            .map_err(|key| conflict(&format!("metadata entry \"{key}\"")))?;
        let mut wire = session.to_wire();
        wire.metadata = metadata;
        let session = Session::from_wire(wire);
        let step = Step { undoes: Some(change_id.to_owned()), ..Step::default() };
        let change = format!("undo {name}");
        let session = app.save_as(&lock, session, step, |_| updated(&change)).await?;
        lock.release().await;
        Ok(session)
    }
}

fn not_found_change(session: &str, change: &str) -> Error {
    Error::not_found(format!(
        "session \"{session}\" has no change \"{change}\" that could be undone; `orlop session undo {session}` lists those there are"
    ))
}

type Lists<T> = (Vec<T>, Vec<T>, Vec<T>);

/// The native histories of all three, where all have one of the same form.
fn natives(before: &Session, after: &Session, now: &Session) -> Option<Lists<NativeItem>> {
    let (before, after, now) = (before.native()?, after.native()?, now.native()?);
    let same = before.format() == after.format() && after.format() == now.format();
    let list = |items: &Seq<NativeItem>| items.iter().cloned().collect::<Vec<_>>();
    same.then(|| (list(before.items()), list(after.items()), list(now.items())))
}

/// Metadata with the entries that changed put back, or the first that changed again since.
fn metadata_reverted(before: &Map, after: &Map, now: &Map) -> Result<Map, String> {
    let mut out = now.clone();
    for key in keys_changed(before, after) {
        if now.get(&key) != after.get(&key) {
            return Err(key);
        }
        match before.get(&key) {
            Some(value) => {
                out.insert(key, value.clone());
            }
            None => {
                out.shift_remove(&key);
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, now: &str, expected: Option<&str>) {
        let list = |text: &str| text.chars().collect::<Vec<_>>();
        let made = reverted(&list(before), &list(after), &list(now));
        assert_eq!(made.map(|list| list.into_iter().collect::<String>()).as_deref(), expected);
    }

    #[test]
    fn a_change_is_taken_back_under_newer_messages() {
        check("abcd", "Sd", "Sdef", Some("abcdef"));
        check("abc", "aXc", "aXcd", Some("abcd"));
        check("abc", "abcX", "abcXd", Some("abcd"));
        check("abc", "ac", "acd", Some("abcd"));
        check("abc", "", "", Some("abc"));
        check("abc", "", "de", Some("abcde"));
        check("", "abc", "abcd", Some("d"));
        check("abc", "abc", "abcd", Some("abcd"));
    }

    #[test]
    fn a_place_that_changed_again_is_left_alone() {
        check("abcd", "Sd", "Td", None);
        check("abc", "aXc", "aYc", None);
        check("abc", "aXc", "bXc", None);
        check("abc", "ac", "aZ", None);
        check("abc", "abcX", "abc", None);
    }
}
