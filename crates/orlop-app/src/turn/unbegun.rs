//! Requests that a plugin kept from beginning. Nothing of them is stored as a request; the last one is
//! noted with the user, so that people can find out which plugin it was.

use super::{Request, Target};
use crate::application::Application;
use crate::trace::Traced;
use orlop_core::{Error, Map, Result, Value};
use serde::{Deserialize, Serialize};

/// The name the note is kept under; no plugin can have it.
const NOTE: &str = "unbegun request";

/// A request that did not begin, because a plugin failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unbegun {
    /// The id that it would have had; it is free.
    pub request_id: String,
    /// The session it was for.
    pub session_id: String,
    /// What was wrong.
    pub error: String,
    /// What hooks did until then.
    pub trace: Vec<Map>,
    /// The last request that began before.
    after: Option<String>,
}

impl Application {
    /// The request that did not begin, if none has begun since.
    pub async fn unbegun(&self) -> Result<Option<Unbegun>> {
        let Some(note) = self.user_state(NOTE).await? else { return Ok(None) };
        let note: Option<Unbegun> = serde_json::from_value(note.value).ok();
        let last = self.last_begun().await?;
        Ok(note.filter(|note| note.after == last))
    }

    /// Notes that a plugin kept a request from beginning.
    pub(super) async fn note_unbegun(&self, request_id: &str, session_id: &str, error: &Error) {
        let noted = async {
            let note = Unbegun {
                request_id: request_id.to_owned(),
                session_id: session_id.to_owned(),
                error: error.to_string(),
                trace: self
                    .tracer
                    .as_ref()
                    .map(|tracer| maps_of(&tracer.take()))
                    .unwrap_or_default(),
                after: self.last_begun().await?,
            };
            let note = serde_json::to_value(note)
                .map_err(|error| Error::internal(format!("a note cannot be written: {error}")))?;
            let write = |held: &mut Value| {
                *held = note.clone();
                Ok(())
            };
            self.change_user_state(NOTE, write).await
        };
        if let Err(error) = noted.await {
            tracing::warn!(target: "orlop::app", %error, "why a request did not begin is not noted");
        }
    }

    async fn last_begun(&self) -> Result<Option<String>> {
        let turns = self.shared.store.turns(&self.scope, None, 1).await?;
        Ok(turns.into_iter().next().map(|turn| turn.request))
    }
}

fn maps_of(trace: &[Traced]) -> Vec<Map> {
    let object = |entry| match serde_json::to_value(entry) {
        Ok(Value::Object(fields)) => Some(fields),
        _ => None,
    };
    trace.iter().filter_map(object).collect()
}

/// Whether something of a request may be stored.
pub(super) fn leaves_traces(request: &Request) -> bool {
    request.persist != Some(false) && !matches!(request.session, Target::Value(_))
}
