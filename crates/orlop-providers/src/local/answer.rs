//! Runs an answer on a thread of its own and streams it.

use super::{items, shelf::Shelf};
use futures::channel::mpsc::{self, UnboundedSender};
use futures::stream::{BoxStream, StreamExt};
use orlop_core::hooks::Chunk;
use orlop_core::{Error, Result};
use orlop_local::{Finish, Options, Piece, Request};
use orlop_types::Partial;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What is to be answered.
pub(super) struct Job {
    pub(super) shelf: Arc<Shelf>,
    pub(super) model: String,
    pub(super) options: Options,
    pub(super) request: Request,
}

impl Job {
    /// Starts it. Dropping the stream stops it within a token, or a batch of the prompt.
    pub(super) fn start(self) -> BoxStream<'static, Result<Chunk>> {
        let (sender, receiver) = mpsc::unbounded();
        let started = std::thread::Builder::new().name("orlop-local".to_owned()).spawn(move || {
            if let Err(error) = self.run(&sender) {
                // Nobody to hear it is nobody to tell.
                let _ = sender.unbounded_send(Err(error));
            }
        });
        match started {
            Ok(_) => receiver.boxed(),
            Err(error) => {
                let error = Error::unavailable(format!("the embedded model cannot start: {error}"));
                futures::stream::once(async { Err(error) }).boxed()
            }
        }
    }

    fn run(self, sender: &UnboundedSender<Result<Chunk>>) -> Result<()> {
        let model = self.shelf.model(&self.model, &self.options)?;
        let completion = model.chat(&self.request, &mut |piece| {
            let wanted = match piece {
                Piece::Text(text) if !text.is_empty() => {
                    sender.unbounded_send(Ok(Chunk::partial(Partial::text(text)))).is_ok()
                }
                Piece::Text(_) | Piece::Reading { .. } => !sender.is_closed(),
            };
            if wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if completion.finish == Finish::Cancelled {
            return Ok(());
        }
        let (item, calls) = items::finished(&completion, &self.model);
        if !calls.is_empty() {
            // As above: the next send says it as well.
            let _ = sender.unbounded_send(Ok(Chunk::partial(calls)));
        }
        let _ = sender.unbounded_send(Ok(Chunk::finals(vec![item])));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;
    use orlop_local::{Message, Sampling};
    use orlop_testkit::tiny_model::TinyModel;

    #[test]
    fn a_stream_that_is_dropped_stops_the_model() {
        let folder = std::env::temp_dir().join(format!("orlop-answer-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let tiny = TinyModel { context: 16_384, ..TinyModel::default() };
        std::fs::write(folder.join("tiny.gguf"), tiny.bytes().0).unwrap();
        let shelf = Arc::new(Shelf::new(folder.clone()));
        let options = Options { threads: Some(1), context: Some(16_384), ..Options::default() };
        let user = Message { role: "user".into(), content: "hello".into(), calls: Vec::new() };
        let request = Request {
            messages: vec![user],
            // With this seed it does not end by itself.
            sampling: Sampling { temperature: 1.5, seed: Some(3), ..Sampling::default() },
            ..Request::default()
        };
        let job =
            Job { shelf: shelf.clone(), model: "tiny".into(), options: options.clone(), request };
        let mut chunks = job.start();
        assert!(block_on(chunks.next()).unwrap().unwrap().partial.is_some());
        drop(chunks);
        while Arc::strong_count(&shelf) > 1 {
            std::thread::yield_now();
        }
        // Its thread has ended, and far from the end of the context: a position takes 256 bytes.
        let kept = shelf.model("tiny", &options).unwrap().cached_bytes();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(kept > 0 && kept < 256 * 8_192, "{kept} bytes");
    }
}
