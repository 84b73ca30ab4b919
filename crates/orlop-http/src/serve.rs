//! Serving a listener until it is time to stop, and stopping in order.

use crate::connection::Connection;
use crate::server::{Phase, Server};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use orlop_app::Recovery;
use orlop_core::Result;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// How much of a request's head is read, and how many headers it may have.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 100;

/// How long a client may leave what it asked for unread.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often turns are looked for that nobody runs any more.
const RECOVERY: Duration = Duration::from_secs(3);

/// How long connections have to end by themselves, after their streams were told to.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How many connections may wait to be accepted. One that finds no room is tried again by its client's
/// system after a second.
const WAITING: u32 = 4096;

/// Listens on the first of these addresses that can be had, with room for many who come at once.
pub fn listen(addresses: &[SocketAddr]) -> io::Result<TcpListener> {
    let mut refused = io::Error::new(io::ErrorKind::InvalidInput, "there is no such address");
    for address in addresses {
        match listen_on(*address) {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A server that was just ended leaves connections behind; elsewhere this would let others listen, too.
    if cfg!(unix) {
        socket.set_reuseaddr(true)?;
    }
    socket.bind(address)?;
    socket.listen(WAITING)
}

/// Answers requests on `listener` until `shutdown` is done, then ends in order: it accepts nothing
/// more, turns come to a checkpoint, streams are told to resume, and host plugins are stopped.
pub async fn serve(
    server: Server,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let router = server.router();
    let ending = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    let recovering = tokio::spawn(recover(server.clone()));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        match accepted {
            Ok((stream, _)) => connect(&server, &router, stream, ending.watcher()),
            Err(error) => {
                tracing::warn!(target: "orlop::http", %error, "a connection could not be accepted");
                // There may be too many open files; they become fewer with time.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    recovering.abort();
    server.enter(Phase::Draining);
    let left = server.app().pause(server.limits().shutdown_timeout).await;
    if left > 0 {
        tracing::warn!(target: "orlop::http", left, "turns are cut off; they go on when a server is back");
    }
    server.enter(Phase::Closing);
    let _ = tokio::time::timeout(LAST_WORDS, ending.shutdown()).await;
    server.stop().await;
    Ok(())
}

/// Takes up turns whose process is gone, as soon as what it held has run out.
async fn recover(server: Server) {
    loop {
        tokio::time::sleep(RECOVERY).await;
        if let Err(error) = server.app().recover(Recovery::Resume).await {
            tracing::warn!(target: "orlop::http", %error, "turns could not be looked for");
        }
    }
}

fn connect(server: &Server, router: &axum::Router, stream: TcpStream, watcher: Watcher) {
    let (open, most) = (server.connections(), server.limits().connections);
    if open.fetch_add(1, Ordering::Relaxed) >= most {
        open.fetch_sub(1, Ordering::Relaxed);
        tracing::warn!(target: "orlop::http", most, "a connection was refused: there are too many");
        return;
    }
    let _ = stream.set_nodelay(true);
    let stream = TokioIo::new(Connection::new(stream, PATIENCE));
    let service = TowerToHyperService::new(router.clone());
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(server.limits().client_timeout)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .serve_connection(stream, service);
    let connection = watcher.watch(connection);
    let server = server.clone();
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(target: "orlop::http", %error, "a connection ended");
        }
        server.connections().fetch_sub(1, Ordering::Relaxed);
    });
}
