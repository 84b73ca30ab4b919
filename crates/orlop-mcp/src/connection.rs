//! One connection to a server: from the first word to the last. It knows nothing of what was before
//! or comes after it.

use crate::catalogue::{self, Catalogue, MAX_ITEMS};
use crate::handler::{Ears, Listening};
use crate::stdio::{Process, Start};
use crate::{http, login, words};
use orlop_app::Credentials;
use orlop_app::config::{McpServer, McpTransport, Vars};
use orlop_core::{Error, ErrorClass, Map, Result, Value};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest, PaginatedRequestParams,
    ProtocolVersion, ServerPeerInfo, ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions,
    RequestHandle, RoleClient, RunningService, ServiceError,
};
use rmcp::transport::IntoTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransport;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// How many pages of a list are asked for.
const MAX_PAGES: usize = 50;
/// The longest message of a server that is passed on.
const MAX_MESSAGE: usize = 1_000;

/// What a connection needs.
pub(crate) struct Plan<'a> {
    pub(crate) server: &'a McpServer,
    pub(crate) own_env: &'a Vars,
    pub(crate) folder: &'a Path,
    pub(crate) credentials: Option<&'a Credentials>,
    /// The revision of the protocol that the server is known to speak.
    pub(crate) protocol: Option<&'a str>,
    /// How long a list may take.
    pub(crate) answer: Duration,
}

/// A server that answers.
pub(crate) struct Connection {
    name: String,
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Ears>>>,
    ears: Ears,
    process: Option<Process>,
    secrets: Secrets,
    answer: Duration,
    since: Instant,
    tasks: Mutex<Vec<AbortHandle>>,
}

impl Connection {
    /// Starts the server if it is a command, and agrees with it on a protocol.
    pub(crate) async fn open(plan: &Plan<'_>) -> Result<Self> {
        let ears = Ears::default();
        let secrets = Secrets::of(&plan.server.transport);
        let (process, served) = match &plan.server.transport {
            McpTransport::Command { command, env, cwd } => {
                let folder = cwd.as_deref().unwrap_or(plan.folder);
                let start = Start { command, env, folder, own_env: plan.own_env };
                let (process, output, input) = Process::start(&start)?;
                (Some(process), begin(&ears, (output, input), plan.protocol).await)
            }
            McpTransport::Http { url, headers } => {
                let (client, settings) = (http::client(url)?, http::settings(url, headers)?);
                let name = &plan.server.name;
                let served =
                    match login::client(name, url, client.clone(), plan.credentials).await? {
                        Some(client) => {
                            let transport =
                                StreamableHttpClientTransport::with_client(client, settings);
                            begin(&ears, transport, plan.protocol).await
                        }
                        None => {
                            let transport =
                                StreamableHttpClientTransport::with_client(client, settings);
                            begin(&ears, transport, plan.protocol).await
                        }
                    };
                (None, served)
            }
        };
        let service = match served {
            Ok(service) => service,
            Err(error) if error.is_authorization_required() => {
                let name = &plan.server.name;
                return Err(Error::unavailable(format!(
                    "it wants a login; run: orlop mcp login {name}"
                )));
            }
            Err(error) => {
                let said = match (&error, &process) {
                    (error, Some(process)) if is_lost(error) => process.ending().await,
                    _ => words::line(&error.to_string(), MAX_MESSAGE),
                };
                return Err(Error::unavailable(secrets.mask(&said)));
            }
        };
        Ok(Self {
            name: plan.server.name.clone(),
            peer: service.peer().clone(),
            service: Mutex::new(Some(service)),
            ears,
            process,
            secrets,
            answer: plan.answer,
            since: Instant::now(),
            tasks: Mutex::default(),
        })
    }

    /// Whether nobody is there any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// How long it has lasted.
    pub(crate) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Told when the server says that its lists have changed.
    pub(crate) fn changed(&self) -> Arc<Notify> {
        self.ears.changed.clone()
    }

