//! The provider plugin `scripted`.

use super::play::Play;
use super::reply::{Failure, Reply};
use super::script::{Io, Script};
use super::shape::from_native;
use crate::wire::{Guarded, Running, placed, with_own_calls};
use futures::FutureExt;
use futures::stream::{BoxStream, StreamExt};
use orlop_core::hooks::{
    CancelInput, Chunk, ConfigInput, FromNativeInput, ModelAnswer, ModelRequest, RequestChange,
    RequestInput, TagsInput, ToNativeInput,
};
use orlop_core::interop::{Interop, calls};
use orlop_core::{
    Answer, Config, Context, Manifest, Map, Message, NativeItem, Plugin, Provider, Result,
    StateChange,
};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The plugin's name, as `provider` in a configuration says it.
pub const NAME: &str = "scripted";

/// What a scripted model can do unless the script says so.
const TAGS: [&str; 3] = ["chat", "streaming", "tools"];

/// Answers from the script that the configuration has under `script`. Cloning shares the requests
/// that run.
///
/// It remembers nothing: which reply is next follows from the conversation. The exception is a
/// failure that passes after some tries, whose tries are counted.
#[derive(Clone, Default)]
pub struct Scripted {
    running: Running,
    tries: Arc<Mutex<HashMap<Try, u64>>>,
}

/// Which failure of which session: its turn and the position of its reply.
type Try = (String, usize, usize);

/// Failures that nobody tried until they passed are forgotten when there are more.
const COUNTED: usize = 1024;

impl Scripted {
    /// How the next reply is played.
    fn play(&self, input: &ModelRequest, cx: &Context) -> Result<(Io, Play)> {
        let script = script(&input.state.config)?;
        let messages: Vec<Message> = from_native(input.native_messages.iter())
            .into_iter()
            .map(|(message, _)| message)
            .collect();
        let (place, reply) = script.next(&messages)?;
        let session = cx.session().map(|session| session.id().to_owned()).unwrap_or_default();
        let failure = self.failure(reply, (session, messages.len(), place));
        let model = input.state.config.text("model");
        let play = Play::new(reply, failure, &messages, script.native, model);
        Ok((script.io, play))
    }

    /// The failure of a reply, unless it has come as often as it should.
    fn failure<'a>(&self, reply: &'a Reply, this: Try) -> Option<&'a Failure> {
        let failure = reply.error.as_ref()?;
        let Some(times) = failure.times else { return Some(failure) };
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        if tries.len() >= COUNTED {
            tries.clear();
        }
        let count = tries.entry(this.clone()).or_default();
        if *count >= times {
            tries.remove(&this);
            return None;
        }
        *count += 1;
        Some(failure)
    }
}

fn script(config: &Config) -> Result<Script> {
    Script::of(config.get("script"))
}

impl Plugin for Scripted {
    fn manifest(&self) -> Manifest {
        Manifest::new(NAME, env!("CARGO_PKG_VERSION"))
            .without_models()
            .discovery(&["script"])
            .config("script", json!({ "required": true, "description": "What the model answers: a TOML or JSON file, a list of replies, or a whole script." }))
            .config("model", json!({ "type": "string", "description": "The name that the answers carry." }))
    }

    fn get_tags<'a>(&'a self, input: &'a TagsInput, _: &'a Context) -> Answer<'a, Vec<String>> {
        let tags = script(&input.config).map(|script| {
            script.tags.unwrap_or_else(|| TAGS.iter().map(|tag| (*tag).to_owned()).collect())
        });
        tags.into()
    }
}

impl Provider for Scripted {
    fn native_format(&self, _: &Config) -> Option<String> {
        Some(NAME.to_owned())
    }

    fn interop(&self) -> Interop {
        Interop { call_format: Some(calls::CORE_CALL.to_owned()), ..Interop::default() }
    }

    fn get_models<'a>(&'a self, input: &'a ConfigInput, _: &'a Context) -> Answer<'a, Vec<Map>> {
        script(&input.config).map(|script| script.models).into()
    }

    fn to_native_messages<'a>(
        &'a self,
        input: &'a ToNativeInput,
        cx: &'a Context,
    ) -> Answer<'a, Vec<NativeItem>> {
        let own = |message: &Message| with_own_calls(message, calls::CORE_CALL, &[], cx);
        let messages: Vec<Message> = input.messages.iter().map(own).collect();
        script(&input.state.config).map(|script| script.native.to_native(&messages)).into()
    }

    fn from_native_messages<'a>(
        &'a self,
        input: &'a FromNativeInput,
        _: &'a Context,
    ) -> Answer<'a, Vec<Message>> {
        Answer::ok(placed(from_native(input.native_messages.iter())))
    }

    fn initialize_request<'a>(
        &'a self,
        input: &'a RequestInput,
        _: &'a Context,
    ) -> Answer<'a, RequestChange> {
        let change = input
            .state
            .config
            .text("model")
            .map(|model| RequestChange::state(StateChange::request("model", model)));
        Answer::ok(change.unwrap_or_default())
    }

    fn call_api<'a>(
        &'a self,
        input: &'a ModelRequest,
        cx: &'a Context,
    ) -> Answer<'a, Option<ModelAnswer>> {
        let play = match self.play(input, cx) {
            Ok((Io::Stream, _)) => return Answer::ok(None),
            Ok((_, play)) => play,
            Err(error) => return Err(error).into(),
        };
        let entered = self.running.enter(input.request_id.as_ref());
        Answer::later(async move {
            let final_messages = match entered {
                Some(entered) => entered.unless_cancelled(play.whole()).await?,
                None => play.whole().await?,
            };
            Ok(Some(ModelAnswer { final_messages, ..ModelAnswer::default() }))
        })
    }

    fn stream_api(
        &self,
        input: &ModelRequest,
        cx: &Context,
    ) -> Option<BoxStream<'static, Result<Chunk>>> {
        let chunks = match self.play(input, cx) {
            Ok((Io::Call, _)) => return None,
            Ok((_, play)) => play.chunks(),
            Err(error) => std::future::ready(Err(error)).into_stream().boxed(),
        };
        Some(Guarded::stream(chunks, self.running.enter(input.request_id.as_ref())))
    }

    fn cancel_request<'a>(&'a self, input: &'a CancelInput, _: &'a Context) -> Answer<'a, ()> {
        self.running.cancel(&input.request_id);
        Answer::default()
    }
}
