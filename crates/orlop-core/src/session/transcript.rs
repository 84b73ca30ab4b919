//! The visible messages of a session, each with its link in the integrity chain.
//!
//! The digest of a link folds in the one before it, so appending costs one message and cutting
//! the end off costs nothing. Each link also knows whether, up to it, messages and native items
//! lie side by side in order; then a cut at a message is a cut of the native list, too.

use crate::digest::{self, Digest};
use orlop_types::{Message, NativeIndices, Seq};
use std::sync::Arc;

/// The messages of a session. Links are shared one by one: the list makes room for many at once, and
/// most sessions are short.
#[derive(Debug, Clone, Default)]
pub struct Transcript(Seq<Arc<Link>>);

#[derive(Debug)]
struct Link {
    message: Message,
    own: Digest,
    chained: Digest,
    /// Where the native items of the messages so far end, if they lie side by side in order.
    aligned_end: Option<usize>,
}

const START: Digest = [0; 32];

impl Transcript {
    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The message at `index`.
    pub fn get(&self, index: usize) -> Option<&Message> {
        self.0.get(index).map(|link| &link.message)
    }

    /// The last message.
    pub fn last(&self) -> Option<&Message> {
        self.0.last().map(|link| &link.message)
    }

    /// All messages in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Message> + DoubleEndedIterator + Clone {
        self.0.iter().map(|link| &link.message)
    }

    /// The messages from `start` on, in order. Getting there costs nothing.
    pub fn iter_from(
        &self,
        start: usize,
    ) -> impl ExactSizeIterator<Item = &Message> + DoubleEndedIterator + Clone {
        self.0.iter_from(start).map(|link| &link.message)
    }

    /// How many leading messages both certainly share in memory; there may be more.
    pub fn shared_len(&self, other: &Self) -> usize {
        self.0.shared_len(&other.0)
    }

    /// The messages from `start` on; costs only these.
    pub(crate) fn from(&self, start: usize) -> Vec<Message> {
        self.0.suffix(start).iter().map(|link| link.message.clone()).collect()
    }

    pub(crate) fn settled(&self) -> Self {
        Self(self.0.settled())
    }

    /// The end of the integrity chain: it tells these messages from any others.
    pub(crate) fn digest(&self) -> Digest {
        self.0.last().map_or(START, |link| link.chained)
    }

    /// Adds a message at the end.
    pub(crate) fn push(&mut self, message: Message) {
        let own = digest::of_message(&message);
        self.push_hashed(message, own);
    }

    fn push_hashed(&mut self, message: Message, own: Digest) {
        let (chained, before) =
            self.0.last().map_or((&START, Some(0)), |link| (&link.chained, link.aligned_end));
        let aligned_end = match (before, message.native_indices()) {
            (Some(end), NativeIndices::Run(run)) if run.start == end && !run.is_empty() => {
                Some(run.end)
            }
            _ => None,
        };
        let chained = digest::chain(chained, &own);
        self.0.push(Arc::new(Link { message, own, chained, aligned_end }));
    }

    /// The first `len` messages.
    pub(crate) fn prefix(&self, len: usize) -> Self {
        Self(self.0.prefix(len))
    }

    /// This transcript with everything from `start` on replaced by `messages`.
    pub(crate) fn replace_from(
        &self,
        start: usize,
        messages: impl IntoIterator<Item = Message>,
    ) -> Self {
        let mut out = self.prefix(start);
        messages.into_iter().for_each(|message| out.push(message));
        out
    }

    /// This transcript with `change` made to every message from `start` on. `change` may touch
    /// metadata and mapping only: digests of the messages are kept, the chain is made anew.
    pub(crate) fn remapped_from(&self, start: usize, change: impl Fn(&Message) -> Message) -> Self {
        let mut out = self.prefix(start);
        for link in self.0.suffix(start).iter() {
            out.push_hashed(change(&link.message), link.own);
        }
        out
    }

    /// Where the native items of the first `len` messages end, if all messages of this transcript
    /// and native items lie side by side in order.
    pub(crate) fn aligned_end(&self, len: usize) -> Option<usize> {
        self.0.last().map_or(Some(0), |link| link.aligned_end)?;
        match len.checked_sub(1) {
            None => Some(0),
            Some(last) => self.0.get(last)?.aligned_end,
        }
    }
}

impl FromIterator<Message> for Transcript {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        let mut out = Self::default();
        messages.into_iter().for_each(|message| out.push(message));
        out
    }
}

impl PartialEq for Transcript {
    fn eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0) || (self.len() == other.len() && self.iter().eq(other.iter()))
    }
}
