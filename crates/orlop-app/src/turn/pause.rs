//! Pausing: before a process ends, its turns stop where they are durable and nothing is under way,
//! so that whoever takes them up loses nothing.

use super::driver::Driver;
use super::machine::Effect;
use crate::application::Application;
use crate::lock::locked;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Whether turns are to pause.
#[derive(Default)]
pub(crate) struct Pausing {
    begun: watch::Sender<bool>,
    left: Notify,
}

impl Pausing {
    fn is_begun(&self) -> bool {
        *self.begun.borrow()
    }

    /// Waits until turns are to pause.
    pub(super) async fn begun(&self) {
        let _ = self.begun.subscribe().wait_for(|begun| *begun).await;
    }

    /// A turn runs no longer.
    pub(super) fn one_left(&self) {
        self.left.notify_waiters();
    }
}

impl Application {
    /// Lets every turn of this process stop at its next checkpoint, where another process, or this
    /// one after a restart, takes it up: before it asks the model again, or while it waits for a
    /// person. Tools that run come to their end before. Gives how many turns still run after
    /// `within`.
    pub async fn pause(&self, within: Duration) -> usize {
        self.shared.pausing.begun.send_replace(true);
        let running = || locked(&self.shared.running).len();
        let all_left = async {
            loop {
                let left = self.shared.pausing.left.notified();
                let mut left = std::pin::pin!(left);
                left.as_mut().enable();
                if running() == 0 {
                    return;
                }
                left.await;
            }
        };
        let _ = tokio::time::timeout(within, all_left).await;
        running()
    }
}

impl Driver {
    /// Whether the turn stops here. What a call of a tool is about to do has been promised already.
    pub(super) fn pauses_before(&self, effect: &Effect) -> bool {
        matches!(effect, Effect::CallModel | Effect::Shorten)
            && self.persist
            && self.app.shared.pausing.is_begun()
    }

    /// Whether the turn stops while it waits for a person.
    pub(super) fn pauses_waiting(&self) -> bool {
        self.persist && self.tools.is_empty() && self.app.shared.pausing.is_begun()
    }
}
