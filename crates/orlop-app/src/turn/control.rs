//! What reaches a request from outside: a cancellation, a decision, a question about what it did.

use super::{Control, Decision};
use crate::application::Application;
use crate::lock::locked;
use crate::scope::check_id;
use orlop_core::{Error, Map, Result};

impl Application {
    /// Cancels a request, wherever it runs, or before it begins in this process. One that is over
    /// already stays as it is.
    pub async fn cancel_request(&self, request_id: &str, reason: &str) -> Result<()> {
        check_id("request", request_id)?;
        let taken = self.shared.taken.get(&self.scope, request_id);
        let is_taken = taken.inspect(|taken| taken.cancel(reason)).is_some();
        let key = (self.scope.clone(), request_id.to_owned());
        if let Some(running) = locked(&self.shared.running).get(&key) {
            let _ = running.control.unbounded_send(Control::Cancel(reason.to_owned()));
            running.cancel.cancel();
            return Ok(());
        }
        match self.shared.store.turn(&self.scope, request_id).await? {
            Some(turn) if !turn.settled => {}
            Some(_) => return Ok(()),
            None if is_taken => return Ok(()),
            None => return Err(Error::not_found(format!("there is no request \"{request_id}\""))),
        }
        let signal = serde_json::json!({ "signal": "cancel", "reason": reason });
        self.shared.store.signal(&self.scope, request_id, signal).await
    }

    /// Decides on a tool call that a turn waits for, wherever it runs.
    pub async fn decide(&self, request_id: &str, call: &str, decision: Decision) -> Result<()> {
        check_id("request", request_id)?;
        let key = (self.scope.clone(), request_id.to_owned());
        let control = locked(&self.shared.running).get(&key).map(|running| running.control.clone());
        if let Some(control) = control {
            let (answer, answered) = tokio::sync::oneshot::channel();
            let gone = || Error::conflict("the request ended before the decision reached it");
            let decide =
                Control::Decide { call: call.to_owned(), decision: decision.into(), answer };
            control.unbounded_send(decide).map_err(|_| gone())?;
            return answered.await.map_err(|_| gone())?;
        }
        let turn = self.shared.store.turn(&self.scope, request_id).await?;
        let waiting = turn.is_some_and(|turn| !turn.settled);
        if !waiting {
            return Err(Error::not_found(format!(
                "request \"{request_id}\" waits for no decision"
            )));
        }
        let signal = serde_json::json!({
            "signal": "decide", "call": call, "allow": decision.allow, "input": decision.input,
            "reason": decision.reason, "by": decision.by, "remember": decision.remember,
        });
        self.shared.store.signal(&self.scope, request_id, signal).await
    }

    /// The trace of a request: what each hook did.
    pub async fn trace(&self, request_id: &str) -> Result<Vec<Map>> {
        check_id("request", request_id)?;
        if self.shared.store.turn(&self.scope, request_id).await?.is_none() {
            return Err(Error::not_found(format!("there is no request \"{request_id}\"")));
        }
        self.shared.store.trace(&self.scope, request_id).await
    }
}
