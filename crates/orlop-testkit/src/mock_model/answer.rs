//! Answers one request with the reply that the script has for it.

use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::render::{Frame, as_document, as_events};
use super::reply::{Content, Reply, error_object};
use super::request::RecordedRequest;
use super::server::Shared;
use crate::local_server::Stopping;
use crate::playback::{Presence, Step, play};

pub(super) async fn answer(
    State((shared, mut stopping)): State<(Arc<Shared>, Stopping)>,
    request: Request,
) -> Response {
    let mut presence = Presence::new(shared.disconnects.clone());
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        // The client left while sending; nobody reads this.
        return StatusCode::BAD_REQUEST.into_response();
    };
    let request = RecordedRequest::new(&head, body);
    let (reply, number) = shared.receive(&request);

    if let Some(gate) = &reply.hold {
        tokio::select! {
            () = gate.pass() => {}
            () = stopping.wait() => {
                presence.reply_is_complete();
                return StatusCode::SERVICE_UNAVAILABLE.into_response();
            }
        }
    }

    let body = BodySteps::new(&reply.content, &request, number);
    match head_of(&reply, &body) {
        Ok((status, headers)) => {
            (status, headers, play(body.steps, stopping, presence)).into_response()
        }
        Err(mistake) => {
            // The test sees what is wrong with its script instead of a closed connection.
            presence.reply_is_complete();
            let error = json!({"error": error_object(&mistake)}).to_string();
            (StatusCode::INTERNAL_SERVER_ERROR, error).into_response()
        }
    }
}

struct BodySteps {
    steps: Vec<Step>,
    content_type: &'static str,
    length: Option<usize>,
}

impl BodySteps {
    fn new(content: &Content, request: &RecordedRequest, number: usize) -> Self {
        match content {
            Content::Completion(completion) => {
                let frame = Frame::new(request, number);
                if request.wants_stream() {
                    return Self::events(as_events(completion, &frame));
                }
                let (steps, length) = as_document(completion, &frame);
                Self::json(steps, length)
            }
            Content::Script(script) => Self::events(script.steps.clone()),
            Content::Fixed(fixed) if fixed.body.is_empty() => Self::json(Vec::new(), 0),
            Content::Fixed(fixed) => {
                Self::json(vec![Step::Write(fixed.body.clone())], fixed.body.len())
            }
        }
    }

    fn events(steps: Vec<Step>) -> Self {
        Self { steps, content_type: "text/event-stream; charset=utf-8", length: None }
    }

    fn json(steps: Vec<Step>, length: usize) -> Self {
        Self { steps, content_type: "application/json", length: Some(length) }
    }
}

fn head_of(reply: &Reply, body: &BodySteps) -> Result<(StatusCode, HeaderMap), String> {
    let status = StatusCode::from_u16(reply.status)
        .map_err(|_| format!("the scripted status {} is not valid", reply.status))?;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(body.content_type));
    headers.extend(body.length.map(|length| (CONTENT_LENGTH, HeaderValue::from(length))));
    for (name, value) in &reply.headers {
        let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>())
        else {
            return Err(format!("the scripted header {name:?}: {value:?} is not valid"));
        };
        if name == CONTENT_TYPE || name == CONTENT_LENGTH {
            headers.insert(name, value);
        } else {
            // Any other header may stand more than once.
            headers.append(name, value);
        }
    }
    Ok((status, headers))
}
