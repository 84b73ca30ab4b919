//! What the routes of this API answer with, as the OpenAPI document says it.

use crate::extract::Json;
use crate::route::{Operation, Output};
use axum::response::{IntoResponse, Response as HttpResponse};
use orlop_core::Value;
use serde_json::json;
use std::marker::PhantomData;

/// An answer of the shape `S`.
pub(super) struct Shown<S>(HttpResponse, PhantomData<S>);

/// The shape of an answer.
pub(super) trait Shape {
    /// The schema of the whole.
    fn whole() -> Value;

    /// The schema of its events, if it can be had as a stream.
    fn event() -> Option<Value> {
        None
    }
}

impl<S> Shown<S> {
    pub(super) fn json(body: Value) -> Self {
        Self::of(Json(body).into_response())
    }

    pub(super) fn of(response: HttpResponse) -> Self {
        Self(response, PhantomData)
    }
}

impl<S> IntoResponse for Shown<S> {
    fn into_response(self) -> HttpResponse {
        self.0
    }
}

impl<S: Shape> Output for Shown<S> {
    fn describe(operation: &mut Operation<'_>) {
        operation.answers("200", "application/json", S::whole());
        if let Some(event) = S::event() {
            operation.streams(event);
        }
    }
}

/// An object whose `object` is this, with these fields beside it.
fn object(kind: &str, fields: &[&str]) -> Value {
    let required: Vec<&str> = ["object"].iter().chain(fields).copied().collect();
    json!({
        "type": "object", "required": required, "properties": { "object": { "const": kind } },
    })
}

fn list_of(items: Value, more: &[&str]) -> Value {
    let mut list = object("list", &[&["data"][..], more].concat());
    list["properties"]["data"] = json!({ "type": "array", "items": items });
    list
}

/// An answer to a chat completion.
pub(super) struct ChatCompletion;

impl Shape for ChatCompletion {
    fn whole() -> Value {
        object("chat.completion", &["id", "created", "model", "choices", "usage"])
    }

    fn event() -> Option<Value> {
        let chunk = object("chat.completion.chunk", &["id", "created", "model", "choices"]);
        Some(json!({ "anyOf": [chunk, { "const": "[DONE]" }] }))
    }
}

/// An agent, as a model.
pub(super) struct Model;

impl Shape for Model {
    fn whole() -> Value {
        object("model", &["id", "created", "owned_by"])
    }
}

/// All agents.
pub(super) struct ModelList;

impl Shape for ModelList {
    fn whole() -> Value {
        list_of(Model::whole(), &[])
    }
}

/// A response.
pub(super) struct Response;

/// The fields that a response always has; those without a value are `null`.
const RESPONSE: &[&str] = &[
    "id",
    "created_at",
    "completed_at",
    "status",
    "background",
    "error",
    "incomplete_details",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "model",
    "output",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt_cache_key",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "truncation",
    "usage",
    "user",
    "metadata",
];

impl Shape for Response {
    fn whole() -> Value {
        object("response", RESPONSE)
    }

    fn event() -> Option<Value> {
        Some(json!({
            "type": "object", "required": ["type", "sequence_number"],
            "properties": {
                "type": { "type": "string" },
                "sequence_number": { "type": "integer", "minimum": 0 },
            },
        }))
    }
}

/// A conversation without its items.
pub(super) struct Conversation;

impl Shape for Conversation {
    fn whole() -> Value {
        object("conversation", &["id", "created_at", "metadata"])
    }
}

/// An item of a conversation or an input.
pub(super) struct Item;

impl Shape for Item {
    fn whole() -> Value {
        json!({
            "type": "object", "required": ["id", "type"],
            "properties": { "id": { "type": "string" }, "type": { "type": "string" } },
        })
    }
}

/// A page of items.
pub(super) struct ItemList;

impl Shape for ItemList {
    fn whole() -> Value {
        list_of(Item::whole(), &["first_id", "last_id", "has_more"])
    }
}

/// What is gone.
pub(super) struct Deleted;

impl Shape for Deleted {
    fn whole() -> Value {
        json!({
            "type": "object", "required": ["id", "object", "deleted"],
            "properties": { "deleted": { "const": true } },
        })
    }
}
