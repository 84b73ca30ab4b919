//! Changing what one message says.

use super::Session;
use crate::config::Config;
use crate::context::CallContext;
use crate::core::Core;
use orlop_types::change::Patchable;
use orlop_types::{Error, Message, NativeIndices, Result, Role, Value};

impl Core {
    /// The session with other content in the message at `index` (negative counts from the end).
    ///
    /// The native items of the message are made anew where they are its own; otherwise native
    /// history is dropped and made anew by the next request.
    pub async fn modify_message(
        &self,
        session: &Session,
        index: i64,
        content: impl Into<Value>,
        config: &Config,
        context: &CallContext,
    ) -> Result<Session> {
        let count = session.messages().len();
        let position =
            if index < 0 { index.checked_add_unsigned(count as u64) } else { Some(index) };
        let position = position.and_then(|position| usize::try_from(position).ok());
        let (position, held) = position
            .and_then(|position| Some((position, session.messages().get(position)?)))
            .ok_or_else(|| {
                Error::out_of_range(format!("there is no message {index}; the session has {count}"))
            })?;
        if held.role() == Role::Tool {
            return Err(Error::bad_argument(
                "the result of a tool cannot be edited; edit a system, user or assistant message",
            ));
        }
        let message = held.clone().with_content(content);
        match self.modify_with_native(session, position, &message, config, context).await {
            Ok(session) => Ok(session),
            Err(error) => {
                tracing::debug!(target: "orlop::core", %error, "native history cannot follow the edit and is dropped");
                Ok(session.core_only(replaced(session, position, message)))
            }
        }
    }

    async fn modify_with_native(
        &self,
        session: &Session,
        position: usize,
        message: &Message,
        config: &Config,
        context: &CallContext,
    ) -> Result<Session> {
        if session.native().is_none() {
            return Ok(session.with_messages(replaced(session, position, message.clone())));
        }
        let resolution = self.resolve(config).await?;
        let format = resolution.native_format()?;
        let native = session
            .usable_native(format)
            .ok_or_else(|| Error::bad_state("native history is not usable"))?;
        let run = own_run(session, position, native.items().len())?;
        let cx = self.context(&resolution, config, context);
        let made = self.to_native(&resolution, vec![message.clone()], &cx).await?;
        if made.len() != run.len() {
            return Err(Error::bad_state("the message would take another number of native items"));
        }
        // What plugins remembered about the items outlives the edit of their text.
        let made: Vec<_> = made
            .iter()
            .zip(native.items().suffix(run.start).iter())
            .map(|(new, old)| new.with_metadata(old.metadata().clone()).patched(new.metadata()))
            .collect();
        let items = native.items().splice(run, made);
        Ok(session.with_native(replaced(session, position, message.clone()), items, format))
    }
}

fn replaced(session: &Session, position: usize, message: Message) -> super::Transcript {
    let later = session.messages().from(position + 1);
    session.messages().replace_from(position, std::iter::once(message).chain(later))
}

/// The native items of the message, if they are neighbours, exist, and are nobody else's.
fn own_run(
    session: &Session,
    position: usize,
    native_len: usize,
) -> Result<std::ops::Range<usize>> {
    let unsafe_mapping = || Error::bad_state("the message does not map safely to native items");
    let message = session.messages().get(position).ok_or_else(unsafe_mapping)?;
    let NativeIndices::Run(run) = message.native_indices().clone() else {
        return Err(unsafe_mapping());
    };
    if run.is_empty() || run.end > native_len {
        return Err(unsafe_mapping());
    }
    if session.messages().aligned_end(position + 1) == Some(run.end) {
        return Ok(run);
    }
    let shared = session.messages().iter().enumerate().any(|(other, message)| {
        other != position
            && (message.native_indices().is_malformed()
                || message
                    .native_indices()
                    .positions()
                    .unwrap_or_default()
                    .iter()
                    .any(|index| run.contains(index)))
    });
    if shared { Err(unsafe_mapping()) } else { Ok(run) }
}
