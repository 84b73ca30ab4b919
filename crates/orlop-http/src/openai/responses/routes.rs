//! The routes of responses.

use super::begin::{Begun, begin};
use super::input::listed;
use super::request::CreateResponse;
use super::resource::{Ended, id_of};
use super::stored::{self, Stored};
use super::stream::Stream;
use crate::extract::{Path, Query};
use crate::openai::conversations::Page;
use crate::openai::error::Answer;
use crate::openai::shape::{Deleted, ItemList, Response, Shown};
use crate::openai::turns::{self, Abandoned, Caller, Json, Reader, event_stream, finish};
use crate::route::Routes;
use futures::stream::StreamExt;
use orlop_app::Application;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .post("/responses", "One request; the server keeps the conversation.", create)
        .get("/responses/{id}", "A stored response, or its events.", retrieve)
        .delete("/responses/{id}", "Makes a response unknown.", delete)
        .post("/responses/{id}/cancel", "Ends a response.", cancel)
        .get("/responses/{id}/input_items", "What was sent.", input_items)
}

async fn create(caller: Caller, Json(body): Json<CreateResponse>) -> Answer<Shown<Response>> {
    let mut caller = caller.asking_response(&body.asked());
    let mut wanted = body.checked()?;
    let slot = wanted.stream.then(|| caller.take_stream()).transpose()?;
    let Begun { turn, response, hold, is_over, known } = begin(&mut caller, &mut wanted).await?;
    let request = caller.request();
    if let Some(slot) = slot {
        let stream = Stream::new(request, response, hold).knowing(known);
        return event_stream(&caller, turn, stream, slot).map(Shown::of);
    }
    if wanted.background && !is_over {
        return Ok(Shown::json(response.running()));
    }
    let done = finish(&caller, turn).await?;
    let (messages, calls) = (&*done.messages, &*done.calls);
    let ended = Ended { at: done.at, messages, calls, usage: done.usage.as_ref() };
    Ok(Shown::json(response.completed(&ended, ended.output(request))))
}

/// How a stored response is wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct How {
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    starting_after: Option<u64>,
}

async fn retrieve(
    Reader(caller): Reader,
    Path(id): Path<String>,
    Query(how): Query<How>,
) -> Answer<Shown<Response>> {
    let app = caller.app();
    let stored = stored::find(&app, &id, None).await?;
    if how.stream != Some(true) {
        return Ok(Shown::json(stored.json(&app).await?));
    }
    let slot = caller.take_stream()?;
    // What is whole by now is not told piece by piece any more, and has to be read after that.
    let events = app.request_events_closely(&stored.request, 0).await?;
    let known = stored.messages(&app).await?;
    let hold = stored.is_judged(&app);
    let stream = Stream::new(&stored.request, stored.response, hold)
        .knowing(known)
        .after(how.starting_after);
    let abandoned = Abandoned::unless_stored(&app, &stored.request, true);
    let begun = turns::Begun { events, abandoned, is_handled: false, said: None };
    event_stream(&caller, begun, stream, slot).map(Shown::of)
}

async fn cancel(caller: Caller, Path(id): Path<String>) -> Answer<Shown<Response>> {
    let app = &caller.app();
    let stored = stored::find(app, &id, None).await?;
    if stored.record.settled {
        return Ok(Shown::json(stored.json(app).await?));
    }
    stop(app, &stored).await?;
    Ok(Shown::json(stored::find(app, &id, None).await?.json(app).await?))
}

/// Cancels a response and waits until it is over.
async fn stop(app: &Application, stored: &Stored) -> Answer<()> {
    let mut events = app.request_events(&stored.request, 0).await?;
    app.cancel_request(&stored.request, "the client cancelled the response").await?;
    while events.next().await.is_some() {}
    Ok(())
}

async fn delete(caller: Caller, Path(id): Path<String>) -> Answer<Shown<Deleted>> {
    let app = &caller.app();
    let stored = stored::find(app, &id, None).await?;
    if !stored.record.settled {
        stop(app, &stored).await?;
    }
    stored::delete(app, &stored).await?;
    let id = id_of(&stored.request);
    Ok(Shown::json(json!({ "id": id, "object": "response", "deleted": true })))
}

async fn input_items(
    Reader(caller): Reader,
    Path(id): Path<String>,
    Query(page): Query<Page>,
) -> Answer<Shown<ItemList>> {
    let app = caller.app();
    let stored = stored::find(&app, &id, None).await?;
    let items = listed(&stored.request, 0, &stored.input(&app).await?);
    Ok(Shown::json(page.of(items, false)?))
}
