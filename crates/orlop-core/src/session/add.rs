//! Adding a message: at the end, where native history grows by the one message, or elsewhere.

use super::Session;
use crate::config::Config;
use crate::context::CallContext;
use crate::core::Core;
use orlop_types::{Error, Message, NativeIndices, Result};

/// Where a new message goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Place {
    /// Before all others.
    Start,
    /// After the message at this position.
    After(usize),
    /// After all others.
    #[default]
    End,
}

impl Place {
    /// Reads `after_index`: absent is the end, -1 the start, other negative numbers count from
    /// the end of `count` messages.
    pub fn from_after_index(after_index: Option<i64>, count: usize) -> Result<Self> {
        let index = match after_index {
            None => return Ok(Self::End),
            Some(-1) => return Ok(Self::Start),
            Some(index) if index < 0 => index.checked_add_unsigned(count as u64).unwrap_or(-1),
            Some(index) => index,
        };
        match usize::try_from(index) {
            Ok(index) if index < count => Ok(Self::After(index)),
            _ => Err(Error::out_of_range(format!(
                "after_index {} is out of range for {count} messages",
                after_index.unwrap_or_default()
            ))),
        }
    }

    /// The position the new message will have among `count` messages.
    fn position(self, count: usize) -> Result<usize> {
        match self {
            Self::Start => Ok(0),
            Self::End => Ok(count),
            Self::After(index) if index < count => Ok(index + 1),
            Self::After(index) => Err(Error::out_of_range(format!(
                "there is no message {index} to add after; the session has {count}"
            ))),
        }
    }
}

/// A message on its way into a session.
#[derive(Clone, Default)]
pub struct NewMessage {
    message: Option<Message>,
    place: Place,
    context: CallContext,
}

impl From<Message> for NewMessage {
    fn from(message: Message) -> Self {
        Self { message: Some(message), ..Self::default() }
    }
}

impl NewMessage {
    /// Goes there instead of to the end.
    pub fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// Hands `context` to the conversion hooks.
    pub fn with_context(mut self, context: CallContext) -> Self {
        self.context = context;
        self
    }
}

impl Core {
    /// The session with one more message.
    ///
    /// Native history grows along where it can; where it cannot (no provider for `config`, broken
    /// seal, failing conversion) it is dropped and made anew by the next request.
    pub async fn add_message(
        &self,
        session: &Session,
        new: impl Into<NewMessage>,
        config: &Config,
    ) -> Result<Session> {
        let NewMessage { message, place, context } = new.into();
        let message = message
            .ok_or_else(|| Error::bad_argument("there is no message to add"))?
            .with_native_indices(NativeIndices::Absent);
        let position = place.position(session.messages().len())?;
        if session.native().is_none() {
            return Ok(insert_core_only(session, position, message));
        }
        match self.insert_with_native(session, position, message.clone(), config, &context).await {
            Ok(session) => Ok(session),
            Err(error) => {
                tracing::debug!(target: "orlop::core", %error, "native history could not take the message and is dropped");
                let session = insert_core_only(session, position, message);
                Ok(session.core_only(session.messages().clone()))
            }
        }
    }

    async fn insert_with_native(
        &self,
        session: &Session,
        position: usize,
        message: Message,
        config: &Config,
        context: &CallContext,
    ) -> Result<Session> {
        let resolution = self.resolve(config).await?;
        let format = resolution.native_format()?;
        let native = session
            .usable_native(format)
            .ok_or_else(|| Error::bad_state("native history is not usable"))?;
        let at_end = position == session.messages().len();
        let start = if at_end { Some(native.items().len()) } else { session.aligned_end(position) };
        let cx = self.context(&resolution, config, context);
        let Some(start) = start else {
            let inserted = insert_core_only(session, position, message);
            return self.rebuilt(&inserted, &resolution, false, &cx).await;
        };
        let made = self.to_native(&resolution, vec![message.clone()], &cx).await?;
        let count = made.len();
        let message = message.with_native_indices(NativeIndices::new(start..start + count));
        let later = session.messages().from(position).into_iter().map(|message| {
            let shifted = message.native_indices().shifted(count);
            message.with_native_indices(shifted)
        });
        let messages =
            session.messages().replace_from(position, std::iter::once(message).chain(later));
        let items = if at_end {
            let mut items = native.items().clone();
            items.extend(made.iter().cloned());
            items
        } else {
            native.items().splice(start..start, made.iter().cloned())
        };
        Ok(session.with_native(messages, items, format))
    }
}

fn insert_core_only(session: &Session, position: usize, message: Message) -> Session {
    let later = session.messages().from(position);
    let messages = session.messages().replace_from(position, std::iter::once(message).chain(later));
    session.with_messages(messages)
}
