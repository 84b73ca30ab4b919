//! Plugins of Orlop in Rust that are programs of their own: each hook is a closure from JSON to JSON.
//!
//! ```no_run
//! use orlop_plugin::{Plugin, json, serve};
//!
//! fn main() -> std::process::ExitCode {
//!     let shout = Plugin::host("shout")
//!         .on("context_providers", |args, _| Ok(json!([format!("Shout at {}!", args["text"])])));
//!     serve([shout])
//! }
//! ```
//!
//! What hooks are given and answer is written in `docs/reference/hooks.md` of Orlop. Histories are
//! plain arrays, however they crossed; sessions are mappings with `session_id`, `messages`,
//! `metadata`, `native_messages` and a `handle`, by which [`by_handle`] gives them back. Standard
//! output belongs to the protocol: print with `eprintln!`, or [`Call::log`].

mod call;
mod error;
mod link;
mod lists;
mod server;

pub use call::Call;
pub use error::Error;
pub use serde_json::{Map, Value, json};
pub use server::{serve, serve_on};

use std::collections::BTreeMap;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

type Hook = Box<dyn Fn(Value, &Call) -> Result<Value, Error> + Send + Sync>;

/// A plugin: what it says of itself, and its hooks.
pub struct Plugin {
    kind: &'static str,
    name: String,
    description: Map<String, Value>,
    hooks: BTreeMap<String, Hook>,
}

impl Plugin {
    /// Talks to a model server.
    pub fn provider(name: &str) -> Self {
        Self::new("provider", name)
    }

    /// Stands beside a provider.
    pub fn extension(name: &str) -> Self {
        Self::new("extension", name)
    }

    /// Shapes a session.
    pub fn feature(name: &str) -> Self {
        Self::new("feature", name)
    }

    /// Gives the model something to do.
    pub fn tool(name: &str) -> Self {
        Self::new("tool", name)
    }

    /// Works on stored sessions.
    pub fn application(name: &str) -> Self {
        Self::new("application", name)
    }

    /// Stands around every request.
    pub fn host(name: &str) -> Self {
        Self::new("host", name)
    }

    fn new(kind: &'static str, name: &str) -> Self {
        let description = Map::from_iter([
            ("name".to_owned(), json!(name)),
            ("kind".to_owned(), json!(kind)),
            ("version".to_owned(), json!("0.1.0")),
        ]);
        Self { kind, name: name.to_owned(), description, hooks: BTreeMap::new() }
    }

    /// Says something more of the plugin: `version`, `priority`, `before`, `history`, `config_schema`
    /// and whatever else the answer to `initialize` may have.
    pub fn with(mut self, key: &str, value: Value) -> Self {
        self.description.insert(key.to_owned(), value);
        self
    }

    /// Answers a hook. It may run several times at once, and `null` changes nothing.
    pub fn on(
        mut self,
        hook: &str,
        answer: impl Fn(Value, &Call) -> Result<Value, Error> + Send + Sync + 'static,
    ) -> Self {
        self.hooks.insert(hook.to_owned(), Box::new(answer));
        self
    }

    fn described(&self) -> Value {
        let mut description = self.description.clone();
        let hooks: Vec<&String> = self.hooks.keys().collect();
        description.insert("hooks".to_owned(), json!(hooks));
        Value::Object(description)
    }
}

/// A session that a hook was given, for the host: as it was, with the metadata it has now. One whose
/// messages were changed goes back as plain JSON instead.
pub fn by_handle(session: &Value) -> Value {
    json!({"$session": {"handle": session["handle"], "metadata": session["metadata"]}})
}

/// What `make` makes of each item of a list, given its position.
pub fn each(list: &Value, make: impl Fn(usize, &Value) -> Value) -> Value {
    let items = list.as_array().into_iter().flatten().enumerate();
    items.map(|(at, item)| make(at, item)).collect()
}
