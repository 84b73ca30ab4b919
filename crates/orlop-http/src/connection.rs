//! A connection whose client has to read: what cannot be written for a while is given up.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

/// A connection that fails where its client takes nothing for a while.
pub(crate) struct Connection {
    stream: TcpStream,
    patience: Duration,
    /// When patience ends, if something waits to be written.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, patience: Duration) -> Self {
        Self { stream, patience, stuck: None }
    }

    /// Passes on what became of a write, and watches the time while nothing does.
    fn watched<T>(&mut self, cx: &mut Context<'_>, written: Poll<Result<T>>) -> Poll<Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let end = Instant::now() + self.patience;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(end)));
        ready!(stuck.as_mut().poll(cx));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client reads nothing")))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watched(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.watched(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.watched(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    async fn pair(patience: Duration) -> (Connection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (Connection::new(listener.accept().await.unwrap().0, patience), client)
    }

    // Time stands still while anybody works, and jumps to the next timer when nobody can.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_left() {
        let (mut server, _client) = pair(Duration::from_secs(30)).await;
        let piece = vec![0; 1 << 20];
        let began = Instant::now();
        let error = loop {
            if let Err(error) = server.write_all(&piece).await {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(began.elapsed() >= Duration::from_secs(30));
    }

    #[tokio::test]
    async fn a_client_that_reads_at_last_is_not() {
        let (mut server, mut client) = pair(Duration::from_secs(600)).await;
        let reading = tokio::spawn(async move {
            let mut all = Vec::new();
            client.read_to_end(&mut all).await.unwrap();
            all.len()
        });
        for _ in 0..8 {
            server.write_all(&vec![0; 1 << 20]).await.unwrap();
        }
        server.shutdown().await.unwrap();
        assert_eq!(reading.await.unwrap(), 8 << 20);
    }
}
