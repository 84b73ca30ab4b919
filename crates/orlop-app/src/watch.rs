//! Watching a whole process: what happens in it, for whomever, and which plugins fail.

use crate::application::Application;
use orlop_core::Error;
use orlop_core::hooks::{Hook, HookEvent, Observer};
use orlop_core::types::app_event::Event;
use std::sync::Arc;

/// Hears of everything that happens in this process, for metrics and the like. It is called in
/// place and must be quick.
pub trait Watcher: Send + Sync {
    /// Something happened; `app` acts for whom it happened. Fragments are not told.
    fn happened(&self, app: &Application, event: &Event);

    /// A hook of a plugin failed.
    fn hook_failed(&self, plugin: &str, hook: &str, error: &Error);
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
