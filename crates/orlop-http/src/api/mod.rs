//! The routes of `/api/v1`.

use crate::server::Server;
use axum::Router;
use axum::routing::get;

pub(crate) fn routes() -> Router<Server> {
    Router::new().route("/healthz", get(|| async { "ok" }))
}
