//! Sessions whose messages nobody read. Where messages and native items lie side by side, messages
//! can be added at the end, and the end can be cut off, by what is known of the end alone.

use super::{Seal, Session};
use crate::config::Config;
use crate::context::CallContext;
use crate::core::Core;
use crate::digest;
use orlop_types::{Error, Message, NativeIndices, NativeItem, Result};

/// Native history that lies side by side with the messages and is sealed to them, as far as it is
/// known without reading it.
#[derive(Debug, Clone, PartialEq)]
pub struct NativeEnd {
    /// How many items there are.
    pub len: usize,
    /// The integrity value.
    pub seal: Option<String>,
    /// The format.
    pub format: Option<String>,
}

/// What messages add to the end of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Added {
    /// The messages, mapped to their native items.
    pub messages: Vec<Message>,
    /// Their native items.
    pub items: Vec<NativeItem>,
    /// Native history with them.
    pub native: NativeEnd,
}

impl Session {
    /// Whether native history is sealed to the messages and each of its items belongs to one of
    /// them, in their order.
    pub fn is_side_by_side(&self) -> bool {
        let whole = self.aligned_end(self.messages.len());
        let all = self.native.as_ref().map(|native| native.items.len());
        whole.is_some() && whole == all && self.verify().is_ok()
    }

    /// The same session with native history sealed to the messages, for those who know that they
    /// belong together.
    pub fn resealed(&self) -> Self {
        let mut session = self.clone();
        if let Some(native) = &mut session.native {
            native.seal = Some(Seal::Digest(session.messages.digest()));
        }
        session
    }
}

impl Core {
    /// The form of native history for `config`, if history in the form `held` can be built upon.
    pub async fn native_format(&self, held: Option<&str>, config: &Config) -> Result<String> {
        let resolution = self.resolve(config).await?;
        let format = resolution.native_format()?;
        match held.is_none_or(|held| held == format) {
            true => Ok(format.to_owned()),
            false => Err(Error::bad_state("native history is not usable")),
        }
    }

    /// What `messages` add to a session with this native history. An integrity value that this
    /// version did not write stays as it is.
    pub async fn added_at_end(
        &self,
        native: &NativeEnd,
        messages: Vec<Message>,
        config: &Config,
    ) -> Result<Added> {
        let format = self.native_format(native.format.as_deref(), config).await?;
        let resolution = self.resolve(config).await?;
        let cx = self.context(&resolution, config, &CallContext::default());
        let mut native = NativeEnd { format: Some(format), ..native.clone() };
        let mut added = (Vec::new(), Vec::new());
        let mut seal = native.seal.take().map(Seal::from_text);
        for message in messages {
            let message = message.with_native_indices(NativeIndices::Absent);
            let made = self.to_native(&resolution, vec![message.clone()], &cx).await?;
            if made.is_empty() {
                return Err(Error::bad_state("a message has no native item of its own"));
            }
            let run = native.len..native.len + made.len();
            native.len = run.end;
            let message = message.with_native_indices(NativeIndices::new(run));
            if let Some(Seal::Digest(before)) = &mut seal {
                *before = digest::chain(before, &digest::of_message(&message));
            }
            added.0.push(message);
            added.1.extend(made.iter().cloned());
        }
        native.seal = seal.map(|seal| seal.to_text());
        Ok(Added { messages: added.0, items: added.1, native })
    }
}
