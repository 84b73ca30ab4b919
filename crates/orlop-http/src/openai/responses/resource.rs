//! The response object: every field there is, with what the request said or what holds without it.

use super::item::{Item, items_of};
use crate::openai::error::Failure;
use crate::openai::usage::{Usage, finish_reason};
use orlop_core::types::app_event::CallerCall;
use orlop_core::types::tool::schema_name;
use orlop_core::{Error, Map, Message, Value};
use serde_json::json;

/// What response ids begin with; the id of the request follows.
const PREFIX: &str = "resp_";

/// The id of the response to a request.
pub(super) fn id_of(request: &str) -> String {
    format!("{PREFIX}{request}")
}

/// The request that a response id belongs to.
pub(super) fn request_of(id: &str) -> Option<&str> {
    id.strip_prefix(PREFIX).filter(|request| !request.is_empty())
}

/// A response without its outcome: the fields that repeat the request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Resource(pub(super) Map);

/// How a response ended.
pub(super) struct Ended<'a> {
    pub(super) at: i64,
    pub(super) messages: &'a [Message],
    pub(super) calls: &'a [CallerCall],
    pub(super) usage: Option<&'a Map>,
}

impl Resource {
    /// Of the fields of a request.
    pub(super) fn new(request: &str, created: i64, model: &str, fields: &Map) -> Self {
        let given = |key: &str| fields.get(key).filter(|value| !value.is_null()).cloned();
        let or = |key: &str, default: Value| given(key).unwrap_or(default);
        let inside = |section: &str, key: &str| fields.get(section).and_then(|it| it.get(key));
        let reasoning = given("reasoning").map(|_| {
            json!({ "effort": inside("reasoning", "effort"), "summary": inside("reasoning", "summary") })
        });
        let mut text = json!({ "format": format_of(inside("text", "format")) });
        text["verbosity"] = inside("text", "verbosity").cloned().unwrap_or("medium".into());
        let mut response = json!({
            "id": id_of(request),
            "object": "response",
            "created_at": created,
            "completed_at": null,
            "status": "in_progress",
            "background": or("background", false.into()),
            "error": null,
            "incomplete_details": null,
            "instructions": given("instructions"),
            "max_output_tokens": given("max_output_tokens"),
            "max_tool_calls": given("max_tool_calls"),
            "model": model,
            "output": [],
            "parallel_tool_calls": or("parallel_tool_calls", true.into()),
            "previous_response_id": given("previous_response_id"),
            "prompt_cache_key": given("prompt_cache_key"),
            "reasoning": reasoning,
            "safety_identifier": given("safety_identifier"),
            "service_tier": "default",
            "store": or("store", true.into()),
            "temperature": or("temperature", 1.0.into()),
            "text": text,
            "tool_choice": or("tool_choice", "auto".into()),
            "tools": [],
            "top_logprobs": 0,
            "top_p": or("top_p", 1.0.into()),
            "presence_penalty": or("presence_penalty", 0.0.into()),
            "frequency_penalty": or("frequency_penalty", 0.0.into()),
            "truncation": "disabled",
            "usage": null,
            "user": given("user"),
            "metadata": or("metadata", json!({})),
        });
        if let Some(conversation) = given("conversation") {
            response["conversation"] = match conversation {
                Value::String(id) => json!({ "id": id }),
                other => other,
            };
        }
        Self(response.as_object().cloned().unwrap_or_default())
    }

    /// With these tools of the client.
    pub(super) fn with_tools(mut self, tools: &[Map]) -> Self {
        self.set("tools", tools.iter().map(tool_json).collect::<Value>());
        self
    }

    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// As long as it runs.
    pub(super) fn running(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// When it is done, with this output.
    pub(super) fn completed(&self, ended: &Ended<'_>, output: Value) -> Value {
        let mut response = self.clone();
        match ended.cut_off_by() {
            Some(reason) => {
                response.set("status", "incomplete");
                response.set("incomplete_details", json!({ "reason": reason }));
            }
            None => {
                response.set("status", "completed");
                response.set("completed_at", ended.at);
            }
        }
        response.set("output", output);
        response.set("usage", Usage::of(ended.usage).of_response());
        Value::Object(response.0)
    }

    /// When it failed, or was cancelled.
    pub(super) fn failed(&self, error: Error, output: Value) -> Value {
        let mut response = self.clone();
        response.set("output", output);
        if error.is_cancelled() {
            response.set("status", "cancelled");
        } else {
            let failure = Failure::from(error);
            let code = failure.code().unwrap_or("server_error");
            response.set("status", "failed");
            response.set("error", json!({ "code": code, "message": failure.message() }));
        }
        Value::Object(response.0)
    }
}

/// The output of a response that is over; the item at `cut_off` is not whole.
pub(super) fn output_of(request: &str, items: &[Item], cut_off: Option<usize>) -> Value {
    let status = |place| if cut_off == Some(place) { "incomplete" } else { "completed" };
    let items = items.iter().enumerate();
    items.map(|(place, item)| item.json(request, place, status(place))).collect()
}

impl Ended<'_> {
    /// Its items.
    pub(super) fn items(&self) -> Vec<Item> {
        items_of(self.messages, self.calls)
    }

    /// What cut its answer off, if something did.
    fn cut_off_by(&self) -> Option<&'static str> {
        match finish_reason(self.messages, self.calls) {
            "length" => Some("max_output_tokens"),
            "content_filter" => Some("content_filter"),
            _ => None,
        }
    }

    /// The place of the message that was cut off among its items, if one was.
    pub(super) fn cut_off(&self, items: &[Item]) -> Option<usize> {
        let last = items.len().checked_sub(1).filter(|_| self.cut_off_by().is_some())?;
        matches!(items.get(last), Some(Item::Message { .. })).then_some(last)
    }

    /// Its output.
    pub(super) fn output(&self, request: &str) -> Value {
        let items = self.items();
        output_of(request, &items, self.cut_off(&items))
    }
}

/// A tool of the client, with all fields there are.
fn tool_json(tool: &Map) -> Value {
    let inner = tool.get("function").and_then(Value::as_object).unwrap_or(tool);
    if tool.get("type").and_then(Value::as_str) == Some("custom") {
        return Value::Object(tool.clone());
    }
    json!({
        "type": "function",
        "name": schema_name(tool),
        "description": inner.get("description"),
        "parameters": inner.get("parameters"),
        "strict": inner.get("strict"),
    })
}

fn format_of(format: Option<&Value>) -> Value {
    let Some(Value::Object(format)) = format else { return json!({ "type": "text" }) };
    let mut format = format.clone();
    if format.get("type").and_then(Value::as_str) == Some("json_schema") {
        format.entry("description").or_insert(Value::Null);
        format.entry("name").or_insert("answer".into());
        let strict = format.entry("strict").or_insert(false.into());
        if strict.is_null() {
            *strict = false.into();
        }
    }
    Value::Object(format)
}
