//! The API of OpenAI, for clients that speak it already: `model` is an agent.

use crate::server::Server;
use axum::Router;

/// The routes below `/v1`.
pub(crate) fn routes() -> Router<Server> {
    Router::new()
}
