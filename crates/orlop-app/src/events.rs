//! Application events: publishing them, and following them across restarts.

use crate::application::Application;
use crate::scope::check_id;
use crate::store::{EventQuery, NewEvent};
use crate::time::now;
use futures::stream::{BoxStream, StreamExt};
use orlop_core::types::app_event::{Event, EventKind};
use orlop_core::{Error, Map, Result, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The number of an event that could not be given one.
const UNNUMBERED: u64 = 0;

/// Which events to follow.
#[derive(Debug, Clone, Default)]
pub struct Follow {
    /// Only those of this session.
    pub session_id: Option<String>,
    /// Those after this number; `None` only what happens from now on.
    pub after: Option<u64>,
}

impl Application {
    /// Publishes an event: a mapping with a `type`, and usually a `session_id`. `plugin` names who
    /// publishes it.
    pub async fn publish_event(&self, plugin: &str, mut event: Map) -> Result<Arc<Event>> {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind.is_empty() {
            return Err(Error::bad_argument("an event needs a \"type\", a non-empty string"));
        }
        if EventKind::TYPES.contains(&kind) {
            return Err(Error::bad_argument(format!(
                "events of type \"{kind}\" are published by the application itself; choose another name"
            )));
        }
        let session = match event.shift_remove("session_id") {
            Some(Value::String(session)) => Some(session),
            _ => None,
        };
        for owned in ["seq", "at", "request_id"] {
            event.shift_remove(owned);
        }
        event.insert("plugin".to_owned(), plugin.into());
        let new = NewEvent { session, request: None, at: now(), kind: EventKind::Other(event) };
        let numbers = self.shared.store.publish(&self.scope, vec![new.clone()], 0).await?;
        let told = self.tell(vec![new], numbers.first);
        told.into_iter().next().ok_or_else(|| Error::internal("the event was lost"))
    }

    /// A number of its own for an event that is not stored: whoever counts on by it misses nothing,
    /// and gets nothing twice. What it tells of is so, and told without one if need be.
    pub(crate) async fn unstored_number(&self) -> u64 {
        match self.shared.store.publish(&self.scope, Vec::new(), 1).await {
            Ok(numbers) => numbers.reserved.start,
            Err(error) => {
                tracing::warn!(target: "orlop::app", %error, "an event is told without a number");
                UNNUMBERED
            }
        }
    }

    /// The number of the newest stored event that a query is about, whatever it is to come after.
    pub(crate) async fn newest_event(&self, query: &EventQuery) -> Result<u64> {
        let newest = EventQuery { after: 0, limit: 1, newest: true, ..query.clone() };
        let events = self.shared.store.events(&self.scope, &newest).await?;
        Ok(events.last().map_or(0, |event| event.seq))
    }

    /// Events of this scope: those after a number that are stored, then those that happen. A
    /// follower that does not keep up catches up from the store; only fragments can pass it by.
    pub async fn follow_events(&self, follow: Follow) -> Result<BoxStream<'static, Arc<Event>>> {
        if let Some(session) = &follow.session_id {
            check_id("session", session)?;
        }
        let state = Following {
            live: self.shared.hub.subscribe(&self.scope, follow.session_id.as_deref()),
            app: Self { flow: None, tracer: None, ..self.clone() },
            replay: Vec::new(),
            last: follow.after.unwrap_or(0),
            behind: follow.after.is_some(),
            caught_up: 0,
            replayed: HashMap::new(),
            session: follow.session_id,
        };
        Ok(futures::stream::unfold(state, |mut state| async move {
            let event = state.next().await?;
            Some((event, state))
        })
        .boxed())
    }
}

struct Following {
    app: Application,
    live: tokio::sync::mpsc::Receiver<Arc<Event>>,
    /// Stored events not given yet, last first.
    replay: Vec<Event>,
    last: u64,
    /// Whether the store has to be read.
    behind: bool,
    /// Up to here everything durable was read from the store.
    caught_up: u64,
    /// How far the store told of each request; what is live may lag behind it.
    replayed: HashMap<String, u64>,
    session: Option<String>,
}

impl Following {
    async fn next(&mut self) -> Option<Arc<Event>> {
        loop {
            if let Some(event) = self.replay.pop() {
                self.last = event.seq;
                if let Some(request) = &event.request_id {
                    self.replayed.insert(request.clone(), event.seq);
                }
                return Some(Arc::new(event));
            }
            if self.behind {
                self.read_store().await?;
                continue;
            }
            match self.live.recv().await {
                Some(event) if self.is_known(&event) => {}
                Some(event) => {
                    self.last = self.last.max(event.seq);
                    return Some(event);
                }
                None => {
                    let hub = &self.app.shared.hub;
                    self.live = hub.subscribe(&self.app.scope, self.session.as_deref());
                    self.behind = true;
                }
            }
        }
    }

    /// Whether the store told of it already: durable events up to where it was read, and fragments
    /// of what the same request has said since.
    fn is_known(&self, event: &Event) -> bool {
        match (event.kind.is_durable(), &event.request_id) {
            (true, _) => event.seq <= self.caught_up,
            (false, Some(request)) => {
                self.replayed.get(request).is_some_and(|last| event.seq <= *last)
            }
            (false, None) => false,
        }
    }

    async fn read_store(&mut self) -> Option<()> {
        let query =
            EventQuery { session: self.session.clone(), after: self.last, ..EventQuery::default() };
        let read = async {
            let events = self.app.shared.store.events(&self.app.scope, &query).await?;
            if events.is_empty() && self.caught_up == 0 {
                // A number that is yet to come would hide what happens until then.
                self.last = self.last.min(self.app.newest_event(&query).await?);
            }
            Ok::<_, Error>(events)
        };
        match read.await {
            Ok(events) if events.is_empty() => {
                self.behind = false;
                self.caught_up = self.last;
            }
            Ok(mut events) => {
                events.reverse();
                self.replay = events;
            }
            Err(error) => {
                tracing::error!(target: "orlop::app", %error, "events could not be read");
                return None;
            }
        }
        Some(())
    }
}
