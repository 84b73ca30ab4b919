//! Has a server of Ollama bring a model, and tells how far it is.

use super::provider::Chat;
use crate::http::{Call, HttpClient};
use crate::lines::LineParser;
use crate::pull::{Progress, Tell};
use crate::wire::{self, failure, with_own_headers};
use futures::StreamExt;
use orlop_core::Config;
use orlop_types::{Result, Value};
use serde_json::json;

/// Has the server that `config` names bring `model`; ends when it is there.
pub async fn pull(
    http: &HttpClient,
    config: &Config,
    model: &str,
    tell: &mut Tell<'_>,
) -> Result<()> {
    let body = json!({ "model": model, "stream": true }).to_string();
    let call = Call::post(wire::base_url::<Chat>(config), "api/pull", body.into())?;
    let call = with_own_headers(call.bearer(wire::key(config))?, config)?;
    let mut chunks = http.send(&call).await?.into_body();
    let mut state = State::default();
    let mut lines = LineParser::new();
    while let Some(chunk) = chunks.next().await {
        lines.push(&chunk?);
        while let Some(line) = lines.next_line()? {
            state.read(line, tell).map_err(|error| call.secret().mask_error(error))?;
        }
    }
    if let Some(line) = lines.last_line() {
        state.read(line, tell).map_err(|error| call.secret().mask_error(error))?;
    }
    if state.done { Ok(()) } else { Err(failure::ended_early()) }
}

#[derive(Default)]
struct State {
    /// What the server does at the moment.
    status: String,
    done: bool,
}

impl State {
    fn read(&mut self, line: &str, tell: &mut Tell<'_>) -> Result<()> {
        let value: Value = serde_json::from_str(line)
            .map_err(|error| failure::unreadable("a line", line, &error))?;
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(failure::reported(line));
        }
        let status = value.get("status").and_then(Value::as_str).unwrap_or_default();
        if status != self.status {
            status.clone_into(&mut self.status);
            tell(Progress::Note(status));
        }
        self.done |= status == "success";
        let total = value.get("total").and_then(Value::as_u64);
        if total.is_some() {
            let done = value.get("completed").and_then(Value::as_u64).unwrap_or_default();
            tell(Progress::Bytes { done, total });
        }
        Ok(())
    }
}
