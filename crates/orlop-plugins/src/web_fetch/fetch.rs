//! Getting a page: one server after another as redirects lead, each checked before it is asked.

use super::settings::Settings;
use super::target::{self, Target};
use futures::StreamExt;
use orlop_core::{Error, Result};
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::{Url, redirect};
use std::error::Error as _;
use std::time::Duration;

/// How many redirects are followed.
const MAX_REDIRECTS: usize = 5;

/// What the name of the program is to servers.
const AGENT: &str = concat!("orlop/", env!("CARGO_PKG_VERSION"));

/// What an address led to.
pub(super) enum Fetched {
    /// A page.
    Page(Page),
    /// A server that says the page is at another one. Whether to go there is decided anew, since
    /// only the first host was allowed.
    Elsewhere { from: Url, to: Url },
}

/// A page as it came.
pub(super) struct Page {
    pub(super) url: Url,
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
    /// Whether there was more than is read.
    pub(super) cut: bool,
}

/// Fetches an address within the time that the settings give.
pub(super) async fn fetch(address: &str, settings: &Settings) -> Result<Fetched> {
    let url = target::read(address)?;
    let limit = settings.timeout;
    let late = || {
        let host = url.host_str().unwrap_or_default();
        let seconds = limit.as_secs();
        Error::unavailable(format!("{host} did not answer within {seconds} seconds"))
    };
    tokio::time::timeout(limit, follow(url.clone(), settings)).await.map_err(|_| late())?
}

async fn follow(mut url: Url, settings: &Settings) -> Result<Fetched> {
    for _ in 0..=MAX_REDIRECTS {
        let target = target::find(url.clone(), settings).await?;
        let response = ask(&target).await?;
        if !response.status().is_redirection() {
            return Ok(Fetched::Page(read(url, response, settings.max_bytes).await?));
        }
        let next = response.headers().get(LOCATION).and_then(|place| place.to_str().ok());
        let Some(next) = next.and_then(|next| url.join(next).ok()) else {
            return Ok(Fetched::Page(read(url, response, settings.max_bytes).await?));
        };
        let next = target::read(next.as_str())?;
        if !is_same_place(&url, &next) {
            return Ok(Fetched::Elsewhere { from: url, to: next });
        }
        url = next;
    }
    Err(Error::unavailable(format!("{url} redirects more than {MAX_REDIRECTS} times")))
}

/// Whether a redirect stays with its host: `www.` before the name, and `https` in place of `http`,
/// make no difference.
fn is_same_place(from: &Url, to: &Url) -> bool {
    let name = |url: &Url| {
        let host = url.host_str().unwrap_or_default();
        host.strip_prefix("www.").unwrap_or(host).to_owned()
    };
    let upgrade = from.scheme() == "http" && to.scheme() == "https";
    let port = |url: &Url| url.port_or_known_default();
    let same_door = from.scheme() == to.scheme() && port(from) == port(to);
    let usual = upgrade && from.port().is_none() && to.port().is_none();
    name(from) == name(to) && (same_door || usual)
}

async fn ask(target: &Target) -> Result<reqwest::Response> {
    // Somebody may have installed one already; then theirs is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = reqwest::Client::builder()
        .redirect(redirect::Policy::none())
        .dns_resolver(target.names())
        .connect_timeout(Duration::from_secs(10))
        .user_agent(AGENT);
    if target.url.scheme() == "http" {
        client = client.tls_certs_only([]);
    }
    if target.is_here() {
        client = client.no_proxy();
    }
    let client = client.build().map_err(|error| broken(&target.url, &error))?;
    let request = client
        .get(target.url.clone())
        .header(ACCEPT, "text/html, text/markdown, text/plain, application/json, */*;q=0.5");
    request.send().await.map_err(|error| broken(&target.url, &error))
}

async fn read(url: Url, response: reqwest::Response, most: usize) -> Result<Page> {
    let status = response.status().as_u16();
    let packed = response.headers().get(CONTENT_ENCODING).and_then(|how| how.to_str().ok());
    if let Some(how) = packed.filter(|how| !how.eq_ignore_ascii_case("identity")) {
        return Err(Error::unavailable(format!(
            "{url} is sent packed ({how}) though it was not asked for so, and cannot be read"
        )));
    }
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let content_type = content_type.to_lowercase();
    let (mut body, mut cut) = (Vec::new(), false);
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| broken(&url, &error))?;
        let room = most - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            cut = true;
            break;
        }
    }
    Ok(Page { url, status, content_type, body, cut })
}

/// The innermost cause says why; the outer errors repeat the address.
fn broken(url: &Url, error: &reqwest::Error) -> Error {
    let mut cause = error.source();
    while let Some(inner) = cause.and_then(|cause| cause.source()) {
        cause = Some(inner);
    }
    let cause = cause.map_or_else(|| "the request failed".to_owned(), ToString::to_string);
    let host = url.host_str().unwrap_or_default();
    Error::unavailable(format!("{host} cannot be read: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_followed_only_to_the_same_host() {
        for (from, to, same) in [
            ("http://a.org/1", "http://a.org/2", true),
            ("http://a.org/", "https://a.org/", true),
            ("https://a.org/", "https://www.a.org/x", true),
            ("http://www.a.org/", "https://a.org/", true),
            ("https://a.org/", "http://a.org/", false),
            ("http://a.org/", "http://a.org:8080/", false),
            ("http://a.org:8080/", "https://a.org/", false),
            ("https://a.org/", "https://b.org/", false),
            ("https://a.org/", "https://a.org.evil.net/", false),
            ("https://a.org/", "https://sub.a.org/", false),
        ] {
            let url = |text: &str| Url::parse(text).unwrap();
            assert_eq!(is_same_place(&url(from), &url(to)), same, "{from} {to}");
        }
    }
}
