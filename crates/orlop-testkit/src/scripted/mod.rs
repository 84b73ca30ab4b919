//! Plugins without a network, for tests and demos: a provider that follows a script, and
//! extensions, features and tools made of closures.

mod above;
mod over;
mod plugins;
mod provider;

pub use above::{ScriptedApplication, ScriptedHost};
pub use over::Over;
pub use plugins::{ScriptedExtension, ScriptedFeature, ScriptedTool};
pub use provider::{Io, Mapping, ScriptedProvider, ScriptedReply};

use orlop_core::hooks::{ActionInput, RequestChange};
use orlop_core::types::ToolReport;
use orlop_core::{
    ActionDefinition, ActionResult, Change, Config, Context, Core, Map, Message, NativeItem,
    Result, Session, StateChange, Value,
};
use serde_json::json;
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

/// A native item of the scripted provider: who says what.
pub fn item(who: &str, say: &str) -> NativeItem {
    json!({ "who": who, "say": say }).into()
}

/// A feature that asks for `be kind` in the request and puts an item that says so in front,
/// marked, unless one is there.
pub fn system_feature() -> ScriptedFeature {
    ScriptedFeature::new("system").initialize_request(|input, _| {
        let mut change = RequestChange::state(StateChange::request("instructions", "be kind"));
        if !input.native_messages.iter().any(|item| item.metadata().contains_key("system")) {
            let mark = Map::from_iter([("system".to_owned(), true.into())]);
            let marked = item("system", "be kind").with_metadata(mark);
            change.native_messages = Change::insert(0, vec![marked]);
        }
        Ok(change)
    })
}

/// A tool `echo` that reports the `text` it is given.
pub fn echo_tool() -> ScriptedTool {
    ScriptedTool::new("echo")
        .offering(&["echo"])
        .execute_tool(|input, _| Ok(ToolReport::ok(input.payload["text"].clone())))
}

/// A feature whose one action runs at `response_finalize`.
pub fn at_response(
    name: &str,
    act: impl Fn(&ActionInput, &Context) -> Result<ActionResult> + Send + Sync + 'static,
) -> ScriptedFeature {
    let define = || vec![ActionDefinition::new("act", "Act").on(&["response_finalize"])];
    ScriptedFeature::new(name).get_actions(move |_, _| Ok(define())).execute_action(act)
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
