//! What plugins keep: with a session, or with the user whatever the session.

use crate::application::Application;
use crate::scope::check_id;
use crate::store::{OF_USER, PluginState};
use orlop_core::{Error, Result, Value};

/// How often a change is tried again that others were faster than.
const TRIES: u32 = 20;

impl Application {
    /// What a plugin keeps with a session. It forks with the session and is deleted with it.
    pub async fn plugin_state(
        &self,
        session_id: &str,
        plugin: &str,
    ) -> Result<Option<PluginState>> {
        check_id("session", session_id)?;
        self.shared.store.plugin_state(&self.scope, session_id, plugin).await
    }

    /// Sets what a plugin keeps with a session, if it is still at version `expected` (0: there is
    /// none). `None` as value removes it. A conflict if somebody else was first.
    pub async fn set_plugin_state(
        &self,
        session_id: &str,
        plugin: &str,
        expected: u64,
        value: Option<Value>,
    ) -> Result<u64> {
        check_id("session", session_id)?;
        self.clone().changing("keep something with a session")?;
        let store = &self.shared.store;
        let set = store.set_plugin_state(&self.scope, session_id, plugin, expected, value).await?;
        set.ok_or_else(|| {
            Error::conflict(format!(
                "what plugin \"{plugin}\" keeps with session \"{session_id}\" is not at version {expected} any more; read it and try again"
            ))
        })
    }

    /// What a plugin keeps with the user of this handle, whatever the session.
    pub async fn user_state(&self, plugin: &str) -> Result<Option<PluginState>> {
        self.shared.store.plugin_state(&self.scope, OF_USER, plugin).await
    }

    /// Changes what a plugin keeps with the user: `change` is given what is there (null if
    /// nothing is) and leaves what is to be (null removes it). It runs again if somebody else
    /// was faster, and must therefore do nothing else.
    pub async fn change_user_state<T>(
        &self,
        plugin: &str,
        mut change: impl FnMut(&mut Value) -> Result<T>,
    ) -> Result<T> {
        self.clone().changing("keep something with a user")?;
        let store = &self.shared.store;
        for _ in 0..TRIES {
            let held = store.plugin_state(&self.scope, OF_USER, plugin).await?;
            let (mut value, version) =
                held.map_or((Value::Null, 0), |held| (held.value, held.version));
            let before = value.clone();
            let outcome = change(&mut value)?;
            if value == before {
                return Ok(outcome);
            }
            let value = Some(value).filter(|value| !value.is_null());
            let set = store.set_plugin_state(&self.scope, OF_USER, plugin, version, value).await?;
            if set.is_some() {
                return Ok(outcome);
            }
        }
        Err(Error::conflict(format!(
            "what plugin \"{plugin}\" keeps with the user changes too often; try again"
        )))
    }
}
