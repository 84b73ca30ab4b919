//! `GET /v1/models`: the agents, as models.

use super::error::{Answer, Failure};
use super::shape::{Model, ModelList, Shown};
use super::turns::{Reader, agent};
use crate::extract::Path;
use orlop_core::Value;
use serde_json::json;

pub(super) async fn list(Reader(caller): Reader) -> Answer<Shown<ModelList>> {
    let app = caller.app();
    let models: Vec<Value> = app.config().agents().into_iter().map(model).collect();
    Ok(Shown::json(json!({ "object": "list", "data": models })))
}

pub(super) async fn get(Reader(caller): Reader, Path(id): Path<String>) -> Answer<Shown<Model>> {
    let app = caller.app();
    if !app.config().agents().contains(&id.as_str()) {
        // Says which there are.
        agent(&app, &id)?;
        return Err(Failure::missing(Some("model"), "model_not_found", "there is no such agent"));
    }
    Ok(Shown::json(model(&id)))
}

/// Configuration does not say when an agent was made.
fn model(id: &str) -> Value {
    json!({ "id": id, "object": "model", "created": 0, "owned_by": "orlop" })
}
