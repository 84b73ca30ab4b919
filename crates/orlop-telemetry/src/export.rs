//! The way of spans to a collector: a bounded queue, and one task that sends what waits in it.

use crate::spans::string;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use orlop_core::{Error, Result};
use prost::Message;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// How many spans wait; what comes while there are so many is dropped.
const MAX_WAITING: usize = 8_192;
/// How many are sent at once, and how long they are gathered.
const BATCH: usize = 512;
const GATHER: Duration = Duration::from_millis(500);
/// How long the collector may take, and how often it is tried.
const PATIENCE: Duration = Duration::from_secs(10);
const TRIES: u32 = 3;
/// How long the last spans have when the process ends.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// How often somebody is told that spans are lost.
const TELL: Duration = Duration::from_secs(60);

/// Sends spans without ever making anybody wait.
pub(crate) struct Exporter {
    queue: Mutex<Option<mpsc::Sender<Span>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    lost: AtomicU64,
    closing: AtomicBool,
}

struct Collector {
    client: reqwest::Client,
    url: url::Url,
    resource: Resource,
    shared: Arc<Shared>,
    told: Option<Instant>,
}

impl Exporter {
    pub(crate) fn new(
        endpoint: &str,
        headers: &BTreeMap<String, String>,
        service: &str,
    ) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let collector = Collector {
            client: client(headers)?,
            url: address(endpoint)?,
            resource: Resource {
                attributes: vec![
                    string("service.name", service),
                    string("service.version", env!("CARGO_PKG_VERSION")),
                    string("telemetry.sdk.language", "rust"),
                    string("telemetry.sdk.name", "orlop"),
                ],
                ..Resource::default()
            },
            shared: shared.clone(),
            told: None,
        };
        let (queue, spans) = mpsc::channel(MAX_WAITING);
        let task = tokio::spawn(collector.run(spans));
        Ok(Self { queue: Mutex::new(Some(queue)), task: Mutex::new(Some(task)), shared })
    }

    /// Takes spans to be sent, as many as there is room for.
    pub(crate) fn send(&self, spans: Vec<Span>) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = match &*queue {
            Some(queue) => {
                spans.into_iter().map(|span| u64::from(queue.try_send(span).is_err())).sum()
            }
            None => spans.len() as u64,
        };
        self.shared.lost.fetch_add(lost, Ordering::Relaxed);
    }

    pub(crate) fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// Sends what waits, for a while.
    pub(crate) async fn close(&self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return };
        if timeout(LAST_WORDS, &mut task).await.is_err() {
            task.abort();
        }
    }
}

impl Collector {
    async fn run(mut self, mut spans: mpsc::Receiver<Span>) {
        let mut batch = Vec::with_capacity(BATCH);
        while spans.recv_many(&mut batch, BATCH).await > 0 {
            let end = Instant::now() + GATHER;
            while batch.len() < BATCH {
                let room = BATCH - batch.len();
                let left = end.saturating_duration_since(Instant::now());
                match timeout(left, spans.recv_many(&mut batch, room)).await {
                    Ok(more) if more > 0 => {}
                    _ => break,
                }
            }
            self.deliver(std::mem::take(&mut batch)).await;
        }
    }

    /// Sends spans; what cannot be sent is lost.
    async fn deliver(&mut self, spans: Vec<Span>) {
        let count = spans.len() as u64;
        let scope = InstrumentationScope {
            name: "orlop".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        };
        let scope_spans = ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() };
        let request = ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(self.resource.clone()),
                scope_spans: vec![scope_spans],
                ..ResourceSpans::default()
            }],
        };
        let body = request.encode_to_vec();
        let mut pause = Duration::from_secs(1);
        let mut reason = String::new();
        for attempt in 1..=TRIES {
            match self.post(body.clone()).await {
                Ok(()) => return,
                Err(Refused { why, again }) => {
                    reason = why;
                    if !again || attempt == TRIES || self.shared.closing.load(Ordering::Relaxed) {
                        break;
                    }
                }
            }
            sleep(pause).await;
            pause *= 2;
        }
        self.shared.lost.fetch_add(count, Ordering::Relaxed);
        self.tell(&reason);
    }

    async fn post(&self, body: Vec<u8>) -> Result<(), Refused> {
        let request = self.client.post(self.url.clone()).body(body);
        // An error of the client may name the address, and with it a key in it.
        let failed =
            |error: reqwest::Error| Refused { why: error.without_url().to_string(), again: true };
        let answer = request.send().await.map_err(failed)?;
        let status = answer.status();
        match status.is_success() {
            true => Ok(()),
            false => Err(Refused {
                why: format!("it answered {status}"),
                again: status.is_server_error() || status.as_u16() == 429,
            }),
        }
    }

    fn tell(&mut self, reason: &str) {
        if self.told.is_some_and(|told| told.elapsed() < TELL) {
            return;
        }
        self.told = Some(Instant::now());
        let lost = self.shared.lost.load(Ordering::Relaxed);
        tracing::warn!(target: "orlop::telemetry", reason, lost, "the collector of traces takes none; look at telemetry.otlp_endpoint");
    }
}

/// A batch that the collector did not take.
struct Refused {
    why: String,
    /// Whether it may take it later.
    again: bool,
}

/// Where spans go: below the endpoint, as everywhere with OTLP.
fn address(endpoint: &str) -> Result<url::Url> {
    let wrong = |why: String| {
        Error::bad_argument(format!(
            "telemetry.otlp_endpoint cannot be used ({why}); name a collector, such as \"http://127.0.0.1:4318\""
        ))
    };
    let text = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
    let url = url::Url::parse(&text).map_err(|error| wrong(error.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err(wrong("it is not HTTP".to_owned())),
    }
}

fn client(headers: &BTreeMap<String, String>) -> Result<reqwest::Client> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut all = HeaderMap::new();
    all.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).ok();
        let value = HeaderValue::from_str(value).ok();
        let (Some(name), Some(mut value)) = (name, value) else {
            return Err(Error::bad_argument(
                "telemetry.headers has something that is no header of HTTP; correct it",
            ));
        };
        value.set_sensitive(true);
        all.insert(name, value);
    }
    let client = reqwest::Client::builder()
        .default_headers(all)
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none());
    client.build().map_err(|error| Error::internal(format!("no collector can be reached: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_go_below_the_endpoint() {
        for (endpoint, url) in [
            ("http://127.0.0.1:4318", Some("http://127.0.0.1:4318/v1/traces")),
            ("https://otel.example.com/otlp/", Some("https://otel.example.com/otlp/v1/traces")),
            ("127.0.0.1:4318", None),
            ("unix:/x", None),
        ] {
            assert_eq!(address(endpoint).ok().map(String::from).as_deref(), url, "{endpoint}");
        }
    }
}
