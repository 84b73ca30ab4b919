//! Beginning a turn. It happens in a task of its own: a client that leaves while its turn is still being
//! prepared frees nothing of what the turn takes up, because the turn goes on.

use crate::identity::Identity;
use crate::metrics::Queued;
use crate::problem::Problem;
use crate::server::{Phase, Server, ending};
use futures::stream::BoxStream;
use orlop_app::{Application, ChatRequest, Event, Host};
use orlop_core::{Error, Message};
use std::sync::Arc;
use tokio::sync::oneshot;
use tracing::Instrument;

/// The events of a request.
pub(crate) type Events = BoxStream<'static, Arc<Event>>;

/// A turn that has begun.
pub(crate) struct Begun {
    pub(crate) events: Events,
    pub(crate) abandoned: Abandoned,
    /// Whether a host plugin answered in place of the agent, which is over at once and stored nowhere.
    pub(crate) is_handled: bool,
    /// What was said so far, if the request had been sent before; see [`orlop_app::Chat::said`].
    pub(crate) said: Option<Vec<Message>>,
}

impl Server {
    /// Begins a turn, if there is room for one; what is asked is put together when it is its turn. `queued` is
    /// held until it has begun.
    pub(crate) async fn begin(
        &self,
        identity: &Identity,
        request: impl FnOnce() -> ChatRequest,
        queued: Option<Queued>,
    ) -> Result<Begun, Problem> {
        let slot = Arc::new(self.take_turn(identity)?);
        let place = self.line().place().await;
        if self.phase() != Phase::Open {
            return Err(ending());
        }
        let request = ChatRequest { held: Some(slot), ..request() };
        let host = self.host(identity);
        Box::pin(place.hold(begun(host, request, queued))).await
    }
}

async fn begun(host: Host, request: ChatRequest, queued: Option<Queued>) -> Result<Begun, Problem> {
    let is_stored = request.persist != Some(false);
    let (tell, told) = oneshot::channel();
    let work = async move {
        let chat = host.chat(request).await;
        drop(queued);
        let begun = chat.map_err(Problem::from).map(|mut chat| Begun {
            abandoned: Abandoned::unless_stored(host.app(), &chat.request_id, is_stored),
            is_handled: chat.handled.is_some(),
            said: chat.said.take(),
            events: chat.into_events(),
        });
        // Where nobody waits for it any more, it is abandoned here.
        drop(tell.send(begun));
    };
    tokio::spawn(work.in_current_span());
    told.await.unwrap_or_else(|_| {
        Err(Error::internal("the request could not be taken; send it again").into())
    })
}

/// Cancels a request that nobody can hear of any more, because it is not stored and whoever sent
/// it is gone. One that somebody else joined goes on, and so does one that was stored by somebody
/// else who gave it the same id.
pub(crate) struct Abandoned {
    app: Application,
    request: Option<String>,
}

impl Abandoned {
    pub(crate) fn unless_stored(app: &Application, request: &str, stored: bool) -> Self {
        Self { app: app.clone(), request: (!stored).then(|| request.to_owned()) }
    }

    /// It is over.
    pub(crate) fn forget(mut self) {
        self.request = None;
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let app = self.app.clone();
        runtime.spawn(async move {
            let stored = app.store().turn(app.scope(), &request).await;
            if matches!(stored, Ok(None)) && !app.is_followed(&request) {
                // One that is over by now is not found.
                let _ = app.cancel_request(&request, "the client is gone").await;
            }
        });
    }
}
