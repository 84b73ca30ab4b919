//! The web page at `/`, out of the program itself. Files have names made of their content, so that
//! browsers keep them; only the first one is asked for again.

use crate::server::Server;
use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use flate2::read::GzDecoder;
use std::io::Read;

/// A file of the page.
struct File {
    name: &'static str,
    media_type: &'static str,
    gzip: &'static [u8],
}

/// What was built, and nothing if nobody did.
static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

const NO_PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Orlop</title>\
<p>Orlop is running, but this program was built without its web page. In the source folder, \
<code>cargo xtask web</code> builds the page (it needs Node 20.19 or newer, with npm); then build the program again.</p>\
<p><a href=\"/openapi.json\">/openapi.json</a> lists what programs can ask.</p></html>\n";

/// Scripts, styles and connections of this server only. Pictures may also be part of a message.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
font-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

pub(crate) fn routes() -> Router<Server> {
    Router::new().route("/", get(|headers: HeaderMap| async move { index(FILES, &headers) })).route(
        "/assets/{name}",
        get(|Path(name): Path<String>, headers: HeaderMap| async move {
            asset(FILES, &format!("assets/{name}"), &headers)
        }),
    )
}

fn index(files: &'static [File], headers: &HeaderMap) -> Response {
    let policy = (header::CONTENT_SECURITY_POLICY, POLICY);
    match found(files, "index.html") {
        Some(file) => {
            ([policy, (header::CACHE_CONTROL, "no-cache")], sent(file, headers)).into_response()
        }
        None => ([policy], Html(NO_PAGE)).into_response(),
    }
}

fn asset(files: &'static [File], name: &str, headers: &HeaderMap) -> Response {
    let forever = (header::CACHE_CONTROL, "public, max-age=31536000, immutable");
    match found(files, name) {
        Some(file) => ([forever], sent(file, headers)).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn found(files: &'static [File], name: &str) -> Option<&'static File> {
    files.iter().find(|file| file.name == name)
}

/// A file as it is kept, or unpacked for whoever cannot.
fn sent(file: &File, headers: &HeaderMap) -> Response {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter();
    let gzip = accepted.filter_map(|value| value.to_str().ok()).any(takes_gzip);
    let kind: (HeaderName, &str) = (header::CONTENT_TYPE, file.media_type);
    let vary = (header::VARY, "accept-encoding");
    if gzip {
        return ([kind, vary, (header::CONTENT_ENCODING, "gzip")], Body::from(file.gzip))
            .into_response();
    }
    let mut plain = Vec::new();
    match GzDecoder::new(file.gzip).read_to_end(&mut plain) {
        Ok(_) => ([kind, vary], plain).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn takes_gzip(accepted: &str) -> bool {
    accepted.split(',').any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        matches!(name.trim(), "gzip" | "*") && quality.replace(' ', "") != "q=0"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coding_that_is_refused_is_not_sent() {
        for (accepted, taken) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, gzip;q=0.5", true),
            ("*", true),
            ("identity", false),
            ("gzip; q=0", false),
            ("", false),
        ] {
            assert_eq!(takes_gzip(accepted), taken, "{accepted}");
        }
    }

    #[test]
    fn files_are_found_by_their_whole_name() {
        assert!(found(FILES, "../Cargo.toml").is_none() && found(FILES, "").is_none());
        // Without Node there is no page, and both are right.
        assert_eq!(found(FILES, "index.html").is_some(), !FILES.is_empty());
    }

    #[tokio::test]
    async fn a_program_without_its_page_says_how_to_get_it() {
        let answer = index(&[], &HeaderMap::new());
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()[header::CONTENT_SECURITY_POLICY], POLICY);
        let body = axum::body::to_bytes(answer.into_body(), 64 * 1024).await.unwrap();
        let text = String::from_utf8_lossy(&body);
        assert!(text.contains("<code>cargo xtask web</code>"), "{text}");
        assert!(text.contains("Node 20.19 or newer"), "{text}");
        let missing = asset(&[], "assets/index.js", &HeaderMap::new());
        assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn the_policy_allows_nothing_inline_and_nothing_from_elsewhere() {
        assert!(!POLICY.contains("unsafe") && !POLICY.contains("http"));
    }
}
