//! The id of an HTTP request: the client's, or a fresh one. It is returned, logged, told to hooks,
//! and the id of the turn if the request is one.

use crate::problem::Problem;
use crate::route::Input;
use crate::server::Server;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

/// The header it travels in.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The id of the HTTP request under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId {
    id: String,
    given: bool,
}

impl RequestId {
    /// The id.
    pub fn as_str(&self) -> &str {
        &self.id
    }

    /// Whether the client chose it, so that the same request may have come before.
    pub fn is_given(&self) -> bool {
        self.given
    }

    /// The same request under the id that its body gives it, if it does.
    #[must_use]
    pub(crate) fn or_of_body(self, id: Option<String>) -> Self {
        match id {
            Some(id) => Self { id, given: true },
            None => self,
        }
    }
}

impl Input for RequestId {}

impl FromRequestParts<Server> for RequestId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<Self, Problem> {
        let known = parts.extensions.get::<RequestId>().cloned();
        Ok(known.unwrap_or_else(fresh))
    }
}

fn fresh() -> RequestId {
    RequestId { id: uuid::Uuid::new_v4().to_string(), given: false }
}

/// What is wrong with the id that the client chose. Such a request is refused.
#[derive(Clone)]
pub(crate) struct Refused(pub(crate) Problem);

/// Gives every request its id, and the response the id it did not set itself.
pub(crate) async fn assign(mut request: Request, next: Next) -> Response {
    let id = match request.headers().get(&HEADER) {
        None => fresh(),
        Some(given) => {
            let given = given.to_str().unwrap_or_default().to_owned();
            match orlop_app::check_id("request", &given) {
                Ok(()) => RequestId { id: given, given: true },
                Err(error) => {
                    request.extensions_mut().insert(Refused(error.into()));
                    fresh()
                }
            }
        }
    };
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::from_str(&id.id) {
        response.headers_mut().entry(HEADER).or_insert(value);
    }
    response
}
