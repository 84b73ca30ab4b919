//! Before the model call: plugins, native history, and the request as the hooks left it.

use super::finish::Running;
use super::provider_run::ProviderRun;
use crate::config::Config;
use crate::context::{CallContext, Context};
use crate::core::Core;
use crate::hooks::{ModelRequest, State};
use crate::resolve::Resolution;
use crate::session::{Session, Transcript};
use orlop_types::{Map, Message, NativeIndices, NativeItem, Result, Role, Seq};
use std::sync::Arc;

/// A request that is ready to be sent.
pub(super) struct Prepared {
    pub(super) resolution: Arc<Resolution>,
    pub(super) cx: Context,
    pub(super) session: Session,
    /// The messages of the session, mapped to native items where they were not before.
    pub(super) messages: Transcript,
    pub(super) native: Seq<NativeItem>,
    pub(super) state: State,
    /// Whether native history is no longer what the visible messages map to.
    pub(super) changed: bool,
}

/// What a request carries through preparation.
pub(super) struct PreparedCall {
    pub(super) request_id: Option<String>,
    pub(super) context: CallContext,
    pub(super) stream: bool,
    pub(super) without_tools: bool,
    pub(super) caller_tools: Vec<Map>,
}

impl Core {
    /// Prepares the request and hands it to the provider.
    pub(super) async fn start(
        self,
        session: Session,
        config: Config,
        call: PreparedCall,
        preface: Vec<Message>,
    ) -> Result<Running> {
        let stream = call.stream;
        let prepared = self.prepare(session, config, call).await?;
        // An answer that cannot be judged is not asked for.
        prepared.resolution.output()?;
        let baseline = prepared.native.len();
        log_request(&prepared, stream);
        let sent = self.prefaced(&prepared, preface).await?;
        let sent_len = sent.len();
        let request = ModelRequest {
            native_messages: sent,
            state: prepared.state.clone(),
            request_id: prepared.cx.request_id().map(str::to_owned),
            stream,
        };
        let mut run =
            ProviderRun::start(&self, &prepared.resolution, request, &prepared.cx).await?;
        if sent_len != baseline && !run.native_replaced {
            let answered = run.native.suffix(sent_len);
            run.native = prepared.native.clone();
            run.native.append(answered);
        }
        Ok(Running { prepared, run, baseline, finals: Vec::new() })
    }

    /// The history to send: with `preface`, it stands before the items of the last user message.
    async fn prefaced(
        &self,
        prepared: &Prepared,
        preface: Vec<Message>,
    ) -> Result<Seq<NativeItem>> {
        if preface.is_empty() {
            return Ok(prepared.native.clone());
        }
        let items = self.to_native(&prepared.resolution, preface, &prepared.cx).await?;
        let is_user = |message: &&Message| message.role() == Role::User;
        let mapped = prepared.messages.iter().rev().find(is_user);
        let place = mapped
            .and_then(|message| message.native_indices().positions()?.into_iter().min())
            .filter(|place| *place <= prepared.native.len());
        // Without a mapping only the end is certain, and only if the user spoke last.
        let end = match prepared.messages.last().filter(is_user) {
            Some(_) => prepared.native.len().saturating_sub(1),
            None => 0,
        };
        let place = place.unwrap_or(end);
        Ok(prepared.native.splice(place..place, items.iter().cloned()))
    }

    async fn prepare(
        &self,
        session: Session,
        config: Config,
        call: PreparedCall,
    ) -> Result<Prepared> {
        let PreparedCall { request_id, context, stream, without_tools, caller_tools } = call;
        let mut resolution = self.resolve(&config).await?;
        if without_tools && !resolution.effective.is_empty() {
            resolution = Arc::new(resolution.without_tools());
        }
        if !caller_tools.is_empty() {
            resolution = Arc::new(resolution.with_caller_tools(caller_tools)?);
        }
        let format = resolution.native_format()?;
        let cx = self.context(&resolution, &config, &context).with(|inner| {
            inner.session = Some(session.clone());
            inner.request_id = request_id;
            inner.stream = stream;
        });
        let retained = session.usable_native(format).map(|native| native.items().clone());
        let is_retained = retained.is_some();
        let native = match retained {
            Some(native) => native,
            None => {
                let messages = session.messages().iter().cloned().collect();
                self.to_native(&resolution, messages, &cx).await?
            }
        };
        let converted = native.clone();
        let state = (*resolution.state).clone();
        let ready = self.initialise(&resolution, native, state, &cx).await?;
        let cx = cx.with(|inner| {
            if !ready.state.config.is_empty() {
                inner.config = ready.state.config.clone();
            }
        });
        let messages = if is_retained || ready.changed {
            session.messages().clone()
        } else {
            self.mapped(&session, &converted, &resolution, &ready.state, &cx).await?
        };
        Ok(Prepared {
            resolution,
            cx,
            session,
            messages,
            native: ready.native,
            state: ready.state,
            changed: ready.changed,
        })
    }

    /// The messages of a session whose native history was just made, mapped to it. What the
    /// messages say and carry stays; where the items stand for other messages, they stay unmapped.
    async fn mapped(
        &self,
        session: &Session,
        native: &Seq<NativeItem>,
        resolution: &Resolution,
        state: &State,
        cx: &Context,
    ) -> Result<Transcript> {
        use crate::session::convert::{Unmapped, with_global_indices};
        let derived = self.from_native(resolution, native, state, cx).await?;
        let derived = with_global_indices(derived, native.len(), 0, native.len(), Unmapped::Stay);
        let held = session.messages();
        let same = derived.len() == held.len()
            && derived.iter().zip(held.iter()).all(|(made, held)| made.role() == held.role());
        if !same {
            // A mapping to the items of before would point at others now.
            return Ok(held
                .remapped_from(0, |held| held.clone().with_native_indices(NativeIndices::Absent)));
        }
        let mapped = held
            .iter()
            .zip(&derived)
            .map(|(held, made)| held.clone().with_native_indices(made.native_indices().clone()));
        Ok(mapped.collect())
    }
}

/// How much of a request body a log line may show.
const LOGGED: usize = 1000;

fn log_request(prepared: &Prepared, stream: bool) {
    if !tracing::enabled!(target: "orlop::core", tracing::Level::DEBUG) {
        return;
    }
    let mut body = String::new();
    for item in prepared.native.iter() {
        if body.len() >= LOGGED {
            break;
        }
        body.push_str(item.wire());
    }
    let request = serde_json::to_string(&prepared.state.request).unwrap_or_default();
    let secrets = secrets(&prepared.state.config);
    tracing::debug!(
        target: "orlop::core",
        stream,
        native_messages = cut(&masked(body, &secrets)),
        request = cut(&masked(request, &secrets)),
        "sending request"
    );
}

/// The values of configuration keys whose names say that they are secrets. Providers keep keys
/// out of the request; one that does not still shows none in the log.
fn secrets(config: &Config) -> Vec<String> {
    let is_secret = |key: &str| {
        let key = key.to_ascii_lowercase();
        ["key", "token", "secret", "password"].iter().any(|word| key.contains(word))
    };
    let values = config.values().iter().filter(|(key, _)| is_secret(key));
    values
        .filter_map(|(_, value)| value.as_str())
        .filter(|text| text.len() > 5)
        .map(str::to_owned)
        .collect()
}

fn masked(text: String, secrets: &[String]) -> String {
    secrets.iter().fold(text, |text, secret| text.replace(secret, "***"))
}

fn cut(text: &str) -> &str {
    match text.char_indices().nth(LOGGED) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
