//! A server on a free local port that goes away with its owner.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::error::TestkitError;

/// Serves until it is dropped.
#[derive(Debug)]
pub(crate) struct LocalServer {
    address: SocketAddr,
    stopping: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

impl LocalServer {
    /// Listens on a free port. Handlers get a [`Stopping`] so that none outlives the server.
    pub(crate) async fn start(
        routes: impl FnOnce(Stopping) -> Router,
    ) -> Result<Self, TestkitError> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(TestkitError::Listen)?;
        let address = listener.local_addr().map_err(TestkitError::Listen)?;
        // Without it the kernel may hold a small write back until the client acknowledges the
        // one before, and the writes of a script would no longer arrive one by one.
        let listener = listener.tap_io(|connection| {
            let _ = connection.set_nodelay(true);
        });

        let (stopping, stop) = watch::channel(false);
        let router = routes(Stopping::new(stop.clone()));
        let task = tokio::spawn(async move {
            let served = axum::serve(listener, router)
                .with_graceful_shutdown(async move { Stopping::new(stop).wait().await });
            let _ = served.await;
        });
        Ok(Self { address, stopping, task: Some(task) })
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops, and returns when the port is closed and every connection has ended.
    pub(crate) async fn stop(mut self) {
        self.stopping.send_replace(true);
        if let Some(task) = self.task.take() {
            let _ = task.await;
        }
    }
}

impl Drop for LocalServer {
    /// Tells the tasks to end: idle connections close, running replies break off. They are not
    /// aborted, because aborting the accept loop would leave its connections running.
    fn drop(&mut self) {
        self.stopping.send_replace(true);
    }
}

/// Resolves when the server is to stop.
#[derive(Clone, Debug)]
pub(crate) struct Stopping(watch::Receiver<bool>);

impl Stopping {
    pub(crate) fn new(stop: watch::Receiver<bool>) -> Self {
        Self(stop)
    }

    pub(crate) async fn wait(&mut self) {
        // An error means that the server itself is gone.
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}
