//! Cutting a session: a range, single messages, or everything after a message.
//!
//! Native history is cut along where each kept message has native items of its own; wherever that
//! is not certain, the result has messages only and the next request makes native history anew.

use super::Session;
use crate::config::Config;
use crate::context::{CallContext, Context};
use crate::core::Core;
use crate::resolve::Resolution;
use orlop_types::{Error, NativeItem, Result, Seq};
use std::sync::Arc;

/// Which messages to keep: a range, minus single ones. Negative numbers count from the end.
#[derive(Debug, Clone, Default)]
pub struct Slice {
    /// First position kept; the beginning by default.
    pub start: Option<i64>,
    /// Position after the last one kept; the end by default.
    pub end: Option<i64>,
    /// Positions removed; those out of range are ignored.
    pub remove: Vec<i64>,
}

/// Both parts of a cut session.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// What the slice selected.
    pub kept: Session,
    /// Everything else.
    pub removed: Session,
}

impl Slice {
    /// The messages `start..end`.
    pub fn range(start: impl Into<Option<i64>>, end: impl Into<Option<i64>>) -> Self {
        Self { start: start.into(), end: end.into(), remove: Vec::new() }
    }

    /// All messages but these.
    pub fn without(remove: impl Into<Vec<i64>>) -> Self {
        Self { remove: remove.into(), ..Self::default() }
    }

    /// For each of `count` messages whether it is kept.
    fn keeps(&self, count: usize) -> Vec<bool> {
        let bound = |bound: Option<i64>, default: usize| match bound {
            None => default,
            Some(n) if n < 0 => {
                count.saturating_sub(usize::try_from(n.unsigned_abs()).unwrap_or(count))
            }
            Some(n) => usize::try_from(n).unwrap_or(count).min(count),
        };
        let (start, end) = (bound(self.start, 0), bound(self.end, count));
        let mut keep: Vec<bool> = (0..count).map(|index| (start..end).contains(&index)).collect();
        for &index in &self.remove {
            let index =
                if index < 0 { index.checked_add_unsigned(count as u64) } else { Some(index) };
            if let Some(kept) =
                index.and_then(|n| usize::try_from(n).ok()).and_then(|n| keep.get_mut(n))
            {
                *kept = false;
            }
        }
        keep
    }

    /// The length of the prefix of `count` messages this slice is, if it is one.
    pub fn prefix_len(&self, count: usize) -> Option<usize> {
        if !self.remove.is_empty() || self.start.is_some_and(|start| start != 0) {
            return None;
        }
        Some(match self.end {
            None => count,
            Some(end) if end < 0 => {
                count.saturating_sub(usize::try_from(end.unsigned_abs()).unwrap_or(count))
            }
            Some(end) => usize::try_from(end).unwrap_or(count).min(count),
        })
    }
}

impl Core {
    /// The messages that `slice` keeps, with native history where it can follow.
    pub async fn slice_session(
        &self,
        session: &Session,
        slice: Slice,
        config: Option<&Config>,
    ) -> Session {
        let count = session.messages().len();
        if let Some(len) = slice.prefix_len(count) {
            if len == count {
                return session.clone();
            }
            if let Some(prefix) = self.native_prefix(session, len, config).await {
                return prefix;
            }
        }
        let keep = slice.keeps(count);
        if keep.iter().all(|kept| *kept) {
            return session.clone();
        }
        let cutter = self.cutter(session, config).await;
        self.part(session, &keep, cutter.as_ref()).await
    }

    /// Both the messages that `slice` keeps and the others.
    pub async fn split_session(
        &self,
        session: &Session,
        slice: Slice,
        config: Option<&Config>,
    ) -> Cut {
        let others: Vec<bool> =
            slice.keeps(session.messages().len()).into_iter().map(|kept| !kept).collect();
        let kept = self.slice_session(session, slice, config).await;
        // If the kept half could not keep native history, neither does the other.
        let cutter = match kept.native() {
            Some(_) if others.contains(&true) => self.cutter(session, config).await,
            _ => None,
        };
        let removed = self.part(session, &others, cutter.as_ref()).await;
        Cut { kept, removed }
    }

    /// The messages up to and including `upto_index`, under a new id if one is given.
    pub async fn fork_session(
        &self,
        session: &Session,
        upto_index: i64,
        new_id: Option<&str>,
        config: Option<&Config>,
    ) -> Session {
        // -1 stands for "before the first", as the slice bound 0 says.
        let slice = Slice::range(0, upto_index.saturating_add(1));
        let fork = self.slice_session(session, slice, config).await;
        match new_id {
            Some(id) if id != fork.id() => fork.with_id(id),
            _ => fork,
        }
    }

