//! Making native history anew from the messages, all of it or for a few of them.

use super::Session;
use crate::config::Config;
use crate::context::{CallContext, Context};
use crate::core::Core;
use crate::resolve::Resolution;
use orlop_types::{Error, NativeIndices, NativeItem, Result, Seq};
use std::ops::Range;

impl Core {
    /// This session with `native` as its history and the messages derived from it.
    pub async fn with_native_history(
        &self,
        session: &Session,
        native: Seq<NativeItem>,
        config: &Config,
        context: &CallContext,
    ) -> Result<Session> {
        let resolution = self.resolve(config).await?;
        let cx = self.context(&resolution, config, context);
        let (messages, native) = self.rebuild_from_native(&resolution, native, false, &cx).await?;
        let format = resolution.native_format()?;
        Ok(session.with_native(messages.into_iter().collect(), native, format))
    }

    /// Converts the messages to native history and derives the canonical messages from it. With
    /// `start` or `end`, only the messages in between are converted and the rest of native
    /// history stays byte for byte.
    pub async fn rebuild_native_history(
        &self,
        session: &Session,
        config: Option<&Config>,
        start: Option<i64>,
        end: Option<i64>,
        context: &CallContext,
    ) -> Result<Session> {
        let config = config
            .ok_or_else(|| Error::bad_argument("config must be given to rebuild native history"))?;
        if start.is_none() && end.is_none() {
            let resolution = self.resolve(config).await?;
            let cx = self.context(&resolution, config, context);
            return self.rebuilt(session, &resolution, true, &cx).await;
        }
        let selection = selected(start, end, session.messages().len())?;
        let run = native_run(session, selection.clone())?;
        let resolution = self.resolve(config).await?;
        let cx = self.context(&resolution, config, context);
        self.rebuilt_run(session, selection, run, &resolution, &cx).await
    }

    /// The session with native history made from all its messages.
    pub(crate) async fn rebuilt(
        &self,
        session: &Session,
        resolution: &Resolution,
        initialise: bool,
        cx: &Context,
    ) -> Result<Session> {
        let format = resolution.native_format()?;
        let messages = session.messages().iter().cloned().collect();
        let native = self.to_native(resolution, messages, cx).await?;
        let (messages, native) =
            self.rebuild_from_native(resolution, native, initialise, cx).await?;
        Ok(session.with_native(messages.into_iter().collect(), native, format))
    }

    async fn rebuilt_run(
        &self,
        session: &Session,
        selection: Range<usize>,
        run: Range<usize>,
        resolution: &Resolution,
        cx: &Context,
    ) -> Result<Session> {
        let format = resolution.native_format()?;
        let held = session.usable_native(format).ok_or_else(|| {
            Error::bad_state(
                "a selective rebuild requires native history of the same provider; rebuild the whole session",
            )
        })?;
        let mut messages = session.messages().from(selection.start);
        messages.truncate(selection.len());
        let made = self.to_native(resolution, messages, cx).await?;
        let native = held.items().splice(run, made.iter().cloned());
        let (messages, native) = self.rebuild_from_native(resolution, native, true, cx).await?;
        Ok(session.with_native(messages.into_iter().collect(), native, format))
    }
}

fn selected(start: Option<i64>, end: Option<i64>, count: usize) -> Result<Range<usize>> {
    let bad = || {
        Error::bad_argument(format!(
            "start and end must select at least one of the {count} messages; they do not count from the end"
        ))
    };
    let start = usize::try_from(start.unwrap_or(0)).map_err(|_| bad())?;
    let end = end.map_or(Ok(count), usize::try_from).map_err(|_| bad())?;
    if start < end && end <= count { Ok(start..end) } else { Err(bad()) }
}

/// The neighbouring native items that the selected messages stem from.
fn native_run(session: &Session, selection: Range<usize>) -> Result<Range<usize>> {
    let Some(native) = session.native() else {
        return Err(Error::bad_state(
            "a selective rebuild requires retained native history; rebuild the whole session",
        ));
    };
    session.verify()?;
    let mut positions = std::collections::BTreeSet::new();
    for index in selection.clone() {
        let mapping = session.messages().get(index).map(|message| message.native_indices());
        match mapping {
            Some(NativeIndices::Run(run)) if !run.is_empty() => positions.extend(run.clone()),
            Some(NativeIndices::List(list)) => positions.extend(list.iter().copied()),
            Some(NativeIndices::Other(value))
                if value.as_array().is_some_and(|list| !list.is_empty()) =>
            {
                let numbers = value.as_array().into_iter().flatten().filter_map(|n| n.as_u64());
                positions.extend(numbers.filter_map(|n| usize::try_from(n).ok()));
            }
            _ => {
                return Err(Error::bad_state(format!(
                    "a selective rebuild requires native_indices on every selected message; message {index} has none"
                )));
            }
        }
    }
    let (Some(&first), Some(&last)) = (positions.first(), positions.last()) else {
        return Err(Error::bad_state("the selected messages map to no native history"));
    };
    if last >= native.items().len() {
        return Err(Error::bad_state("the selected messages map beyond native history"));
    }
    if positions.len() != last - first + 1 {
        return Err(Error::bad_state(
            "the selected messages do not map to a contiguous native run",
        ));
    }
    let others = session.messages().iter().enumerate().filter(|(at, _)| !selection.contains(at));
    for (at, other) in others {
        let shared = other.native_indices().positions().unwrap_or_default();
        if shared.iter().any(|position| positions.contains(position)) {
            return Err(Error::bad_state(format!(
                "the selected messages share native items with message {at}, which would be lost; select it, too"
            )));
        }
    }
    Ok(first..last + 1)
}
