//! Requests that were sent before: another one with the same id joins them, if it asks for the same.

use super::RequestHandle;
use crate::application::Application;
use crate::lock::locked;
use orlop_core::{Error, Result, Value};

/// A request that was sent before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRequest {
    /// Its session.
    pub session_id: String,
    /// The digest of what it asked for, if whoever sent it told one.
    pub asked: Option<String>,
}

impl KnownRequest {
    /// Refuses a request that has its id and asks for something else, as far as that is known.
    pub fn check(&self, request_id: &str, asked: Option<&str>) -> Result<()> {
        match (self.asked.as_deref(), asked) {
            (Some(before), Some(now)) if before != now => Err(Error::conflict(format!(
                "the request id \"{request_id}\" belongs to a request that asked for something else; choose another id, or send the same again"
            ))),
            _ => Ok(()),
        }
    }
}

impl Application {
    /// The request that was sent with this id before, if one was. One that is not stored is known
    /// while it runs.
    pub async fn known_request(&self, request_id: &str) -> Result<Option<KnownRequest>> {
        let key = (self.scope.clone(), request_id.to_owned());
        let running = locked(&self.shared.running).get(&key).map(|running| KnownRequest {
            session_id: running.session.clone(),
            asked: running.asked.clone(),
        });
        if running.is_some() {
            return Ok(running);
        }
        let turn = self.shared.store.turn(&self.scope, request_id).await?;
        Ok(turn.map(|turn| KnownRequest {
            asked: turn.state.get("asked").and_then(Value::as_str).map(str::to_owned),
            session_id: turn.session,
        }))
    }

    /// Whether somebody follows a request that runs in this process.
    pub fn is_followed(&self, request_id: &str) -> bool {
        self.shared.hub.feed(&self.scope, request_id).is_some_and(|feed| feed.is_read())
    }

    /// The handle of a request that was sent before.
    pub(super) async fn join(
        &self,
        request_id: &str,
        asked: Option<&str>,
        closely: bool,
    ) -> Result<Option<RequestHandle>> {
        let Some(known) = self.known_request(request_id).await? else { return Ok(None) };
        known.check(request_id, asked)?;
        let feed = self.shared.hub.feed(&self.scope, request_id);
        let events = match closely {
            true => self.request_events_closely(request_id, 0).await?,
            false => self.request_events(request_id, 0).await?,
        };
        // Read last: what is whole by now is not told piece by piece any more.
        let said = feed.as_ref().map(|feed| feed.said()).unwrap_or_default();
        Ok(Some(RequestHandle {
            request_id: request_id.to_owned(),
            session_id: known.session_id,
            app: Self { flow: None, tracer: None, ..self.clone() },
            events,
            said: Some(said),
            feed,
        }))
    }
}
