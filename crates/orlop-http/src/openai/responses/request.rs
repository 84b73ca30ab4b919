//! The body of `POST /v1/responses`, and the request that it amounts to.

use super::input;
use super::resource::Resource;
use crate::asked::asked_fields;
use crate::openai::error::{Answer, Failure};
use crate::openai::fields;
use crate::openai::options::{caller_tools, output_schema, overrides, tool_choice};
use orlop_core::{Map, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a client asks for. Fields that are not named here are settings, or mean nothing here.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CreateResponse {
    /// The agent; that of the conversation if none is named.
    #[serde(default)]
    model: Option<String>,
    /// A text, or a list of items.
    #[serde(default)]
    input: Option<Value>,
    /// Tools that the client runs itself.
    #[serde(default)]
    tools: Option<Vec<Map>>,
    #[serde(flatten)]
    fields: Map,
}

/// The same, checked.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The agent; that of the conversation if none is named.
    pub(super) model: Option<String>,
    pub(super) items: Vec<Map>,
    pub(super) tools: Vec<Map>,
    pub(super) overrides: Map,
    pub(super) instructions: Option<String>,
    pub(super) previous: Option<String>,
    pub(super) conversation: Option<String>,
    pub(super) stream: bool,
    pub(super) background: bool,
    pub(super) store: bool,
    /// How many calls of the agent's own tools may run.
    pub(super) max_tool_calls: Option<u64>,
    fields: Map,
}

impl CreateResponse {
    /// What it asks for, however the answer is sent.
    pub(super) fn asked(&self) -> impl Serialize {
        (&self.model, &self.input, &self.tools, asked_fields(&self.fields))
    }

    pub(super) fn checked(self) -> Answer<Wanted> {
        let Self { model, input, tools, fields } = self;
        fields::check(&fields)?;
        let tools = caller_tools(tools.unwrap_or_default())?;
        let mut overrides = overrides(&fields);
        if let Some(choice) = fields.get("tool_choice").map(tool_choice).transpose()?.flatten() {
            overrides.insert("tool_choice".to_owned(), choice);
        }
        let format = fields.get("text").and_then(|text| text.get("format"));
        let schema = format.map(|it| output_schema(it, "text.format")).transpose()?.flatten();
        if let Some(schema) = schema {
            overrides.insert("output_schema".to_owned(), schema);
        }
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        let flag = |key: &str| fields.get(key).and_then(Value::as_bool);
        let max_tool_calls = match fields.get("max_tool_calls") {
            None | Some(Value::Null) => None,
            Some(most) => Some(most.as_u64().ok_or_else(|| {
                Failure::bad("max_tool_calls", "max_tool_calls is a whole number, 0 or more")
            })?),
        };
        let conversation = fields.get("conversation").map(conversation).transpose()?.flatten();
        let wanted = Wanted {
            model,
            items: input::items(input)?,
            tools,
            overrides,
            instructions: text("instructions"),
            previous: text("previous_response_id"),
            conversation,
            stream: flag("stream").unwrap_or(false),
            background: flag("background").unwrap_or(false),
            store: flag("store").unwrap_or(true),
            max_tool_calls,
            fields,
        };
        wanted.agreeing()
    }
}

/// The id of a conversation, which stands alone or in an object.
fn conversation(given: &Value) -> Answer<Option<String>> {
    let id = match given {
        Value::Null => return Ok(None),
        Value::Object(given) => given.get("id"),
        id => Some(id),
    };
    match id {
        Some(Value::String(id)) => Ok(Some(id.clone())),
        _ => Err(Failure::bad(
            "conversation",
            "conversation is the id of a conversation, or an object with its id",
        )),
    }
}

impl Wanted {
    fn agreeing(self) -> Answer<Self> {
        if self.previous.is_some() && self.conversation.is_some() {
            return Err(Failure::bad(
                "conversation",
                "previous_response_id and conversation exclude each other; send one of them",
            ));
        }
        if self.background && !self.store {
            return Err(Failure::bad(
                "background",
                "a response in the background has to be stored; send store: true",
            ));
        }
        if self.items.is_empty() && self.previous.is_none() && self.conversation.is_none() {
            return Err(Failure::bad("input", "there is no input; send a text or a list of items"));
        }
        Ok(self)
    }

    /// The response, before anything came of it.
    pub(super) fn response(&self, request: &str, created: i64, model: &str) -> Resource {
        Resource::new(request, created, model, &self.fields).with_tools(&self.tools)
    }
}
