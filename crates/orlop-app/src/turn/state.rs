//! How far a request is, for those who ask from outside.

use super::journal::restored;
use super::machine::{CallState, Outcome};
use crate::application::Application;
use crate::lock::locked;
use crate::scope::check_id;
use crate::store::TurnRecord;
use crate::time::rfc3339;
use orlop_core::{Error, Map, Result, Value};
use serde::Serialize;

/// A request and how far it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestState {
    /// The request.
    pub request_id: String,
    /// Its session.
    pub session_id: String,
    /// How far it is.
    pub status: RequestStatus,
    /// The agent that answers.
    pub agent_id: Option<String>,
    /// Where the user's message was in the session when the request last got further.
    pub message_index: Option<usize>,
    /// How many model calls have been answered.
    pub step: u32,
    /// When it began, RFC 3339.
    pub created_at: Option<String>,
    /// When it last got further, RFC 3339.
    pub updated_at: Option<String>,
    /// How long it took, in milliseconds, if it is over.
    pub duration_ms: Option<u64>,
    /// Token counts so far.
    pub usage: Map,
    /// The tool calls that a person has to decide on.
    pub waiting_for: Vec<WaitingCall>,
    /// Why it failed: `type`, `message`, `retryable`.
    pub error: Option<Value>,
    /// Why it was cancelled.
    pub reason: Option<String>,
}

impl RequestState {
    /// Whether nothing more comes of it.
    pub fn is_over(&self) -> bool {
        use RequestStatus::{Cancelled, Completed, Failed};
        matches!(self.status, Completed | Failed | Cancelled)
    }
}

/// How far a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// It was taken and has not begun: it waits for its session, or is being prepared.
    Queued,
    /// It is under way, or will be when a process takes it up.
    Running,
    /// It waits for a person.
    Waiting,
    /// It is done.
    Completed,
    /// It failed.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
}

/// A tool call that a person has to decide on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitingCall {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// Why it is asked.
    pub reason: String,
}

impl Application {
    /// How far a request is. Costs the same however long its session is.
    pub async fn request_state(&self, request_id: &str) -> Result<RequestState> {
        check_id("request", request_id)?;
        match self.shared.store.turn(&self.scope, request_id).await? {
            Some(record) => state_of(record),
            None => self.unstored_state(request_id),
        }
    }

    /// The requests of a stored session, the newest first, at most `limit`.
    pub async fn session_requests(
        &self,
        session_id: &str,
        limit: usize,
    ) -> Result<Vec<RequestState>> {
        check_id("session", session_id)?;
        let records = self.shared.store.turns(&self.scope, Some(session_id), limit).await?;
        records.into_iter().map(state_of).collect()
    }

    /// A request that is not stored, or not yet, is known while it runs, and before it begins.
    fn unstored_state(&self, request_id: &str) -> Result<RequestState> {
        // What is being taken is looked for first: it is noted as running before it is no longer here.
        let taken = self.shared.taken.get(&self.scope, request_id);
        let key = (self.scope.clone(), request_id.to_owned());
        let running = locked(&self.shared.running).get(&key).map(|running| running.session.clone());
        let (session_id, status) = match (running, &taken) {
            (Some(session), _) => (session, RequestStatus::Running),
            (None, Some(taken)) if taken.reason().is_some() => {
                (taken.session().to_owned(), RequestStatus::Cancelled)
            }
            (None, Some(taken)) => (taken.session().to_owned(), RequestStatus::Queued),
            (None, None) => {
                return Err(Error::not_found(format!("there is no request \"{request_id}\"")));
            }
        };
        Ok(RequestState {
            request_id: request_id.to_owned(),
            session_id,
            status,
            agent_id: None,
            message_index: None,
            step: 0,
            created_at: None,
            updated_at: None,
            duration_ms: None,
            usage: Map::new(),
            waiting_for: Vec::new(),
            error: None,
            reason: taken
                .filter(|_| status == RequestStatus::Cancelled)
                .and_then(|taken| taken.reason().map(str::to_owned)),
        })
    }
}

fn state_of(record: TurnRecord) -> Result<RequestState> {
    let (created, updated) = (rfc3339(record.created), rfc3339(record.updated));
    let took = u64::try_from(record.updated.saturating_sub(record.created)).ok();
    let (request_id, session_id) = (record.request.clone(), record.session.clone());
    let (turn, _) = restored(record)?;
    let waiting = turn.calls().iter().filter_map(|call| match &call.state {
        CallState::Asking { reason, .. } => Some(WaitingCall {
            call_id: call.id.clone(),
            name: call.call.tool_name.clone().unwrap_or_default(),
            reason: reason.clone(),
        }),
        _ => None,
    });
    let waiting_for: Vec<WaitingCall> = waiting.collect();
    let (mut error, mut reason) = (None, None);
    let status = match turn.outcome().filter(|_| turn.is_settled()) {
        None if waiting_for.is_empty() => RequestStatus::Running,
        None => RequestStatus::Waiting,
        Some(Outcome::Complete) => RequestStatus::Completed,
        Some(Outcome::Failed { error: why }) => {
            error = Some(why.clone());
            RequestStatus::Failed
        }
        Some(Outcome::Cancelled { reason: why }) => {
            reason = Some(why.clone());
            RequestStatus::Cancelled
        }
    };
    Ok(RequestState {
        request_id,
        session_id,
        status,
        duration_ms: took.filter(|_| turn.is_settled()),
        agent_id: Some(turn.agent),
        message_index: Some(turn.first_message),
        step: turn.step,
        created_at: Some(created),
        updated_at: Some(updated),
        usage: turn.usage,
        waiting_for,
        error,
        reason,
    })
}
