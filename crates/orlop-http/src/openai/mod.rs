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
mod fields;
mod models;
mod options;
mod recall;
mod responses;
mod shape;
#[cfg(test)]
mod tests;
mod turns;
mod usage;

pub(crate) use error::{ErrorDocument, in_its_shape};

use crate::route::Routes;

/// What all its routes begin with.
pub(crate) const PREFIX: &str = "/v1";

/// The key of a turn's context under which it keeps what its response repeats; only this API sets it.
pub(crate) const CONTEXT: &str = "openai";

/// Adds the routes of this API.
pub(crate) fn routes(routes: Routes) -> Routes {
    let routes = routes
        .below(PREFIX)
        .post(
            "/chat/completions",
            "One request of a client that keeps the conversation.",
            chat::create,
        )
        .get("/models", "The agents, as models.", models::list)
        .get("/models/{id}", "An agent, as a model.", models::get);
    conversations::routes(responses::routes(routes))
}
