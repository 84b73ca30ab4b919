//! How the server is doing.

use super::view::Status;
use crate::caller::{Admin, Caller};
use crate::extract::Json;
use crate::problem::Problem;
use crate::route::{Input, Operation, Output};
use crate::server::{Phase, Server, ending};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use orlop_app::Scope;
use orlop_core::Error;
use serde_json::Value;

impl Input for State<Server> {}

pub(super) async fn healthz() -> Json<Status> {
    Json(Status { status: "ok".to_owned() })
}

/// The store answers, the door is open, and the plugins are there without which requests fail.
pub(super) async fn readyz(State(server): State<Server>) -> Result<Json<Status>, Problem> {
    if server.phase() != Phase::Open {
        return Err(ending());
    }
    server.app().store().head(&Scope::local(), "readyz").await?;
    let missing = server.app().missing_plugins();
    if !missing.is_empty() {
        return Err(Error::unavailable(format!(
            "plugins that are needed have failed: {}; `orlop plugin list` says why",
            missing.join(", ")
        ))
        .into());
    }
    Ok(Json(Status { status: "ready".to_owned() }))
}

pub(super) async fn openapi(State(server): State<Server>) -> Json<Value> {
    Json(server.document().clone())
}

pub(super) async fn metrics(caller: Caller<Admin>) -> Text {
    Text(caller.server.metrics_text())
}

/// Text in the format of Prometheus.
pub(super) struct Text(String);

impl IntoResponse for Text {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], self.0).into_response()
    }
}

impl Output for Text {
    fn describe(operation: &mut Operation<'_>) {
        let schema = operation.schema::<String>();
        operation.answers("200", "text/plain", schema);
    }
}
