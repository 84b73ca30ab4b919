//! Names of lifecycles that are run by Orlop itself.
//!
//! A lifecycle name is any string: nothing in the platform checks names against this list. It is
//! here so that code and documentation spell the standard ones the same way.

macro_rules! names {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal;)*) => {
        $($(#[doc = $doc])* pub const $name: &str = $text;)*
        /// All names above with what they mean, for listings and suggestions.
        pub const STANDARD: &[(&str, &str)] = &[$(($text, concat!($($doc),*))),*];
    };
}

names! {
    /// A new session exists and is not yet saved.
    SESSION_CREATE = "session_create";
    /// A session is about to be written to the store.
    SESSION_SAVE_PREPARE = "session_save_prepare";
    /// A request is about to begin; the effective configuration is known.
    REQUEST_PREPARE = "request_prepare";
    /// A request succeeded; its result is about to be saved.
    REQUEST_COMPLETE = "request_complete";
    /// A request failed or was cancelled.
    REQUEST_ERROR = "request_error";
    /// The finals of a model call may still be changed; run by the core.
    RESPONSE_FINALIZE = "response_finalize";
    /// A fork exists; runs on the fork.
    SESSION_FORK = "session_fork";
    /// A session is about to switch its agent.
    AGENT_SWITCH_PREPARE = "agent_switch_prepare";
    /// A session has switched its agent.
    AGENT_SWITCH_COMPLETE = "agent_switch_complete";
    /// A session is about to be deleted.
    SESSION_DELETE_PREPARE = "session_delete_prepare";
    /// Summaries for a session list are being built; results are data only.
    SESSION_LIST = "session_list";
    /// One model call is about to be sent.
    MODEL_REQUEST = "model_request";
    /// One model call was answered.
    MODEL_RESPONSE = "model_response";
    /// The conversation is longer than the model can take; it is sent again if it gets shorter.
    CONTEXT_OVERFLOW = "context_overflow";
    /// A tool call is about to run; its input may be rewritten or refused.
    TOOL_BEFORE = "tool_before";
    /// A tool call has its result; the result may be replaced.
    TOOL_AFTER = "tool_after";
    /// A tool call failed.
    TOOL_ERROR = "tool_error";
    /// A tool call needs a decision whether it may run.
    PERMISSION = "permission";
    /// A person decided on a tool call and wants that to be remembered.
    PERMISSION_DECIDED = "permission_decided";
    /// A stored login ends soon, and the plugin that made it is to get a new token.
    CREDENTIAL_EXPIRED = "credential_expired";
    /// History is about to be compacted.
    COMPACTION_PREPARE = "compaction_prepare";
    /// History was compacted.
    COMPACTION_COMPLETE = "compaction_complete";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_explained() {
        let mut names: Vec<_> = STANDARD.iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), STANDARD.len());
        assert!(STANDARD.iter().all(|(_, meaning)| meaning.trim().ends_with('.')));
    }
}
