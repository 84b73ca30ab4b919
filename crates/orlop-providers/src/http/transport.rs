//! What carries one attempt of a call: reqwest, or a script in the tests.

use super::call::Call;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use reqwest::header::HeaderMap;
use reqwest::{StatusCode, Url, redirect};
use std::collections::VecDeque;
use std::error::Error as _;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime;

/// Sends a call once.
pub(super) trait Transport: Send + Sync {
    fn send(&self, call: &Call) -> BoxFuture<'static, Result<Reply, Broken>>;
}

/// The head of an answer, and its body still to come.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Chunks,
}

/// The chunks of a body as they arrive.
pub(super) type Chunks = BoxStream<'static, Result<Bytes, Broken>>;

/// Why there was no answer, or no more of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Broken {
    /// The innermost cause, for instance `Connection refused (os error 111)`.
    pub(super) cause: String,
    /// Whether the same call may get through later.
    pub(super) passes: bool,
}

impl From<reqwest::Error> for Broken {
    fn from(error: reqwest::Error) -> Self {
        let passes = !error.is_builder() && !error.is_redirect();
        // The outer errors repeat the address, which may carry a key; the innermost says why.
        let mut cause = error.source();
        while let Some(inner) = cause.and_then(|cause| cause.source()) {
            cause = Some(inner);
        }
        let cause = match cause {
            Some(cause) => cause.to_string(),
            None if error.is_timeout() => "it took too long".to_owned(),
            None => error.without_url().to_string(),
        };
        Self { cause, passes }
    }
}

/// The real one. Clients are made on first use, and only `https` loads the certificates of the
/// system, which takes longer than everything else at the start of a process.
///
/// A connection is driven by the runtime it was opened on. A program that blocks on one runtime
/// and streams on another must not get a connection of the first on the second, where it would
/// stand still; so each runtime has clients of its own.
pub(super) struct Reqwest {
    connect_timeout: Duration,
    clients: Mutex<VecDeque<((runtime::Id, Route), reqwest::Client)>>,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Route {
    Https,
    Http,
    /// No proxy can reach what listens on this machine only.
    Local,
}

/// Clients kept; those of runtimes that are gone are the first to go.
const KEPT: usize = 12;

impl Reqwest {
    pub(super) fn new(connect_timeout: Duration) -> Self {
        Self { connect_timeout, clients: Mutex::default() }
    }

    fn client(&self, url: &Url) -> Result<reqwest::Client, Broken> {
        let route = match url.scheme() {
            "https" => Route::Https,
            _ if is_loopback(url) => Route::Local,
            _ => Route::Http,
        };
        let runtime = runtime::Handle::try_current().map_err(|_| Broken {
            cause: "there is no tokio runtime to connect on".to_owned(),
            passes: false,
        })?;
        let wanted = (runtime.id(), route);
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = clients.iter().find(|(held, _)| *held == wanted) {
            return Ok(client.clone());
        }
        let client = match route {
            Route::Https => self.builder(),
            Route::Http => self.builder().tls_certs_only([]),
            Route::Local => self.builder().tls_certs_only([]).no_proxy(),
        };
        let client = client.build()?;
        clients.push_back((wanted, client.clone()));
        if clients.len() > KEPT {
            clients.pop_front();
        }
        Ok(client)
    }

    fn builder(&self) -> reqwest::ClientBuilder {
        // Somebody may have installed one already; then theirs is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        reqwest::Client::builder()
            .connect_timeout(self.connect_timeout)
            .redirect(same_server())
            .user_agent(concat!("orlop/", env!("CARGO_PKG_VERSION")))
    }
}

/// A client for files that anybody may have. It goes wherever it is sent, because nothing secret
/// goes with it.
pub(crate) fn client_for_files(url: &Url, idle: Duration) -> reqwest::Result<reqwest::Client> {
    let builder = Reqwest::new(Duration::from_secs(15)).builder();
    let builder = builder.redirect(redirect::Policy::limited(10)).read_timeout(idle);
    match is_loopback(url) {
        true => builder.tls_certs_only([]).no_proxy().build(),
        false => builder.build(),
    }
}

/// Why a request failed, without the address.
pub(crate) fn cause_of(error: reqwest::Error) -> String {
    Broken::from(error).cause
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Follows a redirect only where it keeps method, body and server, so that the key goes nowhere
/// else; any other is an answer that says where the server wants to be asked.
fn same_server() -> redirect::Policy {
    redirect::Policy::custom(|attempt| {
        let here = attempt.previous().last().map(|url| url.origin());
        let keeps_method = matches!(attempt.status().as_u16(), 307 | 308);
        if attempt.previous().len() > 5 {
            attempt.error("it redirects without end")
        } else if keeps_method && here == Some(attempt.url().origin()) {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

impl Transport for Reqwest {
    fn send(&self, call: &Call) -> BoxFuture<'static, Result<Reply, Broken>> {
        let client = self.client(&call.url);
        let call = call.clone();
        Box::pin(async move {
            let request =
                client?.request(call.method, call.url).headers(call.headers).body(call.body);
            let mut response = request.send().await?;
            let headers = std::mem::take(response.headers_mut());
            Ok(Reply {
                status: response.status(),
                headers,
                body: response.bytes_stream().map_err(Broken::from).boxed(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_known() {
        let local = ["http://localhost:1/v1", "http://127.0.0.9", "http://[::1]:8080"];
        assert!(local.iter().all(|url| is_loopback(&Url::parse(url).unwrap())));
        let away = ["http://localhost.example", "http://10.0.0.1", "http://[2001:db8::1]"];
        assert!(!away.iter().any(|url| is_loopback(&Url::parse(url).unwrap())));
    }
}
