//! What is remembered of a user over all sessions: facts, kept apart by tenant and user.
//!
//! The host plugin [`UserMemory`] tells them to the model and learns new ones after a turn, the
//! application plugin of that name lets the user see and change them, and the tool plugin
//! [`Memory`] lets the agent.

mod actions;
mod facts;
mod learn;
mod secret;
mod tool;
mod user_memory;

pub use actions::MemoryActions;
pub use tool::Memory;
pub use user_memory::UserMemory;

use facts::Facts;
use orlop_app::Application;
use orlop_core::{Result, Value};

/// Under what name the facts are kept.
const NAME: &str = "user_memory";

/// The facts of the user that a handle acts for.
async fn of_user(app: &Application) -> Result<Facts> {
    Ok(app.user_state(NAME).await?.map(|held| Facts::read(&held.value)).unwrap_or_default())
}

/// Changes the facts of that user.
async fn change<T>(
    app: &Application,
    mut change: impl FnMut(&mut Facts) -> Result<T>,
) -> Result<T> {
    app.change_user_state(NAME, |value| {
        let mut facts = Facts::read(value);
        let outcome = change(&mut facts)?;
        *value = if facts.is_empty() { Value::Null } else { facts.to_json() };
        Ok(outcome)
    })
    .await
}
