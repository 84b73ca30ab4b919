//! Changes by somebody who looked at a session before. A position names a message only as long as
//! nobody has changed the session since.

use crate::application::Application;
use orlop_core::{Error, Result};

impl Application {
    /// Does something with a session if it still has the revision that its caller saw, and nobody
    /// comes in between. Without a revision it does so in any case.
    pub async fn as_seen<T>(
        &self,
        id: &str,
        revision: Option<u64>,
        work: impl AsyncFnOnce(&Application) -> Result<T>,
    ) -> Result<T> {
        let Some(seen) = revision else { return work(self).await };
        let app = self.in_flow();
        let lock = app.acquire_session_lock(id).await?;
        let now = app.outlined(id).await?.head.revision;
        let done = match now == seen {
            true => work(&app).await,
            false => Err(Error::conflict(format!(
                "the session has changed: its revision is {now} and not {seen}; load it and look again"
            ))),
        };
        lock.release().await;
        done
    }
}
