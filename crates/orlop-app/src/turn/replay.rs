//! The events of one request: those that are stored, then those that happen, to its end.

use crate::application::Application;
use crate::feed::Feed;
use crate::scope::check_id;
use crate::store::EventQuery;
use futures::stream::{BoxStream, StreamExt};
use orlop_core::types::app_event::Event;
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
        let feed = self.shared.hub.feed(&self.scope, request_id);
        if feed.is_none() && self.shared.store.turn(&self.scope, request_id).await?.is_none() {
            return Err(Error::not_found(format!("there is no request \"{request_id}\"")));
        }
        Ok(until_end(self.stored_then(request_id, after, feed, read).await?))
    }

    async fn stored_then(
        &self,
        request_id: &str,
        after: u64,
        feed: Option<Arc<Feed>>,
        read: ReadFeed,
    ) -> Result<BoxStream<'static, Arc<Event>>> {
        let query =
            EventQuery { request: Some(request_id.to_owned()), after, ..EventQuery::default() };
        let mut stored = self.shared.store.events(&self.scope, &query).await?;
        let ended = stored.last().is_some_and(|event| event.kind.ends_request());
        // A feed has everything since the turn began in this process, fragments included.
        if let Some(first) = feed.as_ref().and_then(|feed| feed.first()) {
            stored.retain(|event| event.seq < first);
        }
        let last = stored.last().map_or(after, |event| event.seq);
        let stored = futures::stream::iter(stored.into_iter().map(Arc::new));
        Ok(match feed {
            Some(feed) => stored.chain(read(&feed, last)).boxed(),
            None if ended => stored.boxed(),
            None => stored.chain(self.polled(request_id, last)).boxed(),
        })
    }

    /// Events of a turn that runs in another process, by asking the store again and again until
    /// the turn is over and everything has been told.
    fn polled(&self, request_id: &str, after: u64) -> BoxStream<'static, Arc<Event>> {
        const PAUSE: Duration = Duration::from_millis(250);
        let (store, scope) = (self.shared.store.clone(), self.scope.clone());
        let query =
            EventQuery { request: Some(request_id.to_owned()), after, ..EventQuery::default() };
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
