//! The API of OpenAI, for clients that speak it already: `model` is an agent.
//!
//! Chat completions (`chat`), responses, conversations and the list of models. Every request is a
//! turn through the front door; what is here translates. `docs/openai-api.md` is the page for people.

mod chat;
mod chunks;
mod content;
mod conversation;
mod conversations;
mod error;
mod models;
mod options;
mod responses;
#[cfg(test)]
mod tests;
mod turns;
mod usage;

use crate::server::Server;
use axum::Router;
use axum::routing::{get, post};

/// The routes below `/v1`.
pub(crate) fn routes() -> Router<Server> {
    Router::new()
        .route("/v1/chat/completions", post(chat::create))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{id}", get(models::get))
        .merge(responses::routes())
        .merge(conversations::routes())
}
