//! `POST /v1/chat/completions`: the client keeps the conversation and sends all of it each time.

use super::chunks::{Chunks, Head, completion};
use super::conversation::{ChatMessage, messages};
use super::error::{Answer, Failure};
use super::fields;
use super::options::{caller_tools, output_schema, overrides, tool_choice};
use super::shape::{ChatCompletion, Shown};
use super::turns::{self, Begun, Caller, Json, event_stream, finish, seconds_now};
use crate::asked::asked_fields;
use orlop_app::ChatRequest;
use orlop_core::{Map, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a client asks for. Fields that are not named here are settings, or mean nothing here.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CreateChatCompletion {
    /// The agent.
    model: String,
    /// The conversation.
    messages: Vec<ChatMessage>,
    /// Tools that the client runs itself.
    #[serde(default)]
    tools: Option<Vec<Map>>,
    /// Whether the answer comes as it is made.
    #[serde(default)]
    stream: Option<bool>,
    #[serde(flatten)]
    fields: Map,
}

pub(super) async fn create(
    caller: Caller,
    Json(body): Json<CreateChatCompletion>,
) -> Answer<Shown<ChatCompletion>> {
    let mut caller = caller.asking_completion(&body.asked());
    let CreateChatCompletion { model, messages: given, tools, stream, fields } = body;
    fields::check(&fields)?;
    possible(&fields)?;
    let app = caller.app();
    let config = turns::agent(&app, &model)?;
    let mut overrides = overrides(&fields);
    if let Some(choice) = fields.get("tool_choice").map(tool_choice).transpose()?.flatten() {
        overrides.insert("tool_choice".to_owned(), choice);
    }
    let format = fields.get("response_format").filter(|format| !format.is_null());
    if let Some(schema) =
        format.map(|it| output_schema(it, "response_format")).transpose()?.flatten()
    {
        overrides.insert("output_schema".to_owned(), schema);
    }
    let hold = turns::is_judged(&config, &overrides);
    let stream = stream.unwrap_or(false);
    let (tools, messages) = (caller_tools(tools.unwrap_or_default())?, messages(given)?);
    let request = |caller: &Caller| ChatRequest {
        agent_id: Some(model.clone()),
        caller_tools: tools.clone(),
        overrides: overrides.clone(),
        stream,
        closely: stream,
        persist: Some(false),
        ..caller.request_with(messages.clone())
    };
    let slot = stream.then(|| caller.take_stream()).transpose()?;
    let mut begun = begin(&mut caller, request).await?;
    let id = format!("chatcmpl-{}", caller.request());
    let head = Head { id, created: seconds_now(), model };
    if let Some(slot) = slot {
        let options = fields.get("stream_options");
        let with_usage = options.and_then(|it| it.get("include_usage")?.as_bool()).unwrap_or(false);
        let said = begun.said.take().unwrap_or_default();
        let chunks = Chunks::new(head, with_usage, hold).knowing(said);
        return event_stream(&caller, begun, chunks, slot).map(Shown::of);
    }
    let done = finish(&caller, begun).await?;
    let completion = completion(&head, &done.messages, done.usage.as_ref(), &done.calls);
    Ok(Shown::json(completion))
}

async fn begin(caller: &mut Caller, request: impl Fn(&Caller) -> ChatRequest) -> Answer<Begun> {
    loop {
        caller.sent_before().await?;
        match caller.chat(|| request(caller)).await {
            Err(failure) if failure.is_conflict() && caller.is_renamed().await? => {}
            begun => return begun,
        }
    }
}

impl CreateChatCompletion {
    /// What it asks for, however the answer is sent.
    fn asked(&self) -> impl Serialize {
        (&self.model, &self.messages, &self.tools, asked_fields(&self.fields))
    }
}

/// Refuses what cannot be done here, rather than doing something else.
fn possible(fields: &Map) -> Answer<()> {
    let given = |key: &str| fields.get(key).filter(|value| !value.is_null());
    if given("n").is_some_and(|n| n != 1) {
        return Err(Failure::bad(
            "n",
            "an agent gives one answer; send n: 1, or ask several times",
        ));
    }
    if given("functions").is_some() || given("function_call").is_some() {
        return Err(Failure::bad(
            "functions",
            "functions are tools now; send tools and tool_choice",
        ));
    }
    let audio = |modality: &Value| modality == "audio";
    if given("modalities").and_then(Value::as_array).is_some_and(|it| it.iter().any(audio)) {
        return Err(Failure::bad("modalities", "agents answer in text; leave audio out"));
    }
    Ok(())
}