    /// The first `len` messages, if native history can simply be cut there: messages and items
    /// lie side by side, so nothing has to be derived and the cost does not grow with the length.
    async fn native_prefix(
        &self,
        session: &Session,
        len: usize,
        config: Option<&Config>,
    ) -> Option<Session> {
        let resolution = self.resolve(config?).await.ok()?;
        let format = resolution.native_format().ok()?;
        let native = session.usable_native(format)?;
        let items = native.items().prefix(session.aligned_end(len)?);
        Some(session.with_native(session.messages().prefix(len), items, format))
    }

    /// What cutting native history needs, or `None` where only messages can be cut.
    async fn cutter(&self, session: &Session, config: Option<&Config>) -> Option<Cutter> {
        let attempt = async {
            let config = config.ok_or_else(|| Error::bad_argument("no config"))?;
            let resolution = self.resolve(config).await?;
            let format = resolution.native_format()?;
            let native = session
                .usable_native(format)
                .ok_or_else(|| Error::bad_state("native history is not usable"))?;
            let mapping = Mapping::of(session, native.items())?;
            let cx = self.context(&resolution, config, &CallContext::new("core"));
            let native = native.items().clone();
            Ok(Cutter { resolution, cx, mapping, native })
        };
        let cutter: Result<Cutter> = attempt.await;
        cutter
            .inspect_err(
                |error| tracing::debug!(target: "orlop::core", %error, "cutting messages only"),
            )
            .ok()
    }

    /// The messages marked in `keep`, native if every one of them can be.
    async fn part(&self, session: &Session, keep: &[bool], cutter: Option<&Cutter>) -> Session {
        if let Some(cutter) = cutter {
            match self.native_part(session, keep, cutter).await {
                Ok(part) => return part,
                Err(error) => {
                    tracing::debug!(target: "orlop::core", %error, "cutting messages only");
                }
            }
        }
        let messages = session.messages().iter().zip(keep).filter(|(_, kept)| **kept);
        session.core_only(messages.map(|(message, _)| message.clone()).collect())
    }

    async fn native_part(
        &self,
        session: &Session,
        keep: &[bool],
        cutter: &Cutter,
    ) -> Result<Session> {
        let items = cutter.mapping.items_owned_by(keep)?;
        let native: Seq<NativeItem> =
            items.into_iter().filter_map(|index| cutter.native.get(index).cloned()).collect();
        let (messages, native) =
            self.rebuild_from_native(&cutter.resolution, native, false, &cutter.cx).await?;
        let format = cutter.resolution.native_format()?;
        Ok(session.with_native(messages.into_iter().collect(), native, format))
    }
}

struct Cutter {
    resolution: Arc<Resolution>,
    cx: Context,
    mapping: Mapping,
    native: Seq<NativeItem>,
}

/// Which messages own which native items, in both directions.
struct Mapping {
    of_message: Vec<Vec<usize>>,
    owners: Vec<Vec<usize>>,
}

impl Mapping {
    fn of(session: &Session, native: &Seq<NativeItem>) -> Result<Self> {
        let mut mapping = Self { of_message: Vec::new(), owners: vec![Vec::new(); native.len()] };
        for (message, held) in session.messages().iter().enumerate() {
            if held.native_indices().is_malformed() {
                return Err(Error::bad_state(format!("message {message} has a malformed mapping")));
            }
            let positions = held.native_indices().positions().unwrap_or_default();
            for &position in &positions {
                mapping
                    .owners
                    .get_mut(position)
                    .ok_or_else(|| {
                        Error::bad_state(format!("message {message} maps beyond native history"))
                    })?
                    .push(message);
            }
            mapping.of_message.push(positions);
        }
        Ok(mapping)
    }

    /// The items all of whose owners are among `keep`, in order. Fails if that leaves a message
    /// among them with no item to stand for it: it would be lost.
    fn items_owned_by(&self, keep: &[bool]) -> Result<Vec<usize>> {
        let ours = |item: &usize| {
            !self.owners[*item].is_empty()
                && self.owners[*item].iter().all(|&message| keep[message])
        };
        for (message, positions) in self.of_message.iter().enumerate() {
            if keep[message] && !positions.iter().any(ours) {
                return Err(Error::bad_state(format!(
                    "message {message} has no native item of its own"
                )));
            }
        }
        Ok((0..self.owners.len()).filter(ours).collect())
    }
}
