//! Everything that happens for a user.

use super::view::FollowEvents;
use crate::caller::{Caller, Read};
use crate::extract::Query;
use crate::problem::Problem;
use crate::sse::{EventStream, LastEventId, Source};
use futures::future::ready;
use futures::stream::StreamExt;
use orlop_app::Follow;

pub(super) async fn follow(
    caller: Caller<Read>,
    Query(query): Query<FollowEvents>,
    last: LastEventId,
) -> Result<EventStream, Problem> {
    let after = last.or(query.after);
    let app = caller.app();
    if let Some(session) = &query.session_id {
        super::sessions::summary(&app, session).await?;
    }
    let slot = caller.server.take_stream(&caller.identity)?;
    let mut events = app.follow_events(Follow { session_id: query.session_id, after }).await?;
    if query.fragments == Some(false) {
        events = events.filter(|event| ready(event.kind.is_durable())).boxed();
    }
    let (last, closing) = (after.unwrap_or_default(), caller.server.closing());
    Ok(EventStream::new(events, Source::Everything, last, closing, slot))
}
