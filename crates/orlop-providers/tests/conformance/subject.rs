//! The providers under test. A provider is added here, and nowhere else.

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use orlop_core::{NativeItem, Partial, Provider, Result};
use orlop_providers::wire::{HttpProvider, Step, Wire, events};
use orlop_providers::{HttpClient, anthropic, gemini, ollama, openai, responses, scripted};
use orlop_testkit::mock_model::Api;
use std::sync::Arc;

/// A provider under test.
pub(crate) struct Subject {
    /// The plugin's name.
    pub(crate) name: &'static str,
    /// A model of the kind that this API serves.
    pub(crate) model: &'static str,
    /// The reasons to stop that the API knows, in neutral words.
    pub(crate) finishes: &'static [&'static str],
    /// Cases that do not apply, and why.
    pub(crate) exemptions: &'static [(&'static str, &'static str)],
    /// How it gets its answers.
    pub(crate) way: Way,
}

/// How a provider gets its answers.
pub(crate) enum Way {
    /// From a server.
    Http(Http),
    /// From a script in its configuration.
    Script,
    /// From a model in this process.
    Weights,
}

/// A provider that speaks to a server.
pub(crate) struct Http {
    pub(crate) api: Api,
    pub(crate) provider: fn(HttpClient) -> Arc<dyn Provider>,
    /// Reads a streamed body without a server.
    pub(crate) read: fn(Vec<Result<Bytes>>) -> BoxFuture<'static, Read>,
}

/// What came of a streamed body.
pub(crate) struct Read {
    pub(crate) partials: Vec<Partial>,
    pub(crate) end: Result<Vec<NativeItem>>,
}

/// Every provider.
pub(crate) fn subjects() -> Vec<Subject> {
    vec![
        http::<openai::Chat>(
            Api::Chat,
            "mock-model",
            &["stop", "length", "tool_calls", "content_filter"],
            &[],
        ),
        http::<anthropic::Messages>(
            Api::Messages,
            "mock-model",
            &["stop", "length", "tool_calls", "refusal", "pause"],
            &[],
        ),
        http::<responses::ResponsesWire>(
            Api::Responses,
            "mock-model",
            &["stop", "length", "tool_calls", "content_filter", "refusal"],
            &[],
        ),
        http::<gemini::GenerateContent>(
            Api::Gemini,
            "gemini-3-mock",
            &["stop", "length", "tool_calls", "content_filter"],
            &[],
        ),
        http::<ollama::Chat>(Api::Ollama, "mock-model", &["stop", "length", "tool_calls"], &[]),
        Subject {
            name: scripted::NAME,
            model: "mock-model",
            finishes: &["stop", "length", "tool_calls", "content_filter", "refusal", "pause"],
            exemptions: WITHOUT_SERVER,
            way: Way::Script,
        },
        Subject {
            name: "local",
            model: "smollm2",
            finishes: &[],
            exemptions: &[],
            way: Way::Weights,
        },
    ]
}

const SAYS_WHAT_IT_LIKES: &str = "Its model cannot be told what to say. Its own tests hold it to \
    text, streams, calls, schemas, counts and cancelling, and one of this suite moves a \
    conversation of each other provider to it and back.";

const SENDS_NOTHING: &str = "It has no server: nothing is sent.";
const NO_CONNECTION: &str = "It has no connection that could break, be closed or refuse; its own \
    tests show how its delays are cancelled and its failures told.";

/// The cases that look at a server.
const WITHOUT_SERVER: &[(&str, &str)] = &[
    ("images", SENDS_NOTHING),
    ("system_message", SENDS_NOTHING),
    ("structured_output", SENDS_NOTHING),
    ("settings", SENDS_NOTHING),
    ("model_list", SENDS_NOTHING),
    ("split_at_every_byte", NO_CONNECTION),
    ("cut_at_every_byte", NO_CONNECTION),
    ("cut_connection", NO_CONNECTION),
    ("slow_stream", NO_CONNECTION),
    ("cancel_stream", NO_CONNECTION),
    ("dropped_stream", NO_CONNECTION),
    ("cancel_whole", NO_CONNECTION),
    ("refusals", NO_CONNECTION),
    ("passing_faults", NO_CONNECTION),
    ("retry_after", NO_CONNECTION),
    ("error_in_stream", NO_CONNECTION),
    ("malformed_stream", NO_CONNECTION),
    ("malformed_answer", NO_CONNECTION),
    ("refused_connection", NO_CONNECTION),
    ("timeouts", NO_CONNECTION),
];

fn http<W: Wire>(
    api: Api,
    model: &'static str,
    finishes: &'static [&'static str],
    exemptions: &'static [(&'static str, &'static str)],
) -> Subject {
    let way = Way::Http(Http {
        api,
        provider: |client| Arc::new(HttpProvider::<W>::new(client)),
        read: |pieces| Box::pin(read::<W>(pieces)),
    });
    Subject { name: W::NAME, model, finishes, exemptions, way }
}

async fn read<W: Wire>(pieces: Vec<Result<Bytes>>) -> Read {
    let mut steps = events::<W::Reader, _>(stream::iter(pieces));
    let mut partials = Vec::new();
    loop {
        match steps.next().await {
            Some(Ok(Step::Partial(partial))) => partials.push(partial),
            Some(Ok(Step::Final(items))) => return Read { partials, end: Ok(items) },
            Some(Err(error)) => return Read { partials, end: Err(error) },
            None => panic!("the stream ended without an end"),
        }
    }
}

impl Subject {
    /// Why a case does not apply.
    pub(crate) fn exempt(&self, case: &str) -> Option<&'static str> {
        if let Way::Weights = self.way {
            return Some(SAYS_WHAT_IT_LIKES);
        }
        self.exemptions.iter().find(|(name, _)| *name == case).map(|(_, why)| *why)
    }

    /// The provider's way to a server. Cases that need one do not apply to others.
    pub(crate) fn http(&self) -> &Http {
        match &self.way {
            Way::Http(http) => http,
            Way::Script | Way::Weights => panic!("{} has no server", self.name),
        }
    }

    /// Whether there is a server to look at.
    pub(crate) fn has_server(&self) -> bool {
        matches!(self.way, Way::Http(_))
    }

    /// Whether token counts tell what came from a cache and what was reasoning.
    pub(crate) fn tells_details(&self) -> bool {
        !matches!(&self.way, Way::Http(http) if http.api == Api::Ollama)
    }

    /// Whether an error inside a stream has a name or a status, so that it is known to pass.
    pub(crate) fn names_errors(&self) -> bool {
        self.tells_details()
    }

    /// Whether the API knows texts at which to stop.
    pub(crate) fn knows_stop(&self) -> bool {
        !matches!(&self.way, Way::Http(http) if http.api == Api::Responses)
    }

    /// Ids of calls as servers of this API give them. Some servers of chat completions give ids
    /// that other APIs refuse.
    pub(crate) fn call_ids(&self) -> [&'static str; 2] {
        match &self.way {
            Way::Http(Http { api: Api::Chat, .. }) => ["functions.echo:0", "functions.echo:1"],
            Way::Http(Http { api: Api::Messages, .. }) => ["toolu_01", "toolu_02"],
            Way::Http(_) | Way::Script | Way::Weights => ["call_01", "call_02"],
        }
    }
}
