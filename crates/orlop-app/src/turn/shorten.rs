//! What plugins do to the history before the model reads it: on their own, before every call, and
//! because the model server said that the conversation is too long.

use super::driver::Driver;
use super::machine::Input;
use super::model::shown;
use crate::application::Step;
use crate::undo::note_of;
use orlop_core::types::app_event::EventKind;
use orlop_core::{Result, lifecycle};

impl Driver {
    /// Runs `model_request`. History that it changed is durable before the model is asked, with a
    /// note by which the change can be undone.
    pub(super) async fn prepare_model_call(&mut self) -> Result<()> {
        let records = self.lifecycle(lifecycle::MODEL_REQUEST, &[]).await?;
        let undo = note_of(&records);
        let events: Vec<EventKind> = records.into_iter().filter_map(shown).collect();
        if undo.is_none() && events.is_empty() {
            return Ok(());
        }
        let (session, turn) = (Some(self.session.clone()), Some(self.turn_write()?));
        let trace = self.traced();
        self.commit(Step { session, turn, events, trace, undo, ..Step::default() }).await
    }

    /// Asks plugins for a shorter conversation. If none of them can or will, the error of the
    /// model server stands.
    pub(super) async fn shorten(&mut self) -> (Input, Vec<EventKind>) {
        let error = match &self.turn.phase {
            super::machine::Phase::Shortening { error } => error.clone(),
            _ => orlop_core::Value::Null,
        };
        match self.lifecycle(lifecycle::CONTEXT_OVERFLOW, &[("error", error)]).await {
            Ok(records) => {
                self.undo = note_of(&records);
                let events = records.into_iter().filter_map(shown).collect();
                (Input::Shortened { is_shorter: self.undo.is_some() }, events)
            }
            Err(error) if error.is_cancelled() || self.is_cancelled() => {
                (Input::Cancelled(self.reason()), Vec::new())
            }
            Err(error) => {
                tracing::error!(target: "orlop::app", %error, "the conversation could not be made shorter");
                (Input::Shortened { is_shorter: false }, Vec::new())
            }
        }
    }
}
