//! What this API keeps with a session, beside its messages.

use crate::openai::error::Answer;
use orlop_app::Application;
use orlop_core::{Error, Map};
use serde::{Deserialize, Serialize};

/// The name it is kept under.
const NAME: &str = "openai";

/// How often somebody else may be first.
const TRIES: usize = 8;

/// What is kept.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::openai) struct Kept {
    /// The requests whose responses were deleted.
    pub(in crate::openai) deleted: Vec<String>,
    /// What the client keeps with the conversation.
    pub(in crate::openai) metadata: Map,
    /// Where messages were removed, one after the other: places move with each.
    pub(in crate::openai) removed: Vec<usize>,
}

/// Where the place before so many messages is after those at `removed` are gone, one after the other.
pub(super) fn moved(place: usize, removed: &[usize]) -> usize {
    removed.iter().fold(place, |place, removed| place - usize::from(*removed < place))
}

/// What is kept with a session, and its version.
pub(in crate::openai) async fn of(app: &Application, session: &str) -> Answer<(u64, Kept)> {
    let kept = app.store().plugin_state(app.scope(), session, NAME).await?;
    Ok(kept.map_or_else(Default::default, |kept| {
        (kept.version, serde_json::from_value(kept.value).unwrap_or_default())
    }))
}

/// Changes it.
pub(in crate::openai) async fn change(
    app: &Application,
    session: &str,
    change: impl Fn(&mut Kept),
) -> Answer<()> {
    for _ in 0..TRIES {
        let (version, mut kept) = of(app, session).await?;
        change(&mut kept);
        let value = serde_json::to_value(&kept).ok();
        let set = app.store().set_plugin_state(app.scope(), session, NAME, version, value).await?;
        if set.is_some() {
            return Ok(());
        }
    }
    Err(Error::conflict("others change this conversation; try again").with_retryable(true).into())
}
