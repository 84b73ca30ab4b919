//! What handlers take from a request and give back, with problems in place of framework texts.

use crate::problem::Problem;
use crate::route::{Input, Operation, Output};
use crate::server::Server;
use crate::unique_keys;
use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use orlop_core::Error;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A JSON body, in and out.
pub(crate) struct Json<T>(pub(crate) T);

/// A JSON body that may be left out.
pub(crate) struct OptionalJson<T>(pub(crate) T);

/// The text of a JSON body, for what is read elsewhere.
pub(crate) struct JsonText(pub(crate) String);

/// What was made.
pub(crate) struct Created<T>(pub(crate) T);

/// Done, and there is nothing to say.
pub(crate) struct Nothing;

/// Parameters of the query.
pub(crate) struct Query<T>(pub(crate) T);

/// Parameters of the path.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Server> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, server: &Server) -> Result<Self, Problem> {
        check_json(request.headers())?;
        Ok(Self(parsed(&body_of(request, server).await?)?))
    }
}

impl<T: DeserializeOwned + Default> FromRequest<Server> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, server: &Server) -> Result<Self, Problem> {
        let is_json = check_json(request.headers());
        let body = body_of(request, server).await?;
        match body.is_empty() {
            true => Ok(Self(T::default())),
            false => {
                is_json?;
                Ok(Self(parsed(&body)?))
            }
        }
    }
}

impl FromRequest<Server> for JsonText {
    type Rejection = Problem;

    async fn from_request(request: Request, server: &Server) -> Result<Self, Problem> {
        check_json(request.headers())?;
        let body = body_of(request, server).await?;
        Ok(Self(object_text(&body)?.to_owned()))
    }
}

/// The whole body, if it is not too large and comes in time.
pub(crate) async fn body_of(request: Request, server: &Server) -> Result<Bytes, Problem> {
    let limits = server.limits();
    let (most, time) = (limits.body_bytes, limits.client_timeout);
    let too_large = || {
        Problem::too_large(format!(
            "the body is larger than {most} bytes; send less, or attach it as a file"
        ))
    };
    let said = request.headers().get(header::CONTENT_LENGTH);
    let said = said.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if said.is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    let body: Limited<Body> = Limited::new(request.into_body(), most);
    let collected = tokio::time::timeout(time, body.collect()).await.map_err(|_| slow(time))?;
    match collected {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(Error::bad_argument("the body broke off; send the request again").into()),
    }
}

/// A client that takes too long to send what it has begun.
pub(crate) fn slow(time: std::time::Duration) -> Problem {
    Problem::new(
        StatusCode::REQUEST_TIMEOUT,
        "timeout",
        format!("the body did not come within {} seconds; send it again", time.as_secs()),
    )
}

fn check_json(headers: &HeaderMap) -> Result<(), Problem> {
    let essence = media_type(headers);
    let is_json = essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"));
    if is_json { Ok(()) } else { Err(not_json()) }
}

/// Refuses what a form of any page can send without being asked: browsers let these types through to
/// other origins. All other types, and none, are taken.
pub(crate) fn refuse_forms(headers: &HeaderMap) -> Result<(), Problem> {
    let of_forms = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
    if of_forms.contains(&media_type(headers).as_str()) { Err(not_json()) } else { Ok(()) }
}

fn media_type(headers: &HeaderMap) -> String {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = given.unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

fn not_json() -> Problem {
    Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "the body has to be JSON; send it with `Content-Type: application/json`",
    )
}

/// What a body says, which has to be an object.
pub(crate) fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    serde_json::from_str(object_text(body)?).map_err(unfit)
}

/// The text of a body that is an object, in which no key is there twice.
fn object_text(body: &[u8]) -> Result<&str, Error> {
    // What nobody looks at has to be text as well.
    let Ok(body) = std::str::from_utf8(body) else {
        return Err(Error::bad_argument("the body is not UTF-8; send JSON as UTF-8"));
    };
    // A list would be read as the fields of an object in their order, which nobody knows.
    if body.trim_start().starts_with('[') {
        return Err(Error::wrong_type("the body is a list; send an object"));
    }
    unique_keys::check(body).map_err(unfit)?;
    Ok(body)
}

fn unfit(error: serde_json::Error) -> Error {
    match error.classify() {
        serde_json::error::Category::Data => {
            Error::wrong_type(format!("the body does not fit: {error}; correct it"))
        }
        _ => Error::bad_argument(format!("the body is no JSON: {error}; correct it")),
    }
}

impl<T: DeserializeOwned> FromRequestParts<Server> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<Self, Problem> {
        match axum::extract::Query::<T>::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(error) => Err(Error::bad_argument(format!(
                "the query does not fit: {}; correct it",
                error.body_text()
            ))
            .into()),
        }
    }
}

impl<T: DeserializeOwned + Send> FromRequestParts<Server> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, Problem> {
        match axum::extract::Path::<T>::from_request_parts(parts, server).await {
            Ok(axum::extract::Path(path)) => Ok(Self(path)),
            Err(error) => Err(Error::bad_argument(format!(
                "the path does not fit: {}; correct it",
                error.body_text()
            ))
            .into()),
        }
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Err(error) => {
                let message = format!("the answer does not serialise: {error}");
                Problem::from(Error::internal(message)).into_response()
            }
        }
    }
}

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.0).into_response();
        if response.status().is_success() {
            *response.status_mut() = StatusCode::CREATED;
        }
        response
    }
}

impl IntoResponse for Nothing {
    fn into_response(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

impl<T: JsonSchema> Input for Json<T> {
    fn describe(operation: &mut Operation<'_>) {
        let schema = operation.schema::<T>();
        operation.takes("application/json", schema, true);
    }
}

impl<T: JsonSchema> Input for OptionalJson<T> {
    fn describe(operation: &mut Operation<'_>) {
        let schema = operation.schema::<T>();
        operation.takes("application/json", schema, false);
    }
}

impl Input for JsonText {
    fn describe(operation: &mut Operation<'_>) {
        let schema = operation.schema::<orlop_types::SessionJson>();
        operation.takes("application/json", schema, true);
    }
}

impl<T: JsonSchema> Input for Query<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.asks::<T>("query");
    }
}

// The route itself says which parameters its path has.
impl<T> Input for Path<T> {}

impl<T: JsonSchema> Output for Json<T> {
    fn describe(operation: &mut Operation<'_>) {
        let schema = operation.schema::<T>();
        operation.answers("200", "application/json", schema);
    }
}

impl<T: JsonSchema> Output for Created<T> {
    fn describe(operation: &mut Operation<'_>) {
        let schema = operation.schema::<T>();
        operation.answers("201", "application/json", schema);
    }
}

impl Output for Nothing {
    fn describe(operation: &mut Operation<'_>) {
        operation.answers_nothing("204");
    }
}
