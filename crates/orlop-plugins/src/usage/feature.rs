//! The feature: counts every model call, whoever makes it, and keeps calls that plugins make of their
//! own accord within the budgets of who they are made for.

use super::budget::check;
use super::ledger::{Call, record_days, record_with_sessions};
use super::tally::Tally;
use super::{NAME, described};
use orlop_app::{Application, Scope};
use orlop_core::hooks::{
    FinalizeChange, FinalizeInput, Hook, HookSet, RequestChange, RequestInput,
};
use orlop_core::{Answer, Context, Feature, Manifest, Map, NativeItem, Plugin, Result, Value};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts the tokens and the cost of every model call of an application, those that plugins make of
/// their own accord included.
#[derive(Default)]
pub struct Usage {
    /// Calls that are to be written down, by whom they were made for.
    ended: Mutex<HashMap<Scope, Vec<Call>>>,
    /// Who writes takes all that ended meanwhile along.
    writing: futures::lock::Mutex<()>,
}

impl Usage {
    /// Counts a call to its user and its sessions. It is written down when this is done.
    async fn count(&self, app: &Application, call: Call) -> Result<()> {
        let with_sessions = record_with_sessions(app, &call).await;
        self.ended().entry(app.scope().clone()).or_default().push(call);
        let _writing = self.writing.lock().await;
        let ended = self.ended().remove(app.scope()).unwrap_or_default();
        if !ended.is_empty() {
            record_days(app, &ended).await?;
        }
        with_sessions
    }

    fn ended(&self) -> MutexGuard<'_, HashMap<Scope, Vec<Call>>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plugin for Usage {
    fn manifest(&self) -> Manifest {
        let manifest = Manifest::new(NAME, "1.0.0").priority(900).without_models();
        described(manifest)
            .only(HookSet::of(&[Hook::FeatureInitializeRequest, Hook::FeatureFinalize]))
    }
}

impl Feature for Usage {
    fn initialize_request<'a>(
        &'a self,
        _: &'a RequestInput,
        cx: &'a Context,
    ) -> Answer<'a, RequestChange> {
        // The calls of a turn are checked by its lifecycle.
        if cx.get("requested_by").is_none() {
            return Answer::default();
        }
        let Ok(app) = Application::of(cx) else { return Answer::default() };
        Answer::later(async move {
            check(&app, cx).await?;
            Ok(RequestChange::default())
        })
    }

    fn finalize<'a>(
        &'a self,
        input: &'a FinalizeInput,
        cx: &'a Context,
    ) -> Answer<'a, FinalizeChange> {
        let Ok(app) = Application::of(cx) else { return Answer::default() };
        let Some(last) = input.final_messages.last() else { return Answer::default() };
        let (usage, model) = match input.final_messages.iter().rev().find_map(counted) {
            Some((usage, model)) => (Some(usage), model),
            None => (None, last.metadata().get("model").and_then(Value::as_str)),
        };
        let model = model.or_else(|| cx.config().text("model")).unwrap_or("unknown");
        let took = usage.map_or_else(Tally::unknown, |usage| Tally::of(usage, model, cx));
        let call = Call::of(cx, model, took);
        Answer::later(async move {
            // An answer that cannot be counted is still an answer.
            if let Err(error) = self.count(&app, call).await {
                tracing::warn!(target: "orlop::plugins", %error, "a model call could not be counted");
            }
            Ok(FinalizeChange::default())
        })
    }
}

/// What the model server counted, and the model that answered.
fn counted(item: &NativeItem) -> Option<(&Map, Option<&str>)> {
    let usage = item.metadata().get("usage")?.as_object()?;
    Some((usage, item.metadata().get("model").and_then(Value::as_str)))
}
