//! The state of all routes, and the router made of them.

use crate::api;
use crate::identity::{Identity, Tokens, bearer};
use crate::problem::Problem;
use crate::request_id;
use crate::settings::Settings;
use axum::Router;
use axum::middleware;
use orlop_app::Host;
use orlop_core::Result;
use std::sync::Arc;

/// The host behind HTTP. Cloning is cheap.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    host: Host,
    tokens: Tokens,
}

impl Server {
    /// A server over an open front door.
    pub fn new(host: Host, settings: Settings) -> Result<Self> {
        let tokens = Tokens::new(&settings.tokens)?;
        Ok(Self(Arc::new(Inner { host, tokens })))
    }

    /// The front door, for whoever sent a request.
    pub fn host(&self, identity: &Identity) -> Host {
        self.0.host.for_scope(identity.scope().clone())
    }

    /// Every route.
    pub fn router(&self) -> Router {
        api::routes()
            .merge(crate::openai::routes())
            .layer(middleware::from_fn(request_id::assign))
            .with_state(self.clone())
    }

    /// Whose request it is, by its `Authorization` header.
    pub(crate) fn identify(&self, header: Option<&[u8]>) -> Result<Identity, Problem> {
        if self.0.tokens.is_empty() {
            return Ok(Identity::local());
        }
        let Some(header) = header else {
            return Err(Problem::unauthorized(
                "this server needs a token; send it as `Authorization: Bearer TOKEN`",
            ));
        };
        let found = bearer(header).and_then(|token| self.0.tokens.find(token));
        found.cloned().ok_or_else(|| {
            Problem::unauthorized(
                "the token is not known here; check it, or ask who runs the server",
            )
        })
    }

    /// Who may use it, in a sentence for whoever started it.
    pub fn admission(&self) -> String {
        match self.0.tokens.is_empty() {
            true => "programs of this machine need no token; [[server.tokens]] in the configuration asks for one".to_owned(),
            false => "send a token of [[server.tokens]] as `Authorization: Bearer TOKEN`".to_owned(),
        }
    }

    pub(crate) async fn stop(&self) {
        self.0.host.clone().stop().await;
    }
}