    /// Runs something as long as the connection is there.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let task = tokio::spawn(work);
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).push(task.abort_handle());
    }

    /// Has the server tell of changes, where it has to be asked to.
    pub(crate) fn subscribe(&self) {
        let Some(info) =
            self.peer.peer_info().filter(|info| !info.protocol_version.has_initialize())
        else {
            return;
        };
        let (peer, changed) = (self.peer.clone(), self.changed());
        self.spawn(async move {
            let Ok(mut heard) = peer.listen(changes(&info)).await else { return };
            while let Ok(Some(_)) = heard.next().await {
                changed.notify_one();
            }
        });
    }

    /// What the server offers.
    pub(crate) async fn catalogue(&self) -> Result<Catalogue> {
        let info = self.peer.peer_info();
        let info = info.ok_or_else(|| Error::unavailable("it did not say what it can do"))?;
        let can = &info.capabilities;
        let tools = match can.tools.is_some() {
            true => {
                self.list("tools", |page| {
                    ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page))
                })
                .await?
            }
            false => Vec::new(),
        };
        let mut found = Catalogue {
            protocol: words::line(&info.protocol_version.to_string(), 40),
            server: info
                .server_info
                .as_ref()
                .map(|it| words::line(&format!("{} {}", it.name, it.version), 100))
                .unwrap_or_default(),
            instructions: info.instructions.as_deref().map(|text| words::text(text, 4_000)),
            tools: catalogue::offered(&self.name, tools),
            ..Catalogue::default()
        };
        // Who lists no prompts or resources may still be called.
        if can.prompts.is_some() {
            let prompts = self.list("prompts", |page| {
                ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(page))
            });
            found.prompts = catalogue::prompts(self.or_none(prompts.await));
        }
        if can.resources.is_some() {
            let resources = self.list("resources", |page| {
                ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page))
            });
            found.resources = catalogue::resources(self.or_none(resources.await));
            let templates = self.list("resourceTemplates", |page| {
                ClientRequest::ListResourceTemplatesRequest(
                    ListResourceTemplatesRequest::with_param(page),
                )
            });
            found.templates = self.or_none(templates.await);
        }
        Ok(found)
    }

    fn or_none<T>(&self, listed: Result<Vec<T>>) -> Vec<T> {
        listed.unwrap_or_else(|error| {
            tracing::warn!(target: "orlop::mcp", server = self.name, %error, "a list is not taken");
            Vec::new()
        })
    }

    /// All items of a list, page by page. Items that make no sense are left out.
    async fn list<T: DeserializeOwned>(
        &self,
        key: &str,
        ask: impl Fn(PaginatedRequestParams) -> ClientRequest,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let answer = self.ask(ask(page), self.answer).await?;
            let answer = serde_json::to_value(answer).unwrap_or_default();
            let nonsense = || Error::provider(format!("its list of {key} makes no sense"));
            let listed = answer.get(key).and_then(Value::as_array).ok_or_else(nonsense)?;
            let before = items.len();
            items.extend(listed.iter().filter_map(|item| T::deserialize(item).ok()));
            if items.len() - before < listed.len() {
                tracing::warn!(target: "orlop::mcp", server = self.name, "some of its {key} make no sense and are left out");
            }
            cursor = answer.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            if cursor.is_none() || items.len() >= MAX_ITEMS {
                break;
            }
        }
        if items.len() > MAX_ITEMS || cursor.is_some() {
            tracing::warn!(target: "orlop::mcp", server = self.name, "it has too many {key}; the first {MAX_ITEMS} are taken");
            items.truncate(MAX_ITEMS);
        }
        Ok(items)
    }

    /// Asks once and waits for the answer.
    pub(crate) async fn ask(
        &self,
        request: ClientRequest,
        within: Duration,
    ) -> Result<ServerResult> {
        let options = PeerRequestOptions::with_timeout(within);
        let answered = async {
            self.peer.send_request_with_option(request, options).await?.await_response().await
        };
        match answered.await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.failed(error).await),
        }
    }

    /// Calls a tool; the answer is waited for by who holds the handle.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map,
    ) -> Result<(RequestHandle<RoleClient>, Listening)> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self.peer.send_request_with_option(request, PeerRequestOptions::no_options());
        match sent.await {
            Ok(handle) => {
                let listening = self.ears.progress.listen(handle.progress_token.clone());
                Ok((handle, listening))
            }
            Err(error) => Err(self.failed(error).await),
        }
    }

    /// What a failure means, without secrets.
    pub(crate) async fn failed(&self, error: ServiceError) -> Error {
        let (class, said) = match error {
            ServiceError::McpError(said) => {
                (ErrorClass::Provider, words::text(&said.message, MAX_MESSAGE))
            }
            ServiceError::Timeout { timeout } => (
                ErrorClass::Unavailable,
                format!("it did not answer within {} s", timeout.as_secs_f32()),
            ),
            ServiceError::TransportClosed
            | ServiceError::TransportSend(_)
            | ServiceError::Cancelled { .. } => {
                let ending = match &self.process {
                    Some(process) => process.ending().await,
                    None => "the connection was lost".to_owned(),
                };
                (ErrorClass::Unavailable, ending)
            }
            ServiceError::UnexpectedResponse => {
                (ErrorClass::Provider, "its answer makes no sense".to_owned())
            }
            other => (ErrorClass::Unavailable, words::line(&other.to_string(), MAX_MESSAGE)),
        };
        Error::new(class, self.secrets.mask(&said))
    }

    /// Takes leave: the server sees the end of its input and has a moment to end by itself.
    pub(crate) async fn close(&self) {
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut service) = service {
            let _ = service.close_with_timeout(Duration::from_secs(2)).await;
        }
        if let Some(process) = &self.process {
            process.end().await;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let tasks = self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner);
        tasks.iter().for_each(AbortHandle::abort);
    }
}

