//! What a process prints, as it comes. Where the system can wait for a pipe, no thread is needed.

#[cfg(not(unix))]
pub use by_thread::Printed;
#[cfg(unix)]
pub use by_waiting::Printed;

#[cfg(unix)]
mod by_waiting {
    use std::io::{ErrorKind, PipeReader, Result};
    use tokio::net::unix::pipe::Receiver;

    /// What a process prints.
    pub struct Printed(Receiver);

    impl Printed {
        pub(in super::super) fn new(pipe: PipeReader) -> Result<Self> {
            Receiver::from_owned_fd(pipe.into()).map(Self)
        }

        /// The next bytes; none when nobody prints any more. Nothing is lost if it is not waited for
        /// to the end.
        pub async fn read(&mut self, buffer: &mut [u8]) -> usize {
            loop {
                if self.0.readable().await.is_err() {
                    return 0;
                }
                match self.0.try_read(buffer) {
                    Ok(count) => return count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(_) => return 0,
                }
            }
        }
    }
}

#[cfg(any(not(unix), test))]
#[cfg_attr(unix, allow(unreachable_pub))]
mod by_thread {
    use std::io::{PipeReader, Read, Result};
    use tokio::sync::mpsc::{Receiver, channel};

    /// How many pieces may wait, and how large one is.
    const PIECES: usize = 4;
    const PIECE: usize = 16 << 10;

    /// What a process prints.
    pub struct Printed {
        pieces: Receiver<Vec<u8>>,
        /// What was not taken yet of the last piece.
        rest: Vec<u8>,
    }

    impl Printed {
        pub(in super::super) fn new(mut pipe: PipeReader) -> Result<Self> {
            let (send, pieces) = channel(PIECES);
            std::thread::Builder::new().name("printed".to_owned()).spawn(move || {
                let mut buffer = vec![0; PIECE];
                while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                    let piece = buffer.get(..count).unwrap_or_default().to_vec();
                    if send.blocking_send(piece).is_err() {
                        return;
                    }
                }
            })?;
            Ok(Self { pieces, rest: Vec::new() })
        }

        /// The next bytes; none when nobody prints any more. Nothing is lost if it is not waited for
        /// to the end.
        pub async fn read(&mut self, buffer: &mut [u8]) -> usize {
            if self.rest.is_empty() {
                self.rest = self.pieces.recv().await.unwrap_or_default();
            }
            let count = buffer.len().min(self.rest.len());
            for (place, byte) in buffer.iter_mut().zip(self.rest.drain(..count)) {
                *place = byte;
            }
            count
        }
    }
}

#[cfg(test)]
mod tests {
    use super::by_thread::Printed;
    use std::io::Write;

    #[tokio::test]
    async fn a_thread_reads_what_is_printed_to_the_end() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut printed = Printed::new(reader).unwrap();
        let mut buffer = [0; 3];
        // Nobody has printed yet, and nobody waits.
        tokio::select! {
            biased;
            _ = printed.read(&mut buffer) => panic!("nothing was printed"),
            () = std::future::ready(()) => {}
        }
        writer.write_all(b"hello").unwrap();
        drop(writer);
        let mut text = Vec::new();
        loop {
            match printed.read(&mut buffer).await {
                0 => break,
                count => text.extend_from_slice(&buffer[..count]),
            }
        }
        assert_eq!(text, b"hello");
    }
}
