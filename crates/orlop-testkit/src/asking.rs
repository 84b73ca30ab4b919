//! Requests through a core as most tests make them.

use futures::StreamExt;
use orlop_core::{Config, Core, CoreEvent, Error, RequestOptions, Response, Result, Session};

/// A key to send and to look for. Assembled, so that no text of this repository looks like one.
pub fn key() -> String {
    ["test", "key", "0123456789"].join("-")
}

/// Sends the session and takes the answer whole.
pub async fn send(core: &Core, session: &Session, config: &Config) -> Result<Response> {
    core.send_request(session, config, RequestOptions::default()).await
}

/// Sends the session and takes the answer as it comes: the text of its fragments, joined, and its
/// end.
pub async fn streamed(
    core: &Core,
    session: &Session,
    config: &Config,
) -> Result<(String, Response)> {
    let mut events = core.send_request_stream(session, config, RequestOptions::default());
    let mut text = String::new();
    while let Some(event) = events.next().await {
        match event? {
            CoreEvent::Partial(partial) => text.push_str(&partial.content),
            CoreEvent::Final(response) => return Ok((text, *response)),
        }
    }
    Err(Error::internal("a stream ends in a final or an error, and this one ended without"))
}
