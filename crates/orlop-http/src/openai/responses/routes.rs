//! The routes of responses.

use super::begin::{Begun, begin};
use super::input::listed;
use super::request::CreateResponse;
use super::resource::{Ended, id_of, output_of};
use super::stored::{self, Stored};
use super::stream::Stream;
use crate::openai::conversations::Page;
use crate::openai::error::{Answer, Failure};
use crate::openai::turns::{Abandoned, Caller, Json, Reader, event_stream, finish, seconds_now};
use crate::server::Server;
use axum::Router;
use axum::extract::{Path, Query};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use futures::stream::StreamExt;
use orlop_app::Application;
use serde::Deserialize;
use serde_json::json;

pub(crate) fn routes() -> Router<Server> {
    Router::new()
        .route("/v1/responses", post(create))
        .route("/v1/responses/{id}", get(retrieve).delete(delete))
        .route("/v1/responses/{id}/cancel", post(cancel))
        .route("/v1/responses/{id}/input_items", get(input_items))
}

async fn create(caller: Caller, Json(body): Json<CreateResponse>) -> Answer {
    let mut wanted = body.checked()?;
    let Begun { events, response, hold } = begin(&caller, &mut wanted).await?;
    let request = caller.request();
    let abandoned = Abandoned::unless_stored(&caller.app(), request, wanted.store);
    if wanted.stream {
        let stream = Stream::new(request, response, hold);
        return event_stream(&caller, events, stream, abandoned);
    }
    if wanted.background {
        return Ok(axum::Json(response.running()).into_response());
    }
    let done = finish(events).await;
    abandoned.forget();
    let done = done?;
    let (messages, calls) = (&*done.messages, &*done.calls);
    let ended = Ended { at: seconds_now(), messages, calls, usage: done.usage.as_ref() };
    let output = output_of(request, &ended.items());
    Ok(axum::Json(response.completed(&ended, output)).into_response())
}

/// How a stored response is wanted.
#[derive(Debug, Default, Deserialize)]
struct How {
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    starting_after: Option<u64>,
}

async fn retrieve(
    Reader(caller): Reader,
    Path(id): Path<String>,
    how: Result<Query<How>, axum::extract::rejection::QueryRejection>,
) -> Answer {
    let Query(how) = how.map_err(|error| Failure::bad("starting_after", error.body_text()))?;
    let app = caller.app();
    let stored = stored::find(&app, &id, None).await?;
    if how.stream != Some(true) {
        return Ok(axum::Json(stored.json()).into_response());
    }
    let known = stored.messages(&app).await?;
    let events = app.request_events_closely(&stored.request, 0).await?;
    let hold = stored.is_judged(&app);
    let stream = Stream::new(&stored.request, stored.response, hold)
        .knowing(known)
        .after(how.starting_after);
    let abandoned = Abandoned::unless_stored(&app, &stored.request, true);
    event_stream(&caller, events, stream, abandoned)
}

async fn cancel(caller: Caller, Path(id): Path<String>) -> Answer {
    let app = &caller.app();
    let stored = stored::find(app, &id, None).await?;
    if stored.record.settled {
        return Ok(axum::Json(stored.json()).into_response());
    }
    stop(app, &stored).await?;
    Ok(axum::Json(stored::find(app, &id, None).await?.json()).into_response())
}

/// Cancels a response and waits until it is over.
async fn stop(app: &Application, stored: &Stored) -> Answer<()> {
    let mut events = app.request_events(&stored.request, 0).await?;
    app.cancel_request(&stored.request, "the client cancelled the response").await?;
    while events.next().await.is_some() {}
    Ok(())
}

async fn delete(caller: Caller, Path(id): Path<String>) -> Answer {
    let app = &caller.app();
    let stored = stored::find(app, &id, None).await?;
    if !stored.record.settled {
        stop(app, &stored).await?;
    }
    stored::delete(app, &stored).await?;
    let id = id_of(&stored.request);
    Ok(axum::Json(json!({ "id": id, "object": "response", "deleted": true })).into_response())
}

async fn input_items(
    Reader(caller): Reader,
    Path(id): Path<String>,
    page: Result<Query<Page>, axum::extract::rejection::QueryRejection>,
) -> Answer {
    let Query(page) = page.map_err(|error| Failure::bad("limit", error.body_text()))?;
    let app = caller.app();
    let stored = stored::find(&app, &id, None).await?;
    let items = listed(&stored.request, 0, &stored.input(&app).await?);
    Ok(axum::Json(page.of(items, false)?).into_response())
}
