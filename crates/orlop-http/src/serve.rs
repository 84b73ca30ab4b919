//! Serving a listener until it is time to stop.

use crate::server::Server;
use orlop_core::{Error, Result};
use std::future::Future;
use tokio::net::TcpListener;

/// Answers requests on `listener` until `shutdown` is done, then ends in order.
pub async fn serve(
    server: Server,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let served = axum::serve(listener, server.router()).with_graceful_shutdown(shutdown).await;
    server.stop().await;
    served.map_err(|error| Error::unavailable(format!("the server ended: {error}")))
}
