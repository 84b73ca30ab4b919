//! The handle of the recorder: what a test or a tool says to it and gets from it.

use std::sync::Arc;

use axum::Router;

use super::Cassette;
use super::forward::{Forwarding, forward};
use super::redact::Redactor;
use crate::error::TestkitError;
use crate::local_server::LocalServer;

/// A proxy server that records. It stops when it is dropped.
///
/// ```no_run
/// # async fn record() -> Result<(), orlop_testkit::TestkitError> {
/// use orlop_testkit::cassette::Recorder;
///
/// let recorder = Recorder::start("https://api.example.com/v1").await?;
/// recorder.secret("the name of my project");
/// // ... point a client at recorder.base_url() and use it ...
/// recorder.cassette().save("hello.json")?;
/// # Ok(())
/// # }
/// ```
///
/// Request headers are never written. Of the response headers only those are that a client acts
/// upon. Values of secret headers and query parameters, keys, bearer tokens and what
/// [`Recorder::secret`] names are masked in paths and bodies.
#[derive(Debug)]
pub struct Recorder {
    server: LocalServer,
    shared: Arc<Forwarding>,
    base_path: String,
}

impl Recorder {
    /// Starts a proxy to `upstream`, such as `https://api.example.com/v1`.
    pub async fn start(upstream: &str) -> Result<Self, TestkitError> {
        // Fails only if one is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        if is_local(upstream) {
            // A proxy of the environment cannot reach a server on this machine.
            builder = builder.no_proxy();
        }
        Self::start_with(builder.build().map_err(TestkitError::Client)?, upstream).await
    }

    /// Like [`Recorder::start`], but forwards with this client, for special proxies or TLS.
    pub async fn start_with(client: reqwest::Client, upstream: &str) -> Result<Self, TestkitError> {
        let url = reqwest::Url::parse(upstream)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .ok_or_else(|| TestkitError::Upstream(Redactor::default().path(upstream)))?;
        let shared = Arc::new(Forwarding::new(client, &url));
        let server = LocalServer::start(|stopping| {
            Router::new().fallback(forward).with_state((shared.clone(), stopping))
        })
        .await?;
        Ok(Self { server, shared, base_path: url.path().trim_end_matches('/').to_owned() })
    }

    /// The address to use in place of the upstream's, with the same path.
    pub fn base_url(&self) -> String {
        self.server.origin() + &self.base_path
    }

    /// Masks this text wherever it occurs, in exchanges recorded before and after.
    pub fn secret(&self, secret: impl Into<String>) -> &Self {
        self.shared.keep_secret([secret.into()]);
        self
    }

    /// What was recorded so far, without secrets: the exchanges whose response has ended, in the
    /// order of the requests.
    pub fn cassette(&self) -> Cassette {
        self.shared.exchanges_without_secrets().into_iter().collect()
    }

    /// Waits until this many responses have ended. Not needed after a response that the client
    /// read to its end: that one is recorded already.
    pub async fn wait_for_exchanges(&self, count: usize) {
        self.shared.wait_for_exchanges(count).await;
    }
}

fn is_local(upstream: &str) -> bool {
    let url = reqwest::Url::parse(upstream).ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
    host == "localhost" || host.starts_with("127.") || host == "[::1]"
}
