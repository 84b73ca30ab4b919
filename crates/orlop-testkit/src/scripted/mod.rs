//! Plugins without a network, for tests and demos: a provider that follows a script, and
//! extensions, features and tools made of closures.

mod plugins;
mod provider;

pub use plugins::{ScriptedExtension, ScriptedFeature, ScriptedTool};
pub use provider::{Io, Mapping, ScriptedProvider, ScriptedReply};

use orlop_core::{Config, Core, Message, Result, Session, Value};
use std::sync::{Arc, Mutex, PoisonError};

/// A configuration from a JSON object.
pub fn config(value: Value) -> Config {
    Config::new(value.as_object().cloned().unwrap_or_default())
}

/// A core with this provider and nothing else.
pub fn core_with(provider: &ScriptedProvider) -> Result<Core> {
    let mut core = Core::new();
    core.register_provider(Arc::new(provider.clone()), Vec::new())?;
    Ok(core)
}

/// A session with these messages and native history made for them by `core`.
pub async fn native_session(core: &Core, messages: &[Message], config: &Config) -> Result<Session> {
    let session = plain_session(messages).await?;
    core.rebuild_native_history(&session, Some(config), None, None, &Default::default()).await
}

/// A session with these messages and no native history.
pub async fn plain_session(messages: &[Message]) -> Result<Session> {
    let core = Core::new();
    let mut session = Session::new("s");
    for message in messages {
        session = core.add_message(&session, message.clone(), &Config::empty()).await?;
    }
    Ok(session)
}

/// What the messages of a session say, with `|` between.
pub fn texts(session: &Session) -> String {
    session.messages().iter().map(|message| message.text()).collect::<Vec<_>>().join("|")
}

/// What happened, in order. Cloning shares it.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line.
    pub fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line.into());
    }

    /// All lines.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All lines, and forgets them.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// All lines on one, separated by spaces.
    pub fn text(&self) -> String {
        self.lines().join(" ")
    }

    /// How often a line was added.
    pub fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|held| *held == line).count()
    }
}
