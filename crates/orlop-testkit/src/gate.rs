//! A gate is how a test holds a server at an exact point, without sleeping.

use std::sync::Arc;

use tokio::sync::watch;

/// A closed gate stops the reply that stands before it; [`Gate::open`] lets it go on.
///
/// Clones are the same gate. An open gate stays open.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    open: watch::Sender<bool>,
    reached: watch::Sender<bool>,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        self.inner.open.send_replace(true);
    }

    /// Waits until a reply stands at the gate, so that everything before it is on its way.
    pub async fn reached(&self) {
        until_true(&self.inner.reached).await;
    }

    /// Says that a reply stands here, and waits for the gate to open.
    pub(crate) async fn pass(&self) {
        self.inner.reached.send_replace(true);
        until_true(&self.inner.open).await;
    }
}

impl From<&Gate> for Gate {
    fn from(gate: &Gate) -> Self {
        gate.clone()
    }
}

async fn until_true(flag: &watch::Sender<bool>) {
    // Fails only when the sender is gone, and it is borrowed here.
    let _ = flag.subscribe().wait_for(|value| *value).await;
}
