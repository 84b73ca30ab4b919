//! A server elsewhere, reached over streamable HTTP.

use orlop_app::config::Vars;
use orlop_core::{Error, Result};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use std::collections::HashMap;
use std::time::Duration;
use url::{Host, Url};

/// How long a connection may take to stand.
const CONNECT: Duration = Duration::from_secs(10);

/// A client that follows redirects within one machine only: headers may be secrets.
pub(crate) fn client(url: &str) -> Result<reqwest::Client> {
    // Somebody may have installed one already; then theirs is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let stays = reqwest::redirect::Policy::custom(|attempt| {
        let first = attempt.previous().first();
        let same = |other: &Url| {
            (other.scheme(), other.host_str(), other.port_or_known_default())
                == (
                    attempt.url().scheme(),
                    attempt.url().host_str(),
                    attempt.url().port_or_known_default(),
                )
        };
        match first.is_some_and(same) && attempt.previous().len() < 5 {
            true => attempt.follow(),
            false => attempt.stop(),
        }
    });
    let builder = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(stays)
        .user_agent(concat!("orlop/", env!("CARGO_PKG_VERSION")));
    let plain = url.starts_with("http://");
    let builder = match plain && is_loopback(url) {
        true => builder.tls_certs_only([]).no_proxy(),
        false => builder,
    };
    builder.build().map_err(|error| Error::internal(format!("no HTTP client: {error}")))
}

/// Whether an address is on this machine.
pub(crate) fn is_loopback(url: &str) -> bool {
    match Url::parse(url).ok().as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Where the server is, and what goes with every request.
pub(crate) fn settings(url: &str, headers: &Vars) -> Result<StreamableHttpClientTransportConfig> {
    let mut all = HashMap::new();
    for (name, value) in headers {
        // The value stays out of the message.
        let wrong = |what: &str| {
            Error::bad_argument(format!("the header \"{name}\" {what}; correct the configuration"))
        };
        let key = HeaderName::try_from(name.as_str()).map_err(|_| wrong("has no valid name"))?;
        let mut value =
            HeaderValue::try_from(value.as_str()).map_err(|_| wrong("has no valid value"))?;
        value.set_sensitive(true);
        all.insert(key, value);
    }
    Ok(StreamableHttpClientTransportConfig::with_uri(url).custom_headers(all))
}
