//! The events of a streamed answer.

use super::assemble::Assembler;
use super::facts::blocked;
use super::wire::Chunk;
use crate::sse::{DONE, SseEvent, SseParser};
use crate::wire::frame::Frame;
use crate::wire::{Events, Meaning, Reader, failure};
use bytes::Bytes;
use futures::Stream;
use orlop_types::{NativeItem, Result};

/// Reads the events of one answer.
#[derive(Debug, Default)]
pub struct ContentReader {
    assembler: Assembler,
    frame: Frame,
    /// Whether the frame is that of the last chunk: token counts are in it.
    in_frame: bool,
}

/// Reads the events of a streamed answer from the chunks of its body.
pub fn events<B>(body: B) -> Events<ContentReader, B>
where
    B: Stream<Item = Result<Bytes>> + Unpin,
{
    crate::wire::events(body)
}

impl Reader for ContentReader {
    type Framing = SseParser;

    fn read(&mut self, event: SseEvent<'_>) -> Result<Meaning> {
        let data = event.data;
        if self.in_frame
            && event.event.is_none()
            && let Some(text) = self.frame.text(data)
        {
            return Ok(self.assembler.push_text(&text).into());
        }
        // Gemini ends with the body; servers that imitate it may say so.
        if data == DONE {
            return Ok(Meaning::Done);
        }
        if data.trim().is_empty() {
            return Ok(Meaning::Nothing);
        }
        let mut chunk =
            Chunk::parse(data).map_err(|error| failure::unreadable("a data line", data, &error))?;
        if chunk.error.is_some() || event.event == Some("error") {
            return Err(failure::reported(data));
        }
        if let (None, Some(error)) = (&chunk.candidate, blocked(&chunk, data)) {
            return Err(error);
        }
        let text = chunk.only_text();
        self.in_frame = text.is_some();
        self.frame.learn(data, text);
        self.assembler.push(&mut chunk).map(Meaning::from)
    }

    fn is_complete(&self) -> bool {
        self.assembler.is_complete()
    }

    fn finish(self) -> Result<Vec<NativeItem>> {
        Ok(vec![self.assembler.finish()?])
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
