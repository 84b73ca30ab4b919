//! What a running tool may know of the turn it runs in.

use super::Approval;
use orlop_core::{Context, Error, Result};

/// The turn and the call that a tool runs for, lent to it under `turn`.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnInfo {
    /// The request.
    pub request_id: String,
    /// The session.
    pub session_id: String,
    /// The agent.
    pub agent_id: String,
    /// The call, unique within its step.
    pub call_id: String,
    /// How many model calls the turn has had.
    pub step: u32,
    /// What becomes of tool calls that a person should decide on.
    pub approval: Approval,
    /// Whether the turn is stored.
    pub stored: bool,
    /// Whether fragments are wanted.
    pub stream: bool,
}

impl TurnInfo {
    /// The turn that a tool was called in.
    pub fn of(cx: &Context) -> Result<Self> {
        let info = cx.handle::<Self>("turn").map(|info| (*info).clone());
        info.ok_or_else(|| {
            Error::bad_state("this tool was not called in a request of an application")
        })
    }
}
