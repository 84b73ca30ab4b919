//! What a browser sees at `/`.

use crate::server::Server;
use axum::Router;
use axum::http::header;
use axum::response::{Html, IntoResponse};
use axum::routing::get;

const PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Orlop</title><p>Orlop is running. A page to chat will be here; until then, <a href=\"/openapi.json\">/openapi.json</a> lists what can be asked.</p></html>\n";

/// Nothing but what comes from here, and no scripts yet.
const POLICY: &str =
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

pub(crate) fn routes() -> Router<Server> {
    let page =
        || async { ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(PAGE)).into_response() };
    Router::new().route("/", get(page))
}
