//! Answers one request with the reply that the script has for it.

use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use super::api::{Api, Frame, Speech, pauses};
use super::reply::{Completion, Content, Ending, Reply};
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

    let body = BodySteps::new(&reply, &request, number);
    match head_of(&reply, &body) {
        Ok((status, headers)) => {
            (status, headers, play(body.steps, stopping, presence)).into_response()
        }
        Err(mistake) => {
            // The test sees what is wrong with its script instead of a closed connection.
            presence.reply_is_complete();
            let error = Api::Chat.speech().error(500, &mistake).to_string();
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
    fn new(reply: &Reply, request: &RecordedRequest, number: usize) -> Self {
        let speech = Api::of(request).map_or(Api::Chat, |(api, _)| api).speech();
        match &reply.content {
            Content::Completion(completion) => {
                let frame = Frame::new(request, number);
                if request.wants_stream() {
                    return Self::stream(speech.stream(completion, &frame), speech);
                }
                document(completion, Bytes::from(speech.document(completion, &frame).to_string()))
            }
            Content::Script(script) => Self::stream(script.steps.clone(), speech),
            Content::Fixed(fixed) => {
                let mock_error = || speech.error(reply.status, &fixed.message).to_string().into();
                let body = fixed.body.clone().unwrap_or_else(mock_error);
                let length = body.len();
                let steps = if length == 0 { Vec::new() } else { vec![Step::Write(body)] };
                Self::json(steps, length)
            }
        }
    }

    fn stream(steps: Vec<Step>, speech: &dyn Speech) -> Self {
        Self { steps, content_type: speech.stream_type(), length: None }
    }

    fn json(steps: Vec<Step>, length: usize) -> Self {
        Self { steps, content_type: "application/json", length: Some(length) }
    }
}

/// The pauses come first: nothing can be sent before all of it is known.
fn document(completion: &Completion, document: Bytes) -> BodySteps {
    let length = document.len();
    let mut steps = pauses(completion);
    if matches!(completion.ending, Ending::Cut) {
        steps.extend([Step::Write(document.slice(..length / 2)), Step::Cut]);
    } else {
        steps.push(Step::Write(document));
    }
    BodySteps::json(steps, length)
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