/// Whether nobody was there to talk to. Who ends before the first word is noticed by what is written
/// to it or by what is read from it, whichever comes first.
fn is_lost(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::TransportError { .. } => true,
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
            is_lost(discover) || is_lost(fallback)
        }
        _ => false,
    }
}

/// Agrees on a protocol: the newest one, or the last one with a handshake, whichever the server
/// speaks.
async fn begin<T, E, A>(
    ears: &Ears,
    transport: T,
    known: Option<&str>,
) -> Result<RunningService<RoleClient, Ears>, ClientInitializeError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let legacy = ProtocolVersion::LATEST_WITH_INITIALIZE;
    // Some servers leave what they do not know unanswered; they are not asked twice.
    let has_handshake = known.is_some_and(|known| known <= legacy.as_str());
    let lifecycle = match has_handshake {
        true => ClientLifecycleMode::Initialize,
        false => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::LATEST],
            legacy_version: Some(legacy),
        },
    };
    ears.clone().serve_with_lifecycle(transport, lifecycle).await
}

/// The changes that a server can tell of.
fn changes(info: &ServerPeerInfo) -> SubscriptionFilter {
    let can = &info.capabilities;
    let mut filter = SubscriptionFilter::new();
    let wanted = |can: Option<Option<bool>>| can.flatten().filter(|can| *can);
    filter.tools_list_changed = wanted(can.tools.as_ref().map(|it| it.list_changed));
    filter.prompts_list_changed = wanted(can.prompts.as_ref().map(|it| it.list_changed));
    filter.resources_list_changed = wanted(can.resources.as_ref().map(|it| it.list_changed));
    filter
}

/// Values of the configuration that must not be shown.
struct Secrets(Vec<String>);

impl Secrets {
    fn of(transport: &McpTransport) -> Self {
        let vars = match transport {
            McpTransport::Command { env, .. } => env,
            McpTransport::Http { headers, .. } => headers,
        };
        // Of `Bearer x`, x is the secret. What is short is a number or a word that says nothing.
        let parts =
            vars.values().flat_map(|value| value.split_whitespace().chain([value.as_str()]));
        let mut secrets: Vec<String> =
            parts.filter(|part| part.len() >= 6).map(str::to_owned).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    fn mask(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}
