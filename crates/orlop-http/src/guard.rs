//! What a browser must not be talked into, and how every request is logged.
//!
//! Where nobody has to say who they are, only this machine may ask, under a name of this machine
//! (a page elsewhere could have its own name lead here). Pages of other origins may use the server
//! only if the configuration names them.

use crate::problem::Problem;
use crate::request_id::{RequestId, TURNS};
use crate::server::Server;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::time::Instant;
use tracing::Instrument;

/// Headers of every response, unless it has set them itself.
const HEADERS: &[(&str, &str)] = &[
    ("x-content-type-options", "nosniff"),
    (
        "content-security-policy",
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox",
    ),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// Lets through what may be asked from where it comes.
pub(crate) async fn check(State(server): State<Server>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let elsewhere = origin.filter(|origin| server.is_welcome(origin));
    let wanted = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let mut response = match admitted(&server, &request) {
        Err(problem) => problem.into_response(),
        Ok(()) if request.method() == Method::OPTIONS && elsewhere.is_some() => {
            StatusCode::NO_CONTENT.into_response()
        }
        Ok(()) => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    if let Some(origin) = elsewhere {
        allow(headers, origin, wanted);
    }
    response
}

fn admitted(server: &Server, request: &Request) -> Result<(), Problem> {
    named(request)?;
    let headers = request.headers();
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if server.is_open() && !server.is_named(host) {
        return Err(Problem::forbidden(
            "this server is only reached by a name of this machine, such as localhost; add other names to server.hosts",
        ));
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let same = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        let same = same.is_some_and(|(_, from)| from.eq_ignore_ascii_case(host));
        return match same || server.is_welcome(origin) {
            true => Ok(()),
            false => Err(foreign()),
        };
    }
    // Browsers tell where a request comes from, also where they send no Origin.
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let is_navigation = request.method() == Method::GET
        && headers.get("sec-fetch-mode").is_some_and(|mode| mode.as_bytes() == b"navigate");
    match site {
        Some(b"cross-site" | b"same-site") if !is_navigation => Err(foreign()),
        _ => Ok(()),
    }
}

/// Refuses a turn that is named by a header which is no id; turns whose bodies may name them see to that
/// themselves. Elsewhere nobody needs the name, and what stands between may have made it.
fn named(request: &Request) -> Result<(), Problem> {
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let is_turn = request.method() == Method::POST && TURNS.contains(&route);
    let is_named_by_body = route.starts_with("/api/");
    match request.extensions().get::<RequestId>() {
        Some(id) if is_turn && !is_named_by_body => id.check(),
        _ => Ok(()),
    }
}

fn foreign() -> Problem {
    Problem::forbidden(
        "this page is not one of the server's; add its origin to server.origins to let it in",
    )
}

/// Tells a browser that a page elsewhere may read the answer, and send the headers that it `wanted` to:
/// SDKs have many of their own, and whoever may use the server may send any.
fn allow(headers: &mut HeaderMap, origin: HeaderValue, wanted: Option<HeaderValue>) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(wanted) = wanted {
        let vary = HeaderValue::from_static("access-control-request-headers");
        headers.append(header::VARY, vary);
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted);
    }
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PATCH, DELETE"),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "x-request-id, retry-after, x-should-retry"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// The method, if it is one of HTTP. Anybody can invent others, and each would be counted apart for
/// as long as the server runs.
fn name_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::TRACE => "TRACE",
        Method::CONNECT => "CONNECT",
        _ => "OTHER",
    }
}

/// Logs every request and counts it. Everything that happens inside is logged with its id.
pub(crate) async fn log(State(server): State<Server>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = request.extensions().get::<RequestId>().cloned();
    let id = id.as_ref().map_or("", RequestId::as_str);
    let method = name_of(request.method());
    // The route and not the path: ids are the client's business.
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let span =
        tracing::info_span!(target: "orlop::http", "request", request_id = id, method, route);
    let response = next.run(request).instrument(span.clone()).await;
    let (status, took) = (response.status().as_u16(), began.elapsed());
    server.metrics().answered(method, route, status, took);
    let _inside = span.enter();
    tracing::info!(target: "orlop::http", status, ms = took.as_millis() as u64, "answered");
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_elsewhere_wants_to_send_is_allowed_and_nothing_else_is_lost() {
        let mut headers = HeaderMap::new();
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        let wanted = HeaderValue::from_static("authorization, x-stainless-os");
        allow(&mut headers, HeaderValue::from_static("https://app.example"), Some(wanted));
        let vary: Vec<_> = headers.get_all(header::VARY).iter().collect();
        assert_eq!(vary, ["accept-encoding", "origin", "access-control-request-headers"]);
        assert_eq!(headers["access-control-allow-headers"], "authorization, x-stainless-os");
        assert_eq!(headers["access-control-allow-origin"], "https://app.example");
        let exposed = "x-request-id, retry-after, x-should-retry";
        assert_eq!(headers["access-control-expose-headers"], exposed);
    }
}
