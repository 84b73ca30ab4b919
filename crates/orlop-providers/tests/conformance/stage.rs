//! Where a case plays: a core with the provider and a tool, and what the model will say.

use crate::subject::{Subject, Way};
use futures::StreamExt;
use orlop_core::session::extract_tool_calls;
use orlop_core::{
    CallContext, Config, Core, CoreEvent, Error, Map, Message, Partial, RequestOptions, Response,
    Result, Session, Value,
};
use orlop_providers::http::Retries;
use orlop_providers::scripted::Scripted;
use orlop_providers::{HttpClient, HttpSettings};
use orlop_testkit::asking::key;
use orlop_testkit::mock_model::{Completion, MockModel, Reply};
use orlop_testkit::scripted::{config, echo_tool, plain_session};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// A core with the provider, and a server if it needs one.
pub(crate) struct Stage {
    pub(crate) core: Core,
    pub(crate) config: Config,
    server: Option<MockModel>,
}

/// A streamed answer.
pub(crate) struct Told {
    pub(crate) partials: Vec<Partial>,
    pub(crate) response: Response,
}

/// Settings that try again without waiting.
pub(crate) fn at_once() -> HttpSettings {
    let retries = Retries { first_delay: Duration::ZERO, ..Retries::default() };
    HttpSettings { retries, ..HttpSettings::default() }
}

/// What the model says in `replies`, one for each request.
pub(crate) async fn stage(
    subject: &Subject,
    replies: impl IntoIterator<Item = Reply<Completion>>,
) -> Stage {
    stage_with(subject, replies, json!({}), at_once()).await
}

/// The same with more in the configuration, and other settings of HTTP.
pub(crate) async fn stage_with(
    subject: &Subject,
    replies: impl IntoIterator<Item = Reply<Completion>>,
    more: Value,
    settings: HttpSettings,
) -> Stage {
    let mut core = Core::new();
    core.register_tool(Arc::new(echo_tool())).unwrap();
    let (config, server) = take_part(subject, &mut core, replies, &[], more, settings).await;
    Stage { core, config, server }
}

/// Registers the provider with `core`, and gives the configuration under which it answers. A script
/// counts all answers of a conversation: in one with other providers, `turns` says which are its.
pub(crate) async fn take_part(
    subject: &Subject,
    core: &mut Core,
    replies: impl IntoIterator<Item = Reply<Completion>>,
    turns: &[u64],
    more: Value,
    settings: HttpSettings,
) -> (Config, Option<MockModel>) {
    let mut values = json!({ "provider": subject.name, "model": subject.model });
    let mut server = None;
    match &subject.way {
        Way::Http(http) => {
            let provider = (http.provider)(HttpClient::new(settings));
            core.register_provider(provider, Vec::new()).unwrap();
            let mock = MockModel::strict().await.unwrap();
            for reply in replies {
                mock.reply(reply);
            }
            values["base_url"] = mock.base_url_of(http.api).into();
            values["api_key"] = key().into();
            server = Some(mock);
        }
        Way::Script => {
            core.register_provider(Arc::new(Scripted::default()), Vec::new()).unwrap();
            let mut script: Vec<Value> =
                replies.into_iter().map(|reply| reply.to_script()).collect();
            for (reply, turn) in script.iter_mut().zip(turns) {
                reply["when"] = json!({ "turn": turn });
            }
            values["script"] = script.into();
        }
        Way::Weights => panic!("{} cannot be told what to say", subject.name),
    }
    values.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    (config(values), server)
}

impl Stage {
    /// The server.
    pub(crate) fn server(&self) -> &MockModel {
        self.server.as_ref().expect("a provider with a server")
    }

    /// Stops the server.
    pub(crate) async fn without_server(mut self) -> Self {
        self.server.take().unwrap().stop().await;
        self
    }

    /// Sends the session and takes the answer whole.
    pub(crate) async fn whole(&self, session: &Session) -> Result<Response> {
        soon(self.core.send_request(session, &self.config, RequestOptions::default())).await
    }

    /// Sends the session and takes the answer as it comes.
    pub(crate) async fn streamed(
        &self,
        session: &Session,
    ) -> std::result::Result<Told, (Vec<Partial>, Error)> {
        streamed(&self.core, session, &self.config).await
    }

    /// The session with one more message.
    pub(crate) async fn add(&self, session: &Session, message: Message) -> Session {
        self.core.add_message(session, message, &self.config).await.unwrap()
    }

    /// The session with the results of the calls in `answer`.
    pub(crate) async fn run_calls(&self, answer: &Response) -> Session {
        run_calls(&self.core, &self.config, answer).await
    }

    /// The body of the last request.
    pub(crate) fn last_body(&self) -> Value {
        self.server().requests().pop().unwrap().json()
    }
}

/// Sends the session and takes the answer as it comes.
pub(crate) async fn streamed(
    core: &Core,
    session: &Session,
    config: &Config,
) -> std::result::Result<Told, (Vec<Partial>, Error)> {
    let mut events = core.send_request_stream(session, config, RequestOptions::default());
    let mut partials = Vec::new();
    loop {
        match soon(events.next()).await {
            Some(Ok(CoreEvent::Partial(partial))) => partials.push(partial),
            Some(Ok(CoreEvent::Final(response))) => {
                return Ok(Told { partials, response: *response });
            }
            Some(Err(error)) => return Err((partials, error)),
            None => panic!("the stream ended without an end"),
        }
    }
}

/// The session with the results of the calls in `answer`.
pub(crate) async fn run_calls(core: &Core, config: &Config, answer: &Response) -> Session {
    let calls = extract_tool_calls(&answer.messages);
    let results = core.execute_tool_calls(calls, config, &CallContext::default()).await.unwrap();
    let mut session = answer.session.clone();
    for result in results {
        session = core.add_message(&session, result, config).await.unwrap();
    }
    session
}

impl Told {
    /// The text that was shown.
    pub(crate) fn text(&self) -> String {
        shown(&self.partials)
    }
}

/// The text of these fragments.
pub(crate) fn shown(partials: &[Partial]) -> String {
    partials.iter().map(|partial| partial.content.as_str()).collect()
}

/// The arguments of each call in these fragments.
pub(crate) fn arguments(partials: &[Partial]) -> Vec<String> {
    let mut calls: Vec<String> = Vec::new();
    for piece in partials.iter().flat_map(|partial| &partial.tool_calls) {
        let index = usize::try_from(piece["index"].as_u64().unwrap()).unwrap();
        calls.resize(calls.len().max(index + 1), String::new());
        calls[index].push_str(piece["function"]["arguments"].as_str().unwrap_or_default());
    }
    calls
}

/// A session of one question.
pub(crate) async fn asked(text: &str) -> Session {
    plain_session(&[Message::user(text)]).await.unwrap()
}

/// What the messages of the answer tell beside their text, together.
pub(crate) fn metadata(response: &Response) -> Map {
    response.messages.iter().flat_map(|message| message.metadata().clone()).collect()
}

/// What comes next, or a failure of the test instead of a test without end.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("it takes too long")
}
