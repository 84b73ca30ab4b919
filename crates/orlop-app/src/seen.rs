//! Changes by somebody who looked at a session before. A position names a message only as long as
//! nobody has changed the messages since.

use crate::application::Application;
use crate::store::Head;
use orlop_core::{Error, Result};

impl Application {
    /// Does something with a session if its messages are those of the revision that its caller saw,
    /// and nobody comes in between. Without a revision it does so in any case.
    pub async fn as_seen<T>(
        &self,
        id: &str,
        revision: Option<u64>,
        work: impl AsyncFnOnce(&Application) -> Result<T>,
    ) -> Result<T> {
        let Some(seen) = revision else { return work(self).await };
        let app = self.in_flow();
        let lock = app.acquire_session_lock(id).await?;
        let Head { revision, messages_revision, .. } = app.outlined(id).await?.head;
        let done = match (messages_revision..=revision).contains(&seen) {
            true => work(&app).await,
            false => Err(Error::conflict(format!(
                "the session has changed: its messages are of revision {messages_revision} and not of {seen}; load it and look again"
            ))),
        };
        lock.release().await;
        done
    }
}
