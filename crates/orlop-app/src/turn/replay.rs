//! The events of one request: those that are stored, then those that happen, to its end.

use super::Taken;
use crate::application::Application;
use crate::feed::Feed;
use crate::scope::check_id;
use crate::store::EventQuery;
use futures::stream::{BoxStream, StreamExt};
use orlop_core::types::app_event::{Event, EventKind};
use orlop_core::{Error, Result};
use std::sync::Arc;
use std::time::Duration;

/// How the feed of a running turn is read.
type ReadFeed = fn(&Arc<Feed>, u64) -> BoxStream<'static, Arc<Event>>;

impl Application {
    /// Events of a request with a number above `after`: those that happened, then those that
    /// happen, to the end of the request.
    pub async fn request_events(
        &self,
        request_id: &str,
        after: u64,
    ) -> Result<BoxStream<'static, Arc<Event>>> {
        self.replayed(request_id, after, Feed::read).await
    }

    /// The same events for somebody who has to keep up with them: where they fall far behind, the
    /// events end before the request does, and they come back with the number of the last one.
    pub async fn request_events_closely(
        &self,
        request_id: &str,
        after: u64,
    ) -> Result<BoxStream<'static, Arc<Event>>> {
        self.replayed(request_id, after, Feed::read_closely).await
    }

    async fn replayed(
        &self,
        request_id: &str,
        after: u64,
        read: ReadFeed,
    ) -> Result<BoxStream<'static, Arc<Event>>> {
        check_id("request", request_id)?;
        let taken = self.shared.taken.get(&self.scope, request_id);
        let feed = self.shared.hub.feed(&self.scope, request_id);
        if let Some(feed) = feed {
            return Ok(until_end(self.stored_then_fed(request_id, after, &feed, read).await?));
        }
        match (self.shared.store.turn(&self.scope, request_id).await?, taken) {
            (Some(turn), _) => {
                Ok(until_end(self.stored_then_polled(request_id, after, turn.settled).await?))
            }
            (None, Some(taken)) => Ok(self.once_begun(&taken, request_id, after, read)),
            (None, None) => Err(Error::not_found(format!("there is no request \"{request_id}\""))),
        }
    }

    /// The events of a request that has not begun, once it has. If it does not, that is told in
    /// place of them.
    fn once_begun(
        &self,
        taken: &Taken,
        request_id: &str,
        after: u64,
        read: ReadFeed,
    ) -> BoxStream<'static, Arc<Event>> {
        let app = Self { flow: None, tracer: None, ..self.clone() };
        let (request_id, session_id) = (request_id.to_owned(), taken.session().to_owned());
        let begun = taken.begun();
        let events = async move {
            let failed = begun.await;
            if let Ok(events) = Box::pin(app.replayed(&request_id, after, read)).await {
                return events;
            }
            let Some(error) = failed else { return futures::stream::empty().boxed() };
            let kind = match error.is_cancelled() {
                true => EventKind::RequestCancelled { reason: error.message().to_owned() },
                false => EventKind::RequestFailed { error: error.to_json() },
            };
            let (session_id, request_id) = (Some(session_id), Some(request_id));
            let (seq, at) = (app.unstored_number().await, crate::time::now());
            let event = Event { seq, at, session_id, request_id, kind };
            futures::stream::iter([Arc::new(event)]).boxed()
        };
        futures::stream::once(events).flatten().boxed()
    }

    async fn stored_then_fed(
        &self,
        request_id: &str,
        after: u64,
        feed: &Arc<Feed>,
        read: ReadFeed,
    ) -> Result<BoxStream<'static, Arc<Event>>> {
        let query = of_request(request_id, after);
        let mut stored = self.shared.store.events(&self.scope, &query).await?;
        // A feed has everything since the turn began in this process, fragments included.
        if let Some(first) = feed.first() {
            stored.retain(|event| event.seq < first);
        }
        let last = stored.last().map_or(after, |event| event.seq);
        let stored = futures::stream::iter(stored.into_iter().map(Arc::new));
        Ok(stored.chain(read(feed, last)).boxed())
    }

    async fn stored_then_polled(
        &self,
        request_id: &str,
        after: u64,
        settled: bool,
    ) -> Result<BoxStream<'static, Arc<Event>>> {
        let query = of_request(request_id, after);
        let stored = self.shared.store.events(&self.scope, &query).await?;
        let ended = stored.last().map_or(settled, |event| event.kind.ends_request());
        let last = match stored.last() {
            Some(event) => event.seq,
            None if settled => after,
            None => self.newest_event(&query).await?.min(after),
        };
        let stored = futures::stream::iter(stored.into_iter().map(Arc::new));
        Ok(match ended {
            true => stored.boxed(),
            false => stored.chain(self.polled(request_id, last)).boxed(),
        })
    }

    /// Events of a turn that runs in another process, by asking the store again and again until
    /// the turn is over and everything has been told.
    fn polled(&self, request_id: &str, after: u64) -> BoxStream<'static, Arc<Event>> {
        const PAUSE: Duration = Duration::from_millis(250);
        let (store, scope) = (self.shared.store.clone(), self.scope.clone());
        let query = of_request(request_id, after);
        let batches = futures::stream::unfold(query, move |mut query| {
            let (store, scope) = (store.clone(), scope.clone());
            async move {
                let request = query.request.clone().unwrap_or_default();
                loop {
                    let over = match store.turn(&scope, &request).await {
                        Ok(turn) => turn.is_none_or(|turn| turn.settled),
                        Err(_) => false,
                    };
                    match store.events(&scope, &query).await {
                        Ok(events) if events.is_empty() && over => return None,
                        Ok(events) if events.is_empty() => tokio::time::sleep(PAUSE).await,
                        Ok(events) => {
                            query.after = events.last().map_or(query.after, |event| event.seq);
                            return Some((events, query));
                        }
                        Err(error) => {
                            tracing::warn!(target: "orlop::app", %error, "events could not be read");
                            return None;
                        }
                    }
                }
            }
        });
        batches.flat_map(|events| futures::stream::iter(events.into_iter().map(Arc::new))).boxed()
    }
}

fn of_request(request_id: &str, after: u64) -> EventQuery {
    EventQuery { request: Some(request_id.to_owned()), after, ..EventQuery::default() }
}

/// Ends a stream of events after the one that ends the request.
pub(super) fn until_end(events: BoxStream<'static, Arc<Event>>) -> BoxStream<'static, Arc<Event>> {
    futures::stream::unfold(Some(events), |events| async move {
        let mut events = events?;
        let event = events.next().await?;
        let rest = (!event.kind.ends_request()).then_some(events);
        Some((event, rest))
    })
    .boxed()
}
