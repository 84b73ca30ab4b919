//! A local server that answers from a cassette.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::sync::watch;

use super::difference::{Difference, Received, differences};
use super::{Cassette, Exchange};
use crate::error::TestkitError;
use crate::local_server::{LocalServer, Stopping};
use crate::playback::{Presence, Step, play};
use crate::sync::lock;

/// Serves the exchanges of a cassette, each once. It stops when it is dropped.
///
/// A request gets the first exchange not used yet with its method, path and JSON body. If there
/// is none, the answer is 404 and tells the nearest difference.
#[derive(Debug)]
pub struct Replayer {
    server: LocalServer,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    lenient: bool,
    state: Mutex<ReplayState>,
    disconnects: watch::Sender<usize>,
}

#[derive(Debug)]
struct ReplayState {
    exchanges: Vec<Exchange>,
    used: Vec<bool>,
    mismatches: Vec<String>,
    piece_size: Option<usize>,
}

impl Replayer {
    /// Serves `cassette` to the requests that match it.
    pub async fn start(cassette: Cassette) -> Result<Self, TestkitError> {
        Self::start_as(cassette, false).await
    }

    /// Like [`Replayer::start`], but a request that matches nothing gets the next exchange in the
    /// recorded order.
    pub async fn start_lenient(cassette: Cassette) -> Result<Self, TestkitError> {
        Self::start_as(cassette, true).await
    }

    async fn start_as(cassette: Cassette, lenient: bool) -> Result<Self, TestkitError> {
        let used = vec![false; cassette.exchanges.len()];
        let shared = Arc::new(Shared {
            lenient,
            state: Mutex::new(ReplayState {
                exchanges: cassette.exchanges,
                used,
                mismatches: Vec::new(),
                piece_size: None,
            }),
            disconnects: watch::Sender::default(),
        });
        let server = LocalServer::start(|stopping| {
            Router::new().fallback(answer).with_state((shared.clone(), stopping))
        })
        .await?;
        Ok(Self { server, shared })
    }

    /// The address of `path` on this server. Recorded paths are complete, so a client whose base
    /// address ended in `/v1` gets `replayer.url("/v1")`.
    pub fn url(&self, path: &str) -> String {
        self.server.origin() + path
    }

    /// Sends bodies in pieces of this many bytes, to cut events and characters apart.
    pub fn in_pieces_of(&self, bytes: usize) -> &Self {
        lock(&self.shared.state).piece_size = Some(bytes.max(1));
        self
    }

    /// How many exchanges no request has got yet.
    pub fn unused(&self) -> usize {
        lock(&self.shared.state).used.iter().filter(|used| !**used).count()
    }

    /// How many clients left before their answer was complete.
    pub fn disconnects(&self) -> usize {
        *self.shared.disconnects.borrow()
    }

    /// What was said to the requests that matched nothing.
    pub fn mismatches(&self) -> Vec<String> {
        lock(&self.shared.state).mismatches.clone()
    }
}

async fn answer(
    State((shared, stopping)): State<(Arc<Shared>, Stopping)>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        // The client left while sending; nobody reads this.
        return StatusCode::BAD_REQUEST.into_response();
    };
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let received = Received::new(head.method, path, &body);

    let (exchange, piece_size) = {
        let mut state = lock(&shared.state);
        (state.take(&received, shared.lenient), state.piece_size)
    };
    match exchange {
        Ok(exchange) => {
            let steps = steps(&exchange, piece_size);
            let presence = Presence::new(shared.disconnects.clone());
            let (status, headers) = head_of(&exchange);
            (status, headers, play(steps, stopping, presence)).into_response()
        }
        Err(mismatch) => {
            let error = json!({"error": {"message": mismatch, "type": "cassette_mismatch"}});
            let json_type = [(CONTENT_TYPE, "application/json")];
            (StatusCode::NOT_FOUND, json_type, error.to_string()).into_response()
        }
    }
}

impl ReplayState {
    fn take(&mut self, received: &Received, lenient: bool) -> Result<Exchange, String> {
        let mut nearest: Option<(usize, Vec<Difference>)> = None;
        let mut first_unused = None;
        let unused = (0..self.exchanges.len()).filter(|place| !self.used[*place]);
        for place in unused {
            first_unused = first_unused.or(Some(place));
            let found = differences(&self.exchanges[place].request, received);
            if found.is_empty() {
                self.used[place] = true;
                return Ok(self.exchanges[place].clone());
            }
            if nearest.as_ref().is_none_or(|(_, least)| weight(&found) < weight(least)) {
                nearest = Some((place, found));
            }
        }
        if let Some(place) = first_unused.filter(|_| lenient) {
            self.used[place] = true;
            return Ok(self.exchanges[place].clone());
        }
        let mismatch = explain(received, nearest, self.exchanges.len());
        self.mismatches.push(mismatch.clone());
        Err(mismatch)
    }
}

fn weight(differences: &[Difference]) -> usize {
    differences.iter().map(Difference::weight).sum()
}

fn explain(received: &Received, nearest: Option<(usize, Vec<Difference>)>, count: usize) -> String {
    const MOST: usize = 5;

    let name = received.name();
    let Some((place, differences)) = nearest else {
        return format!("no exchange is left for {name}: all {count} are used");
    };
    let mut lines: Vec<String> = differences.iter().take(MOST).map(Difference::describe).collect();
    if differences.len() > MOST {
        lines.push(format!("and {} more", differences.len() - MOST));
    }
    let lines = lines.join("; ");
    format!("no unused exchange matches {name}; the nearest is number {}: {lines}", place + 1)
}

fn head_of(exchange: &Exchange) -> (StatusCode, HeaderMap) {
    let response = &exchange.response;
    let mut headers = HeaderMap::new();
    for (name, value) in &response.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
            headers.insert(name, value);
        }
    }
    if let Ok(content_type) = content_type(exchange).parse() {
        headers.insert(CONTENT_TYPE, content_type);
    }
    if !exchange.stream && !response.cut {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(response.body.len()));
    }
    (StatusCode::from_u16(response.status).unwrap_or(StatusCode::BAD_GATEWAY), headers)
}

/// The recorded content type. Some recordings lost theirs or masked it; then it is what fits.
fn content_type(exchange: &Exchange) -> &str {
    match exchange.response.content_type.as_deref() {
        Some(recorded) if recorded.contains('/') => recorded,
        _ if exchange.stream => "text/event-stream",
        _ => "application/json",
    }
}

fn steps(exchange: &Exchange, piece_size: Option<usize>) -> Vec<Step> {
    let body = &exchange.response.body;
    let size = piece_size.unwrap_or(body.len()).max(1);
    let pieces = (0..body.len()).step_by(size);
    let mut steps: Vec<Step> =
        pieces.map(|start| Step::Write(body.slice(start..body.len().min(start + size)))).collect();
    if exchange.response.cut {
        steps.push(Step::Cut);
    }
    steps
}
