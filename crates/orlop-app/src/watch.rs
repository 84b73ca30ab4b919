//! Watching a whole process: what happens in it, for whomever, and which plugins fail.

use crate::application::Application;
use crate::scope::Scope;
use crate::trace::Traced;
use orlop_core::hooks::{Hook, HookEvent, Observer};
use orlop_core::types::app_event::{Event, ModelName};
use orlop_core::{Error, Map};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Hears of everything that happens in this process, for metrics and the like. It is called in
/// place and must be quick.
pub trait Watcher: Send + Sync {
    /// Something happened; `app` acts for whom it happened. Fragments are not told.
    fn happened(&self, app: &Application, event: &Event);

    /// A hook of a plugin failed.
    fn hook_failed(&self, plugin: &str, hook: &str, error: &Error);

    /// A model called a tool: this one, or one that is not there.
    fn tool_called(&self, _tool: Option<&str>) {}

    /// What ran in a request since the last time, as its trace has it. Times in it count from
    /// [`RanIn::began`].
    fn ran(&self, _request: &RanIn<'_>, _trace: &[Traced]) {}
}

/// The request in which something ran.
#[derive(Debug, Clone, Copy)]
pub struct RanIn<'a> {
    /// Whose it is.
    pub scope: &'a Scope,
    /// The request.
    pub request_id: &'a str,
    /// Its session.
    pub session_id: &'a str,
    /// The agent that answers.
    pub agent_id: &'a str,
    /// Who called, in the words of `traceparent` (W3C Trace Context), as the surface told it.
    pub trace_parent: Option<&'a str>,
    /// When this process began with it.
    pub began: SystemTime,
    /// How it ended and when, if it has.
    pub ended: Option<RanTo<'a>>,
}

/// How a request ended.
#[derive(Debug, Clone, Copy)]
pub struct RanTo<'a> {
    /// The time from [`RanIn::began`] on.
    pub after: Duration,
    /// The class of its error, `cancelled` if somebody stopped it; nothing if it is done.
    pub error: Option<&'a str>,
    /// Token counts, added up over all steps.
    pub usage: &'a Map,
    /// The model that was asked last.
    pub model: &'a ModelName,
}

/// Several watchers as one.
pub struct Watchers(pub Vec<Arc<dyn Watcher>>);

impl Watcher for Watchers {
    fn happened(&self, app: &Application, event: &Event) {
        self.0.iter().for_each(|watcher| watcher.happened(app, event));
    }

    fn hook_failed(&self, plugin: &str, hook: &str, error: &Error) {
        self.0.iter().for_each(|watcher| watcher.hook_failed(plugin, hook, error));
    }

    fn tool_called(&self, tool: Option<&str>) {
        self.0.iter().for_each(|watcher| watcher.tool_called(tool));
    }

    fn ran(&self, request: &RanIn<'_>, trace: &[Traced]) {
        self.0.iter().for_each(|watcher| watcher.ran(request, trace));
    }
}

/// Tells a watcher of hooks that fail outside of any request.
pub(crate) struct Failures(pub(crate) Arc<dyn Watcher>);

impl Observer for Failures {
    fn hook(&self, plugin: &str, hook: Hook, event: HookEvent<'_>) {
        if let HookEvent::Failed(error) = event {
            self.0.hook_failed(plugin, hook.name(), error);
        }
    }
}

impl Application {
    pub(crate) fn watched(&self, event: &Event) {
        if let Some(watcher) = &self.shared.watcher
            && event.kind.is_durable()
        {
            watcher.happened(self, event);
        }
    }

    pub(crate) fn tool_called(&self, tool: Option<&str>) {
        if let Some(watcher) = &self.shared.watcher {
            watcher.tool_called(tool);
        }
    }

    /// How many requests run in this process, and how many sessions it holds the lock of.
    pub fn under_way(&self) -> UnderWay {
        UnderWay {
            requests: crate::lock::locked(&self.shared.running).len(),
            locks: self.shared.locks.held(),
        }
    }
}

/// What a process is busy with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnderWay {
    /// Requests that run.
    pub requests: usize,
    /// Sessions that are locked.
    pub locks: usize,
}
