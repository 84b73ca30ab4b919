//! What interceptors answered lately, kept with the session (or with the user, where there is none),
//! so that a request that comes again gets the same answer and does nothing a second time.

use crate::application::Application;
use crate::store::OF_USER;
use orlop_core::hooks::{Handled, Hook};
use orlop_core::{ErrorClass, Result};
use serde::{Deserialize, Serialize};

/// The name they are kept under; no plugin can have it.
const NAME: &str = "answered requests";

/// How many answers are kept in one place, and how much of them.
const MOST: usize = 64;
const MOST_BYTES: usize = 256 * 1024;

/// How often somebody else may be first.
const TRIES: usize = 8;

#[derive(Serialize, Deserialize)]
struct Answered {
    request: String,
    /// The session that the request named.
    session: Option<String>,
    /// The digest of what it asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<String>,
    handled: Handled,
}

impl Application {
    /// What an interceptor answered when this request came before, if one did.
    pub(super) async fn answered_before(
        &self,
        request: &str,
        session: Option<&str>,
        asked: Option<&str>,
    ) -> Result<Option<Handled>> {
        if !self.hosts().iter().any(|it| it.manifest.hooks.contains(Hook::InterceptChatRequest)) {
            return Ok(None);
        }
        for place in session.into_iter().chain([OF_USER]) {
            let is_same = |it: &Answered| match (&it.asked, asked) {
                (Some(before), Some(now)) => before == now,
                _ => true,
            };
            let is_it = |it: &Answered| {
                it.request == request && it.session.as_deref() == session && is_same(it)
            };
            let found = self.answers_in(place).await?.1.into_iter().find(is_it);
            if let Some(answered) = found {
                return Ok(Some(answered.handled));
            }
        }
        Ok(None)
    }

    /// Keeps what an interceptor answered. What it did is done: an answer that cannot be kept is
    /// given all the same.
    pub(super) async fn keep_answer(
        &self,
        request: &str,
        session: Option<&str>,
        asked: Option<String>,
        handled: &Handled,
    ) {
        let answered = Answered {
            request: request.to_owned(),
            session: session.map(str::to_owned),
            asked,
            handled: handled.clone(),
        };
        let kept = match session {
            _ if size_of(&answered) > MOST_BYTES => Ok(false),
            Some(session) => match self.keep_in(session, &answered).await {
                // It is not stored yet.
                Err(error) if error.class() == ErrorClass::NotFound => {
                    self.keep_in(OF_USER, &answered).await
                }
                kept => kept,
            },
            None => self.keep_in(OF_USER, &answered).await,
        };
        let lost = match kept {
            Ok(true) => return,
            Ok(false) => "it is too long, or too many came at once".to_owned(),
            Err(error) => error.to_string(),
        };
        tracing::warn!(target: "orlop::host", request, lost, "an answer could not be kept; if the request comes again it runs again");
    }

    /// Keeps an answer in one place; `false` if others were always first.
    async fn keep_in(&self, place: &str, answered: &Answered) -> Result<bool> {
        let store = &self.shared.store;
        for _ in 0..TRIES {
            let (version, before) = self.answers_in(place).await?;
            let mut room = MOST_BYTES;
            let fits = |answered: &&Answered| {
                let left = room.checked_sub(size_of(answered));
                room = left.unwrap_or_default();
                left.is_some()
            };
            let newest = std::iter::once(answered).chain(&before).take(MOST);
            let kept: Vec<&Answered> = newest.take_while(fits).collect();
            let value = serde_json::to_value(kept).ok();
            let set = store.set_plugin_state(&self.scope, place, NAME, version, value).await?;
            if set.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The answers in one place, the newest first, and their version.
    async fn answers_in(&self, place: &str) -> Result<(u64, Vec<Answered>)> {
        let kept = self.shared.store.plugin_state(&self.scope, place, NAME).await?;
        Ok(kept.map_or_else(Default::default, |kept| {
            (kept.version, serde_json::from_value(kept.value).unwrap_or_default())
        }))
    }
}

fn size_of(answered: &Answered) -> usize {
    serde_json::to_string(answered).map_or(usize::MAX, |text| text.len())
}
