//! Forwards a request to the upstream, and keeps a copy of all that passes.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST,
    TRANSFER_ENCODING,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::Stream;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::json;
use tokio::sync::watch;

use super::Exchange;
use super::capture::Capture;
use super::redact::{self, Redactor};
use crate::local_server::Stopping;
use crate::sync::lock;

/// Where requests go, and what came of them.
pub(super) struct Forwarding {
    client: reqwest::Client,
    origin: String,
    host: String,
    /// By order of the requests; empty until the response has ended.
    captures: Mutex<Vec<Option<Capture>>>,
    ended: watch::Sender<usize>,
    secrets: Mutex<Vec<String>>,
}

impl Forwarding {
    pub(super) fn new(client: reqwest::Client, upstream: &reqwest::Url) -> Self {
        Self {
            client,
            origin: upstream.origin().ascii_serialization(),
            host: upstream.host_str().unwrap_or_default().to_owned(),
            captures: Mutex::default(),
            ended: watch::Sender::default(),
            secrets: Mutex::default(),
        }
    }

    pub(super) fn keep_secret(&self, more: impl IntoIterator<Item = String>) {
        let mut secrets = lock(&self.secrets);
        for secret in more {
            if !secrets.contains(&secret) {
                secrets.push(secret);
            }
        }
    }

    pub(super) fn exchanges_without_secrets(&self) -> Vec<Exchange> {
        let redactor = Redactor::new(lock(&self.secrets).iter().cloned());
        let captures = lock(&self.captures);
        captures.iter().flatten().map(|it| it.without_secrets(&redactor, &self.host)).collect()
    }

    pub(super) async fn wait_for_exchanges(&self, count: usize) {
        // Fails only when the sender is gone, and `self` holds it.
        let _ = self.ended.subscribe().wait_for(|ended| *ended >= count).await;
    }

    fn keep_secrets_of(&self, headers: &HeaderMap) {
        let secrets = headers
            .iter()
            .flat_map(|(name, value)| redact::secrets_in_header(name.as_str(), value));
        self.keep_secret(secrets);
    }

    /// A place for the exchange of a request that has just come.
    fn reserve(&self) -> usize {
        let mut captures = lock(&self.captures);
        captures.push(None);
        captures.len() - 1
    }
}

pub(super) async fn forward(
    State((shared, mut stopping)): State<(Arc<Forwarding>, Stopping)>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let Ok(request_body) = to_bytes(body, usize::MAX).await else {
        // The client left while sending; nobody reads this.
        return StatusCode::BAD_REQUEST.into_response();
    };
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    shared.keep_secrets_of(&head.headers);
    shared.keep_secret(redact::secrets_in_query(&path));

    let mut upstream_headers = end_to_end(&head.headers);
    // Compressed bodies could not be searched for secrets.
    upstream_headers.remove(ACCEPT_ENCODING);
    upstream_headers.remove(HOST);
    let sent = shared
        .client
        .request(head.method.clone(), format!("{}{path}", shared.origin))
        .headers(upstream_headers)
        .body(request_body.clone())
        .send();
    let place = shared.reserve();
    let upstream = tokio::select! {
        answer = sent => answer,
        () = stopping.wait() => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
    };
    let upstream = match upstream {
        Ok(answer) => answer,
        // The address is left out, since it may hold a key.
        Err(error) => return bad_gateway(&describe(&error.without_url())),
    };
    if upstream.headers().get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        return bad_gateway("the upstream compressed its answer, though it was not asked to");
    }
    shared.keep_secrets_of(upstream.headers());

    let status = upstream.status();
    let headers = end_to_end(upstream.headers());
    let capture = Capture {
        method: head.method.to_string(),
        path,
        request_body,
        status: status.as_u16(),
        headers: headers.clone(),
        response_body: Vec::new(),
        cut: true,
    };
    let has_no_body = status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED
        || head.method == "HEAD"
        || upstream.content_length() == Some(0);
    let mut copy = Copy {
        upstream: Box::pin(upstream.bytes_stream()),
        capture: Some(capture),
        place,
        shared,
        stop: Box::pin(async move { stopping.wait().await }),
        broken: None,
    };
    if has_no_body {
        // hyper does not even ask for such a body.
        copy.finish(false);
        return (status, headers).into_response();
    }
    (status, headers, Body::from_stream(copy)).into_response()
}

/// The response body on its way to the client, with a copy of all that passed.
struct Copy {
    upstream: BoxStream<'static, reqwest::Result<Bytes>>,
    capture: Option<Capture>,
    place: usize,
    shared: Arc<Forwarding>,
    stop: BoxFuture<'static, ()>,
    /// Why the body breaks off, once it does.
    broken: Option<axum::BoxError>,
}

impl Copy {
    fn finish(&mut self, cut: bool) {
        let Some(mut capture) = self.capture.take() else { return };
        capture.cut = cut;
        if let Some(place) = lock(&self.shared.captures).get_mut(self.place) {
            *place = Some(capture);
        }
        self.shared.ended.send_modify(|ended| *ended += 1);
    }

    /// Breaks off at the next poll: hyper flushes in between, so that the client gets all that
    /// came before.
    fn break_off(&mut self, reason: axum::BoxError, context: &Context<'_>) {
        self.finish(true);
        self.broken = Some(reason);
        context.waker().wake_by_ref();
    }
}

impl Stream for Copy {
    type Item = Result<Bytes, axum::BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(reason) = self.broken.take() {
            return Poll::Ready(Some(Err(reason)));
        }
        if self.stop.as_mut().poll(context).is_ready() {
            self.break_off("the recorder stops".into(), context);
            return Poll::Pending;
        }
        match ready!(self.upstream.as_mut().poll_next(context)) {
            Some(Ok(bytes)) => {
                if let Some(capture) = &mut self.capture {
                    capture.response_body.extend_from_slice(&bytes);
                }
                Poll::Ready(Some(Ok(bytes)))
            }
            Some(Err(error)) => {
                self.break_off(error.into(), context);
                Poll::Pending
            }
            None => {
                self.finish(false);
                Poll::Ready(None)
            }
        }
    }
}

impl Drop for Copy {
    /// Dropped before its end: the client left.
    fn drop(&mut self) {
        self.finish(true);
    }
}

/// The headers that are not about the single connection. The length goes too: what the recorder
/// sends on is always chunked, so that the end of the body is seen on both sides.
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    for name in [CONNECTION, TRANSFER_ENCODING, CONTENT_LENGTH] {
        kept.remove(name);
    }
    for name in ["keep-alive", "proxy-connection", "te", "trailer", "upgrade"] {
        kept.remove(name);
    }
    kept
}

fn bad_gateway(problem: &str) -> Response {
    let error = json!({"error": {"message": problem, "type": "recorder_upstream"}}).to_string();
    (StatusCode::BAD_GATEWAY, [(CONTENT_TYPE, "application/json")], error).into_response()
}

/// The error with its causes; the outermost alone says nearly nothing.
fn describe(error: &dyn std::error::Error) -> String {
    let mut description = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        description.push_str(": ");
        description.push_str(&error.to_string());
        cause = error.source();
    }
    description
}

impl std::fmt::Debug for Forwarding {
    /// Without what was captured, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forwarding").field("origin", &self.origin).finish_non_exhaustive()
    }
}
